"""DirGNN: the same two directed channels without weights (Rossi et al., LoG 2023); the control for CGNN.

sage: h' = W_self h + alpha mean_out(W_out h) + (1 - alpha) mean_in(W_in h)
gcn:  h' = alpha P W_out h + (1 - alpha) P^T W_in h,  P = D_out^-1/2 A D_in^-1/2, no self term
gat:  h' = alpha attention_out(h) + (1 - alpha) attention_in(h), each over the neighbours and the node itself
"""

from typing import Any

import torch

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.directed import DirectedLayer, both_ways, share_of_out
from cgnn_cli.models.network import Classifier, Network
from cgnn_cli.models.table import Shape


def build(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
    """A DirGNN over the two directions."""
    ways, alpha = both_ways(operators, device), share_of_out(config)
    share = 1.0 if config.variant == "sage" else 0.0

    def make_layer(inputs: int, outputs: int) -> DirectedLayer:
        return DirectedLayer(inputs, outputs, ways, alpha=alpha, self_share=share)

    return Network(make_layer, shape, config).to(device)
