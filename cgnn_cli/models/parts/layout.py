"""A trained network written out: which weights meet which operator, in plain words, and torch alone to compute it.

Networks that are made of sums of terms  share * (P (h W^T) + b)  say so by a `Layout`. What is computed from it is what
they compute themselves, but by sums over an edge index in the place of compiled products: other programs can do the
same, and torch.export can trace it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Term:
    """share * (P (h W^T) + b): the names of P, which may be none, of W and of b, which may be none."""

    weight: str
    operator: str | None = None
    bias: str | None = None
    share: float = 1.0


@dataclass(frozen=True)
class Layer:
    """A sum of terms, and what follows it: a batch normalisation by its name, an activation, rows of length 1."""

    terms: tuple[Term, ...]
    norm: str | None = None
    activation: str | None = None
    unit: bool = False


@dataclass(frozen=True)
class Layout:
    """Layers, of whose outputs the last, the largest or all go into a head; at last steps of personalised PageRank."""

    layers: tuple[Layer, ...] = ()
    join: str = "none"
    head: tuple[Layer, ...] = ()
    operator: str | None = None
    steps: int = 0
    teleport: float = 0.0


Sparse = tuple[Tensor, Tensor]  # 2 x E places, row and column, and E values


class PlainNetwork(nn.Module):
    """The network of a layout: from features and operators, given as edges, to class scores."""

    def __init__(self, layout: Layout, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.layout = layout
        self.weights = nn.ParameterDict(
            {_flat(name): nn.Parameter(value, requires_grad=False) for name, value in weights.items()}
        )

    def forward(self, x: Tensor, edges: dict[str, Sparse]) -> Tensor:
        state, outputs = x, []
        for layer in self.layout.layers:
            state = self._layer(state, layer, edges)
            outputs.append(state)
        if self.layout.join == "max":
            state = reduce(torch.maximum, outputs)
        elif self.layout.join == "cat":
            state = torch.cat(outputs, dim=1)
        for layer in self.layout.head:
            state = self._layer(state, layer, edges)
        start = state
        for _ in range(self.layout.steps):
            spread = _propagated(state, edges[str(self.layout.operator)])
            state = (1 - self.layout.teleport) * spread + self.layout.teleport * start
        return state

    def _layer(self, state: Tensor, layer: Layer, edges: dict[str, Sparse]) -> Tensor:
        made = reduce(torch.add, (self._term(state, term, edges) for term in layer.terms))
        if layer.norm is not None:
            mean, variance, weight, bias = (self._weight(f"{layer.norm}.{part}") for part in NORM)
            made = F.batch_norm(made, mean, variance, weight, bias)
        if layer.activation is not None:
            activation: Callable[[Tensor], Tensor] = getattr(F, layer.activation)
            made = activation(made)
        return F.normalize(made) if layer.unit else made

    def _term(self, state: Tensor, term: Term, edges: dict[str, Sparse]) -> Tensor:
        made = state @ self._weight(term.weight).t()
        if term.operator is not None:
            made = _propagated(made, edges[term.operator])
        return term.share * (made if term.bias is None else made + self._weight(term.bias))

    def _weight(self, name: str) -> Tensor:
        found: Tensor = self.weights[_flat(name)]
        return found


NORM = ("running_mean", "running_var", "weight", "bias")


def _flat(name: str) -> str:
    """A name as torch takes it for a parameter of its own."""
    return name.replace(".", "-")


def _propagated(state: Tensor, operator: Sparse) -> Tensor:
    """P h as a sum over edges."""
    (row, column), values = operator
    return torch.zeros_like(state).index_add(0, row, values[:, None] * state[column])


def operators_of(layout: Layout) -> set[str]:
    """The operators that a layout reads."""
    terms = [term.operator for layer in (*layout.layers, *layout.head) for term in layer.terms]
    return {name for name in (*terms, layout.operator) if name is not None}
