"""GAT: attention over the neighbours and the node itself (Velickovic et al., ICLR 2018).

    h_i' = concatenation over heads of sum_j a_ij W h_j + b,  a_ij = softmax_j LeakyReLU(<u, W h_j> + <v, W h_i>)

`--hidden` is the width of a head. With `--head-layers 0` the heads of the last layer are averaged into the classes.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.gat import GatConfig
from cgnn_cli.models.option_groups import AttentionOptions
from cgnn_cli.models.parts.attention import Pattern
from cgnn_cli.models.parts.classifier import Classifier, Network, Shape, dropout
from cgnn_cli.models.parts.propagate import Input, multiply


class AttentionLayer(nn.Module):
    """`heads` attentions over one pattern, `outputs` wide each."""

    def __init__(self, inputs: int, outputs: int, pattern: Pattern, config: AttentionOptions) -> None:
        super().__init__()
        self.pattern, self.heads, self.dropout = pattern, config.heads, config.attention_dropout
        self.linear = nn.Linear(inputs, self.heads * outputs, bias=False)
        self.of_neighbour = nn.Parameter(nn.init.xavier_uniform_(torch.empty(self.heads, outputs)))
        self.of_node = nn.Parameter(nn.init.xavier_uniform_(torch.empty(self.heads, outputs)))
        self.bias = nn.Parameter(torch.zeros(self.heads * outputs))

    def forward(self, x: Input) -> Tensor:
        panel = multiply(x, self.linear.weight)
        by_head = panel.unflatten(1, (self.heads, -1))
        of_neighbour, of_node = ((by_head * vector).sum(dim=2) for vector in (self.of_neighbour, self.of_node))
        weights = dropout(self.pattern.softmax(of_neighbour, of_node), self.dropout, self.training)
        return self.pattern.weighted_sum(weights, panel) + self.bias


def build(operators: dict[str, Any], shape: Shape, config: GatConfig, device: torch.device) -> Classifier:
    """A GAT over the neighbours of one direction."""
    pattern = Pattern(operators["pattern"], device)
    return Network(lambda inputs, outputs: AttentionLayer(inputs, outputs, pattern, config), shape, config).to(device)
