"""DirGNN: the same two directed channels without weights (Rossi et al., LoG 2023); the control for CGNN.

sage: h' = W_self h + alpha mean_out(W_out h) + (1 - alpha) mean_in(W_in h)
gcn:  h' = alpha P W_out h + (1 - alpha) P^T W_in h,  P = D_out^-1/2 A D_in^-1/2, no self term
gat:  h' = alpha attention_out(h) + (1 - alpha) attention_in(h), each over the neighbours and the node itself
"""

from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.attention import Pattern
from cgnn_cli.models.directed import DirectedLayer, both_ways, share_of_out
from cgnn_cli.models.gat import AttentionLayer
from cgnn_cli.models.network import Classifier, Network
from cgnn_cli.models.propagate import Input
from cgnn_cli.models.table import Shape


class DirectedAttention(nn.Module):
    """h' = sum over the directions of share * attention(h), where the share is not 0."""

    def __init__(
        self, inputs: int, outputs: int, ways: dict[str, Pattern], shares: dict[str, float], config: TrainConfig
    ) -> None:
        super().__init__()
        self.shares = {name: share for name, share in shares.items() if share}
        self.ways = nn.ModuleDict(
            {name: AttentionLayer(inputs, outputs, ways[name], config) for name in self.shares},
        )

    def forward(self, x: Input) -> Tensor:
        return reduce(torch.add, (share * self.ways[name](x) for name, share in self.shares.items()))


def build(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
    """A DirGNN over the two directions."""
    if config.variant == "gat":
        return _attentive(operators, shape, config, device)
    ways, alpha = both_ways(operators, device), share_of_out(config)
    share = 1.0 if config.variant == "sage" else 0.0

    def make_layer(inputs: int, outputs: int) -> DirectedLayer:
        return DirectedLayer(inputs, outputs, ways, alpha=alpha, self_share=share)

    return Network(make_layer, shape, config).to(device)


def _attentive(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Network:
    alpha = share_of_out(config)
    shares = {"out": alpha, "in": 1 - alpha}
    ways = {name: Pattern(operators[name], device) for name, share in shares.items() if share}

    def make_layer(inputs: int, outputs: int) -> DirectedAttention:
        return DirectedAttention(inputs, outputs, ways, shares, config)

    return Network(make_layer, shape, config, config.heads).to(device)
