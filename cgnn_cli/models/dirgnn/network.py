"""DirGNN: the same two directed channels without weights (Rossi et al., LoG 2023); the control for CGNN.

sage: h' = W_self h + alpha mean_out(W_out h) + (1 - alpha) mean_in(W_in h)
gcn:  h' = alpha P W_out h + (1 - alpha) P^T W_in h,  P = D_out^-1/2 A D_in^-1/2, no self term
gat:  h' = alpha attention_out(h) + (1 - alpha) attention_in(h), each over the neighbours and the node itself
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.models.gat.network import AttentionLayer
from cgnn_cli.models.parts.attention import Pattern
from cgnn_cli.models.parts.classifier import Classifier, Network, Shape
from cgnn_cli.models.parts.directed_layer import DirectedLayer, both_ways
from cgnn_cli.models.parts.propagate import Input


class DirectedAttention(nn.Module):
    """h' = sum over the directions of share * attention(h), where the share is not 0."""

    def __init__(
        self, inputs: int, outputs: int, ways: dict[str, Pattern], shares: dict[str, float], config: DirgnnConfig
    ) -> None:
        super().__init__()
        self.shares = {name: share for name, share in shares.items() if share}
        self.ways = nn.ModuleDict({name: AttentionLayer(inputs, outputs, ways[name], config) for name in self.shares})

    def forward(self, x: Input) -> Tensor:
        return reduce(torch.add, (share * self.ways[name](x) for name, share in self.shares.items()))


def build(operators: dict[str, Any], shape: Shape, config: DirgnnConfig, device: torch.device) -> Classifier:
    """A DirGNN over the two directions."""
    alpha = config.share_of_out
    make_layer: Callable[[int, int], nn.Module]
    if config.variant == "gat":
        shares = {"out": alpha, "in": 1 - alpha}
        patterns = {name: Pattern(operators[name], device) for name, share in shares.items() if share}
        make_layer = partial(DirectedAttention, ways=patterns, shares=shares, config=config)
    else:
        own = 1.0 if config.variant == "sage" else 0.0
        make_layer = partial(DirectedLayer, ways=both_ways(operators, device), alpha=alpha, self_share=own)
    return Network(make_layer, shape, config).to(device)
