"""CGNN: two directed message channels, each neighbour weighed by its commute-time proximity.

    h_i' = s W_self h_i + (1 - s) (alpha m_out(i) + (1 - alpha) m_in(i))        --combine mean
    h_i' =   W_self h_i +          alpha m_out(i) + (1 - alpha) m_in(i)         --combine sum

m_out(i) aggregates C_out[i, j] W_out h_j over out-neighbours, m_in(i) C_in[i, j] W_in h_j over in-neighbours.
"Commute Graph Neural Networks", ICML 2025. With all weights 1 it is DirGNN (dirgnn.py). `--propagation ppr` puts
personalised PageRank over the weighted edges in the place of the layers (appnp.py).
"""

from typing import Any

import torch

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models import appnp
from cgnn_cli.models.directed import DirectedLayer, both_ways, share_of_out
from cgnn_cli.models.network import Classifier, Network
from cgnn_cli.models.table import Shape


def build(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
    """A CGNN over its weighted operators."""
    if config.propagation == "ppr":
        return appnp.build(operators, shape, config, device)
    ways = both_ways(operators, device)
    share = config.self_share if config.combine == "mean" else 1.0
    message_share = 1 - share if config.combine == "mean" else 1.0

    def make_layer(inputs: int, outputs: int) -> DirectedLayer:
        alpha = share_of_out(config)
        return DirectedLayer(inputs, outputs, ways, alpha=alpha, self_share=share, message_share=message_share)

    return Network(make_layer, shape, config).to(device)
