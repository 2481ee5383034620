"""MagNet."""

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import BOTH_OR_UNDIRECTED, DropoutOption


class MagnetConfig(DropoutOption):
    model: str = "magnet"
    title = "Chebyshev convolution with the magnetic Laplacian"
    label = "MagNet"
    paper = "Zhang et al., MagNet: A Neural Network for Directed Graphs, NeurIPS 2021"
    operator = "magnetic"
    directions = BOTH_OR_UNDIRECTED

    charge: float = option(0.25, "q, how far a one-way edge turns the phase.", minimum=0, maximum=0.5)
    order: int = option(1, "Order of the Chebyshev polynomials.", minimum=1)

    @property
    def widening(self) -> int:
        return self.order + 1
