"""CGNN: two directed message channels, each neighbour weighed by its commute-time proximity.

    h_i' = s W_self h_i + (1 - s) (alpha m_out(i) + (1 - alpha) m_in(i))        --combine mean
    h_i' =   W_self h_i +          alpha m_out(i) + (1 - alpha) m_in(i)         --combine sum

m_out(i) aggregates C_out[i, j] W_out h_j over out-neighbours, m_in(i) C_in[i, j] W_in h_j over in-neighbours.
"Commute Graph Neural Networks", ICML 2025. With all weights 1 it is DirGNN (dirgnn.py). `--propagation ppr` puts
personalised PageRank over the weighted edges in the place of the layers (appnp.py).
"""

from typing import Any

import torch

from cgnn_cli.models.appnp import network as appnp
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.models.parts.classifier import Classifier, Network, Shape
from cgnn_cli.models.parts.directed_layer import DirectedLayer, both_ways


def build(operators: dict[str, Any], shape: Shape, config: CgnnConfig, device: torch.device) -> Classifier:
    """A CGNN over its weighted operators."""
    if config.propagation == "ppr":
        return appnp.build(operators, shape, config, device)
    ways = both_ways(operators, device)
    own, messages = (config.self_share, 1 - config.self_share) if config.combine == "mean" else (1.0, 1.0)
    shares = {"alpha": config.share_of_out, "self_share": own, "message_share": messages}
    return Network(lambda inputs, outputs: DirectedLayer(inputs, outputs, ways, **shares), shape, config).to(device)
