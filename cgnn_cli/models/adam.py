"""Adam by torch's functional form.

The class `torch.optim.Adam` imports torch's compiler at first use, which costs every process 1.5 s; the function does
not, gives the same numbers, and leaves the state in plain sight for snapshots. The fused kernel reads each number
once.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Adam:
    """Adam with L2 weight decay, except of the parameters in `undecayed`."""

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, undecayed: Iterable[Tensor] = ()
    ) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay = lr, weight_decay
        spared = {id(parameter) for parameter in undecayed}
        self.spared = [id(parameter) in spared for parameter in self.parameters]
        self.moments = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.steps = [torch.zeros((), device=parameter.device) for parameter in self.parameters]

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters that have a gradient."""
        used = [number for number, parameter in enumerate(self.parameters) if parameter.grad is not None]
        self._move([number for number in used if not self.spared[number]], self.weight_decay)
        self._move([number for number in used if self.spared[number]], 0.0)

    def _move(self, used: list[int], weight_decay: float) -> None:
        if not used:
            return
        adam(
            [self.parameters[number] for number in used],
            [self.parameters[number].grad for number in used],  # type: ignore[misc]
            [self.moments[number] for number in used],
            [self.squares[number] for number in used],
            [],
            [self.steps[number] for number in used],
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self.lr,
            weight_decay=weight_decay,
            eps=EPSILON,
            maximize=False,
            fused=True,
        )

    def state(self) -> dict[str, dict[str, np.ndarray]]:
        """All that the next steps depend on, as arrays."""
        parts = zip(self.moments, self.squares, self.steps, strict=True)
        return {
            str(number): {"moment": _array(moment), "square": _array(square), "step": _array(step)}
            for number, (moment, square, step) in enumerate(parts)
        }

    def load_state(self, state: dict[str, dict[str, np.ndarray]]) -> None:
        for number in range(len(self.parameters)):
            saved = state[str(number)]
            self.moments[number].copy_(torch.from_numpy(np.array(saved["moment"])))
            self.squares[number].copy_(torch.from_numpy(np.array(saved["square"])))
            self.steps[number].copy_(torch.from_numpy(np.array(saved["step"])))


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().copy()
