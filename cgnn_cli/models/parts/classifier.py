"""What all models share: a stack of graph layers, jumping knowledge, and a head that gives the classes."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgnn_cli.models.option_groups import ActivationOption, StackOptions
from cgnn_cli.models.parts.layout import Layer, Layout, Term
from cgnn_cli.models.parts.panels import largest, rectified, unit_rows
from cgnn_cli.models.parts.propagate import Input

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


def activated(x: Tensor, config: ActivationOption) -> Tensor:
    return ACTIVATIONS[config.activation](x)


class Shape(NamedTuple):
    """Numbers of features and classes."""

    features: int
    classes: int


class Output(NamedTuple):
    """Class scores before the softmax, and the last hidden layer."""

    logits: Tensor
    hidden: Tensor


class Classifier(nn.Module):
    """Base of the networks: from the features of all nodes to class scores.

    A network that is trained without labels first has `pretrain_epochs` and a `pretrain_loss`; `undecayed` are the
    parameters that weight decay leaves alone. One that `draws` is random in training by more than its dropouts.
    """

    pretrain_epochs = 0
    draws = False
    keeps_first = False
    undecayed: tuple[nn.Parameter, ...] = ()

    def forward(self, x: Input) -> Output:
        raise NotImplementedError

    def pretrain_loss(self, x: Input, epoch: int) -> Tensor:
        raise NotImplementedError

    def layout(self) -> Layout | None:
        """What it computes in plain terms, if it can be told so."""
        return None


class Network(Classifier):
    """Graph layers with activation, dropout and optional normalisations between them, then a head.

    `make_layer(inputs, outputs)` makes one graph layer, whose outputs are `config.widening` times as many (heads,
    hops). With `--head-layers 0` the last graph layer gives the classes, and its heads or hops are averaged.

    A network that `keeps_first` makes its first layer once for a validation and the step after it: neither weights nor
    input change in between, and what is drawn comes later.
    """

    kept_first: Tensor | None = None

    def __init__(self, make_layer: Callable[[int, int], nn.Module], shape: Shape, config: StackOptions) -> None:
        super().__init__()
        self.config, wide = config, config.width
        inputs = [shape.features] + [wide] * (config.layers - 1)
        outputs = [config.hidden] * config.layers
        if config.head_layers == 0:
            outputs[-1] = shape.classes
        self.layers = nn.ModuleList(make_layer(a, b) for a, b in zip(inputs, outputs, strict=True))
        self.norms = nn.ModuleList(nn.BatchNorm1d(wide) for _ in range(config.layers * config.batch_norm))
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
        made: Tensor = self._first_layer(state) if number == 0 else self.layers[number](state)
        if not len(self.head) and number == len(self.layers) - 1:
            return made
        made = self.norms[number](made) if len(self.norms) else made
        if self.config.activation == "relu":
            return rectified(made, self.config.dropout if self.training else 0.0, unit=self.config.l2_norm)
        made = self._drop(activated(made, self.config))
        return unit_rows(made) if self.config.l2_norm else made

    def _first_layer(self, x: Input) -> Tensor:
        """The first layer of a training step is that of the validation before it, if this one was told to keep it."""
        if self.training:
            kept, self.kept_first = self.kept_first, None
            return self.layers[0](x) if kept is None else kept
        if not self.keeps_first:
            return cast(Tensor, self.layers[0](x))
        with torch.enable_grad():
            self.kept_first = self.layers[0](x)
        return self.kept_first.detach()

    def finish(self, outputs: list[Tensor]) -> Output:
        """Jumping knowledge and head, from the outputs of all layers; each node by itself."""
        if not len(self.head):
            logits = outputs[-1].unflatten(1, (self.config.widening, -1)).mean(dim=1)
            return Output(logits, outputs[-2] if len(outputs) > 1 else logits)
        hidden = outputs[-1]
        if self.config.jumping_knowledge != "none":
            hidden = largest(outputs) if self.config.jumping_knowledge == "max" else torch.cat(outputs, dim=1)
        for linear in self.head[:-1]:
            hidden = self._drop(activated(linear(hidden), self.config))
        return Output(self.head[-1](hidden), hidden)

    def layout(self) -> Layout | None:
        """Its layers, if each of them is a sum of terms, as `terms(name)` of a layer says, and the head."""
        if not all(hasattr(layer, "terms") for layer in self.layers):
            return None
        config, layers = self.config, []
        for number, layer in enumerate(self.layers):
            terms: tuple[Term, ...] = cast(Any, layer).terms(f"layers.{number}")
            if not len(self.head) and number == len(self.layers) - 1:
                layers.append(Layer(terms))
            else:
                norm = f"norms.{number}" if len(self.norms) else None
                layers.append(Layer(terms, norm, config.activation, config.l2_norm))
        head = linear_layers("head", len(self.head), config.activation)
        return Layout(tuple(layers), config.jumping_knowledge if head else "none", head)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.config.dropout, self.training)


def linear_layers(name: str, count: int, activation: str) -> tuple[Layer, ...]:
    """Linear layers with an activation between them, in plain terms."""
    made = (Term(f"{name}.{number}.weight", bias=f"{name}.{number}.bias") for number in range(count))
    return tuple(
        Layer((term,), activation=None if number == count - 1 else activation) for number, term in enumerate(made)
    )
