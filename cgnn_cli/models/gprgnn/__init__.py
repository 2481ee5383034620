"""GPRGNN."""

from typing import Literal

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import UNDIRECTED_FIRST, SimilarityOptions, SteppingOptions


class GprgnnConfig(SimilarityOptions, SteppingOptions):
    model: str = "gprgnn"
    title = "An MLP, then steps with learnt coefficients"
    label = "GPRGNN"
    paper = "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, ICLR 2021"
    operator = "convolution"
    directions = UNDIRECTED_FIRST

    gpr_start: Literal["ppr", "one-hot", "nppr", "random"] = option(
        "ppr", "Coefficients of the steps at the start; ppr and nppr: from --teleport; one-hot: the last step."
    )

    def unread(self) -> set[str]:
        return super().unread() | ({"teleport"} if self.gpr_start in ("one-hot", "random") else set())

    def numbers_a_node(self) -> int:
        return self.numbers_of_perceptron()
