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
        for spared, weight_decay in ((False, self.weight_decay), (True, 0.0)):
            if moved := [number for number in used if self.spared[number] == spared]:
                adam(
                    [self.parameters[number] for number in moved],
                    [self.parameters[number].grad for number in moved],  # type: ignore[misc]
                    [self.moments[number] for number in moved],
                    [self.squares[number] for number in moved],
                    [],
                    [self.steps[number] for number in moved],
                    lr=self.lr,
                    weight_decay=weight_decay,
                    eps=EPSILON,
                    amsgrad=False,
                    maximize=False,
                    fused=True,
                    beta1=BETAS[0],
                    beta2=BETAS[1],
                )

    def state(self) -> dict[str, dict[str, np.ndarray]]:
        """All that the next steps depend on, as arrays."""
        return {
            str(number): {name: part[number].detach().cpu().numpy().copy() for name, part in self._parts().items()}
            for number in range(len(self.parameters))
        }

    def load_state(self, state: dict[str, dict[str, np.ndarray]]) -> None:
        for name, tensors in self._parts().items():
            for number, tensor in enumerate(tensors):
                tensor.copy_(torch.from_numpy(np.array(state[str(number)][name])))

    def _parts(self) -> dict[str, list[Tensor]]:
        return {"moment": self.moments, "square": self.squares, "step": self.steps}
