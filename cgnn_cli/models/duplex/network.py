"""DUPLEX, supervised: two embeddings a node, amplitude a and phase t, by dual attention (Ke et al., ICML 2024).

    a' = G_a(a),  t' = G_t(t);   in the fusion layer   a' += G_ta(t),  t' += G_at(a);   a = t = X at the start

G is graph attention over the list of all edges, their reversals and the nodes themselves. After the softmax each entry
is multiplied by a fixed weight of operators/hermitian.py: in G_a and G_ta 1 from a neighbour, in G_t and G_at 1 from an
in-neighbour and -1 from an out-neighbour. Activation and dropout between the layers; the heads stand side by side, in
the last layer they are averaged; then a linear layer over [a | t].
"""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.duplex import DuplexConfig
from cgnn_cli.models.parts.attention import Pattern
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, activated, dropout
from cgnn_cli.models.parts.propagate import Input, multiply


class HermitianPattern:
    """The pattern of the attention, with how often each entry counts in the softmax and its weights afterwards."""

    def __init__(self, operators: dict[str, Any], device: torch.device) -> None:
        self.pattern = Pattern(operators["copies"], device)
        self.copies, self.amplitude, self.phase = (
            torch.from_numpy(operators[name].data).to(device, torch.float32)
            for name in ("copies", "amplitude", "phase")
        )


class SignedAttention(nn.Module):
    """y_i = sum_j f_ij m_ij e_ij W x_j / sum_j m_ij e_ij + b, e_ij = exp LeakyReLU(s W x_j + d W x_i), f, m fixed."""

    def __init__(self, inputs: int, outputs: int, heads: int, hermitian: HermitianPattern, *, average: bool) -> None:
        super().__init__()
        self.hermitian, self.heads, self.average = hermitian, heads, average
        self.linear = nn.Linear(inputs, heads * outputs, bias=False)
        self.of_neighbour, self.of_node = (nn.Parameter(torch.empty(heads, outputs)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(outputs if average else heads * outputs))
        for parameter in (self.linear.weight, self.of_neighbour, self.of_node):
            nn.init.xavier_uniform_(parameter)

    def forward(self, x: Input, fixed: Tensor) -> Tensor:
        pattern, copies = self.hermitian.pattern, self.hermitian.copies
        panel = multiply(x, self.linear.weight)
        by_head = panel.unflatten(1, (self.heads, -1))
        neighbour, node = ((by_head * vector).sum(dim=2) for vector in (self.of_neighbour, self.of_node))
        made = pattern.weighted_sum(pattern.softmax(neighbour, node, copies=copies) * fixed, panel)
        return (made.unflatten(1, (self.heads, -1)).mean(dim=1) if self.average else made) + self.bias


class DualLayer(nn.Module):
    """The two branches of one layer, which meet if it is the fusion layer."""

    def __init__(
        self, inputs: int, hermitian: HermitianPattern, config: DuplexConfig, *, fuses: bool, last: bool
    ) -> None:
        super().__init__()
        self.hermitian = hermitian

        def attention() -> SignedAttention:
            return SignedAttention(inputs, config.hidden, config.heads, hermitian, average=last)

        self.amplitude, self.phase = attention(), attention()
        self.to_amplitude = attention() if fuses else None
        self.to_phase = attention() if fuses else None

    def forward(self, amplitude: Input, phase: Input) -> tuple[Tensor, Tensor]:
        by_amplitude, by_phase = self.hermitian.amplitude, self.hermitian.phase
        made = self.amplitude(amplitude, by_amplitude)
        turned = self.phase(phase, by_phase)
        if self.to_amplitude is None or self.to_phase is None:
            return made, turned
        return made + self.to_amplitude(phase, by_amplitude), turned + self.to_phase(amplitude, by_phase)


class Duplex(Classifier):
    """Dual layers, then a linear layer over amplitude and phase."""

    def __init__(self, hermitian: HermitianPattern, shape: Shape, config: DuplexConfig) -> None:
        super().__init__()
        self.config = config
        inputs = [shape.features, *[config.heads * config.hidden] * (config.layers - 1)]
        self.layers = nn.ModuleList(
            DualLayer(width, hermitian, config, fuses=number == config.fusion_layer, last=number == config.layers)
            for number, width in enumerate(inputs, start=1)
        )
        self.head = nn.Linear(2 * config.hidden, shape.classes)

    def forward(self, x: Input) -> Output:
        amplitude, phase = self.layers[0](x, x)
        for layer in self.layers[1:]:
            amplitude, phase = layer(self._between(amplitude), self._between(phase))
        hidden = torch.cat([amplitude, phase], dim=1)
        return Output(self.head(hidden), hidden)

    def _between(self, x: Tensor) -> Tensor:
        return dropout(activated(x, self.config), self.config.dropout, self.training)


def build(operators: dict[str, Any], shape: Shape, config: DuplexConfig, device: torch.device) -> Classifier:
    """A DUPLEX over the Hermitian adjacency."""
    return Duplex(HermitianPattern(operators, device), shape, config).to(device)
