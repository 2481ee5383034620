"""What all models share: a stack of graph layers, jumping knowledge, and a head that gives the classes."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.panels import largest, unit_rows
from cgnn_cli.models.propagate import Input
from cgnn_cli.models.table import Shape

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "elu": F.elu, "gelu": F.gelu, "tanh": torch.tanh}


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """Zero each entry with probability `share` and scale the others up; uniform draws are cheap on a CPU."""
    if share == 0 or not training:
        return x
    draws = torch.rand_like(x)
    return x * torch.ge(draws, share, out=draws).div_(1 - share)


def hide_entries(x: Tensor, share: float) -> Tensor:
    """Dropout of a panel that needs no gradient, with 16 random bits an entry: a large one in a sixth of the time."""
    drawn = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device).random_(-(2**63), None)
    bits = drawn.view(torch.int16)[: x.numel()].view(x.shape)
    hidden = round(share * 2**16)
    return torch.ge(bits, hidden - 2**15).to(x.dtype).mul_(x).mul_(2**16 / (2**16 - hidden))


def activated(x: Tensor, config: TrainConfig) -> Tensor:
    return ACTIVATIONS[config.activation](x)


class Output(NamedTuple):
    """Class scores before the softmax, and the last hidden layer."""

    logits: Tensor
    hidden: Tensor


class Classifier(nn.Module):
    """Base of the networks: from the features of all nodes to class scores.

    A network that is trained without labels first has `pretrain_epochs` and a `pretrain_loss`; `undecayed` are the
    parameters that weight decay leaves alone.
    """

    pretrain_epochs = 0
    undecayed: tuple[nn.Parameter, ...] = ()

    def forward(self, x: Input) -> Output:
        raise NotImplementedError

    def pretrain_loss(self, x: Input, epoch: int) -> Tensor:
        raise NotImplementedError


class Network(Classifier):
    """Graph layers with activation, dropout and optional normalisations between them, then a head.

    `make_layer(inputs, outputs)` makes one graph layer whose outputs are `widening` times as many (heads, hops). With
    `--head-layers 0` the last graph layer gives the classes, and its heads or hops are averaged.
    """

    def __init__(
        self, make_layer: Callable[[int, int], nn.Module], shape: Shape, config: TrainConfig, widening: int = 1
    ) -> None:
        super().__init__()
        self.config, self.widening = config, widening
        wide = widening * config.hidden
        inputs = [shape.features] + [wide] * (config.layers - 1)
        outputs = [config.hidden] * config.layers
        if config.head_layers == 0:
            outputs[-1] = shape.classes
        self.layers = nn.ModuleList(make_layer(a, b) for a, b in zip(inputs, outputs, strict=True))
        norms = config.layers if config.batch_norm else 0
        self.norms = nn.ModuleList(nn.BatchNorm1d(wide) for _ in range(norms))
        joined = wide * (config.layers if config.jumping_knowledge == "cat" else 1)
        head_widths = [joined] + [config.hidden] * (config.head_layers - 1) + [shape.classes]
        pairs = pairwise(head_widths) if config.head_layers else ()
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)

    def forward(self, x: Input) -> Output:
        outputs: list[Tensor] = []
        state: Input = x
        for number in range(len(self.layers)):
            state = self.graph_layer(state, number)
            outputs.append(state)
        return self.finish(outputs)

    def graph_layer(self, state: Input, number: int) -> Tensor:
        """One layer with what follows it; without a head nothing follows the last."""
        made: Tensor = self.layers[number](state)
        return made if not len(self.head) and number == len(self.layers) - 1 else self._between(made, number)

    def finish(self, outputs: list[Tensor]) -> Output:
        """Jumping knowledge and head, from the outputs of all layers; each node by itself."""
        if not len(self.head):
            logits = outputs[-1].unflatten(1, (self.widening, -1)).mean(dim=1)
            return Output(logits, outputs[-2] if len(outputs) > 1 else logits)
        hidden = self._joined(outputs)
        for linear in self.head[:-1]:
            hidden = self._drop(activated(linear(hidden), self.config))
        return Output(self.head[-1](hidden), hidden)

    def _between(self, x: Tensor, number: int) -> Tensor:
        x = self.norms[number](x) if len(self.norms) else x
        x = self._drop(activated(x, self.config))
        return unit_rows(x) if self.config.l2_norm else x

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)

    def _joined(self, outputs: list[Tensor]) -> Tensor:
        if self.config.jumping_knowledge == "max":
            return largest(outputs)
        if self.config.jumping_knowledge == "cat":
            return torch.cat(outputs, dim=1)
        return outputs[-1]
