"""MagNet: Chebyshev convolution with the magnetic Laplacian (Zhang et al., NeurIPS 2021), in real arithmetic.

    Y = sum_k T_k(-H) Z W_k + b (1 + i),   Z = X + i X at the start, W_k real

Complex ReLU keeps z where Re z >= 0. After the layers the real and imaginary parts stand side by side, then dropout and
a linear layer. H = R + i J acts on the pair at once: two sparse products an order, on real and imaginary part stacked.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from cgnn_cli.models.magnet import MagnetConfig
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, dropout
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply


class Magnetic(NamedTuple):
    """-H by its parts; a complex panel is [real part | imaginary part]."""

    real: Propagator
    imaginary: Propagator

    def __call__(self, panel: Tensor) -> Tensor:
        by_real, by_imaginary = self.real(panel), self.imaginary(panel)
        width = panel.shape[1] // 2
        # (R + iJ)(a + ib) = (Ra - Jb) + i (Rb + Ja)
        return by_real + torch.cat([-by_imaginary[:, width:], by_imaginary[:, :width]], dim=1)


class MagneticLayer(nn.Module):
    """The polynomial of -H, by Clenshaw's recurrence, so that the weights come first and each order costs one H.

    u_k = Z W_k + 2 (-H) u_(k+1) - u_(k+2), and the sum is Z W_0 + (-H) u_1 - u_2.
    """

    def __init__(self, inputs: int, outputs: int, operator: Magnetic, order: int) -> None:
        super().__init__()
        self.operator = operator
        self.weight = nn.Parameter(torch.empty(order + 1, outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        for weight in self.weight:
            nn.init.xavier_uniform_(weight.data)

    def forward(self, real: Input, imaginary: Input) -> tuple[Tensor, Tensor]:
        flat, width = self.weight.flatten(0, 1), self.weight.shape[1]
        parts = multiply(real, flat).split(width, dim=1)  # the first Z has equal parts, which are multiplied once
        others = parts if imaginary is real else multiply(imaginary, flat).split(width, dim=1)
        terms = [torch.cat(pair, dim=1) for pair in zip(parts, others, strict=True)]  # Z W_k as one panel an order
        after = following = None
        for number in range(len(terms) - 1, 0, -1):
            state = terms[number]
            state = state if after is None else state + 2 * self.operator(after)
            state = state if following is None else state - following
            after, following = state, after
        assert after is not None
        total = terms[0] + self.operator(after)
        total = total if following is None else total - following
        made_real, made_imaginary = (total + self.bias.repeat(2)).chunk(2, dim=1)
        return made_real, made_imaginary


class MagNet(Classifier):
    """Magnetic layers with complex ReLU, then a linear layer over both parts."""

    def __init__(self, operator: Magnetic, shape: Shape, config: MagnetConfig) -> None:
        super().__init__()
        self.config = config
        widths = [shape.features, *[config.hidden] * (config.layers - 1)]
        self.layers = nn.ModuleList(MagneticLayer(width, config.hidden, operator, config.order) for width in widths)
        self.head = nn.Linear(2 * config.hidden, shape.classes)

    def forward(self, x: Input) -> Output:
        real, imaginary = x, x
        for layer in self.layers:
            real, imaginary = complex_relu(*layer(real, imaginary))
        assert isinstance(real, Tensor) and isinstance(imaginary, Tensor)
        hidden = torch.cat([real, imaginary], dim=1)
        return Output(self.head(dropout(hidden, self.config.dropout, self.training)), hidden)


def complex_relu(real: Tensor, imaginary: Tensor) -> tuple[Tensor, Tensor]:
    """z where its real part is not negative, else 0."""
    kept = (real >= 0).to(real.dtype)
    return real * kept, imaginary * kept


def build(operators: dict[str, Any], shape: Shape, config: MagnetConfig, device: torch.device) -> Classifier:
    """A MagNet over the parts of -H."""
    operator = Magnetic(Propagator(operators["real"], device), Propagator(operators["imaginary"], device))
    return MagNet(operator, shape, config).to(device)
