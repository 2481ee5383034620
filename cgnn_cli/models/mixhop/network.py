"""MixHop: h' = concatenation over p = 0..K of P^p h W_p + b_p (Abu-El-Haija et al., ICML 2019).

P is the operator of operators/convolution.py, K is `--hops`, and `--hidden` is the width of each power. The head takes
the place of the paper's last layer; with `--head-layers 0` the powers of the last layer are averaged into the classes.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cgnn_cli.models.mixhop import MixhopConfig
from cgnn_cli.models.parts.classifier import Classifier, Network, Shape
from cgnn_cli.models.parts.propagate import Input, Propagator, multiply


class MixHopLayer(nn.Module):
    """The powers 0..hops of P side by side, by `hops` products. `linear` holds W_0, W_1, ... below each other."""

    def __init__(self, inputs: int, outputs: int, step: Propagator, hops: int) -> None:
        super().__init__()
        self.step, self.hops, self.outputs = step, hops, outputs
        self.linear = nn.Linear(inputs, (hops + 1) * outputs)

    def forward(self, x: Input) -> Tensor:
        if isinstance(x, Tensor) and 2 * x.shape[1] < (self.hops + 1) * self.outputs:
            return self._features_first(x)
        return self._weights_first(x)

    def _features_first(self, x: Tensor) -> Tensor:
        """K products with a panel of the inputs' width."""
        powers = [x]
        for _ in range(self.hops):
            powers.append(self.step(powers[-1]))
        weights = self.linear.weight.chunk(self.hops + 1)
        made = [power @ weight.t() for power, weight in zip(powers, weights, strict=True)]
        return torch.cat(made, dim=1) + self.linear.bias

    def _weights_first(self, x: Input) -> Tensor:
        """K products with ever fewer outputs, (K + 1) / 2 times the outputs' width on average: each drops a power."""
        waiting = multiply(x, self.linear.weight)
        done = []
        for _ in range(self.hops):
            ready, waiting = waiting[:, : self.outputs], waiting[:, self.outputs :]
            done.append(ready)
            waiting = self.step(waiting)
        return torch.cat([*done, waiting], dim=1) + self.linear.bias


def build(operators: dict[str, Any], shape: Shape, config: MixhopConfig, device: torch.device) -> Classifier:
    """A MixHop over its normalised adjacency."""
    step = Propagator(operators["step"], device)
    return Network(lambda inputs, outputs: MixHopLayer(inputs, outputs, step, config.hops), shape, config).to(device)
