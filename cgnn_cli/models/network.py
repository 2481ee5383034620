"""What all models share: a stack of graph layers, jumping knowledge, and a head that gives the classes."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.propagate import Input

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "elu": F.elu, "gelu": F.gelu, "tanh": torch.tanh}


def dropout(x: Tensor, share: float) -> Tensor:
    """Zero each entry with probability `share` and scale the others up; uniform draws are cheap on a CPU."""
    if share == 0:
        return x
    return x * (torch.rand_like(x) >= share).to(x.dtype).div_(1 - share)


class Output(NamedTuple):
    """Class scores before the softmax, and the last hidden layer."""

    logits: Tensor
    hidden: Tensor


class Network(nn.Module):
    """Graph layers with activation, dropout and optional L2 row normalisation between them, then a head.

    `make_layer(inputs, outputs)` makes one graph layer. With `--head-layers 0` the last graph layer gives the classes.
    """

    def __init__(
        self, make_layer: Callable[[int, int], nn.Module], features: int, classes: int, config: TrainConfig
    ) -> None:
        super().__init__()
        self.config = config
        widths = [features] + [config.hidden] * config.layers
        if config.head_layers == 0:
            widths[-1] = classes
        self.layers = nn.ModuleList(make_layer(a, b) for a, b in pairwise(widths))
        joined = config.hidden * (config.layers if config.jumping_knowledge == "cat" else 1)
        head_widths = [joined] + [config.hidden] * (config.head_layers - 1) + [classes]
        pairs = pairwise(head_widths) if config.head_layers else ()
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)

    def forward(self, x: Input) -> Output:
        outputs: list[Tensor] = []
        state: Input = x
        for layer in self.layers[: None if len(self.head) else -1]:
            state = self._between(layer(state))
            outputs.append(state)
        if not len(self.head):
            logits: Tensor = self.layers[-1](state)
            return Output(logits, outputs[-1] if outputs else logits)
        hidden = self._joined(outputs)
        for linear in self.head[:-1]:
            hidden = self._drop(self._activate(linear(hidden)))
        return Output(self.head[-1](hidden), hidden)

    def _between(self, x: Tensor) -> Tensor:
        x = self._drop(self._activate(x))
        return F.normalize(x, p=2, dim=1) if self.config.l2_norm else x

    def _activate(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.config.activation](x)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout) if self.training else x

    def _joined(self, outputs: list[Tensor]) -> Tensor:
        if self.config.jumping_knowledge == "max":
            return torch.stack(outputs).amax(dim=0)
        if self.config.jumping_knowledge == "cat":
            return torch.cat(outputs, dim=1)
        return outputs[-1]
