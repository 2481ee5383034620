"""CGNN: commute-time proximities as weights of two directed message channels."""

from typing import Literal

from cgnn_cli.configs import option
from cgnn_cli.errors import UsageError
from cgnn_cli.models.option_groups import BOTH_FIRST, SamplingOptions, SimilarityOptions, SteppingOptions, TwoWayOptions


class CgnnConfig(TwoWayOptions, SteppingOptions, SimilarityOptions, SamplingOptions):
    model: str = "cgnn"
    title = "Commute Graph Neural Network"
    label = "CGNN"
    paper = "Commute Graph Neural Networks, ICML 2025"
    operator = "commute"
    directions = BOTH_FIRST

    aggregation: Literal["mean", "weighted-mean", "sym", "sym-out"] = option(
        "mean", "cgnn: how messages are normalised. mean is the paper's: divided by the number of neighbours."
    )
    combine: Literal["mean", "sum"] = option("mean", "cgnn: mean: s*self + (1-s)*messages. sum: self + messages.")
    self_share: float = option(1 / 3, "cgnn: the share s of the node itself in `--combine mean`.", minimum=0, maximum=1)
    propagation: Literal["layers", "ppr"] = option(
        "layers",
        "cgnn: layers: the paper's. ppr: an MLP, then steps of personalised PageRank over the weighted edges.",
    )

    def numbers_a_node(self) -> int:
        return self.numbers_of_perceptron() if self.propagation == "ppr" else super().numbers_a_node()

    def unread(self) -> set[str]:
        unread = super().unread() | ({"self_share"} if self.combine == "sum" else set())
        if self.propagation == "layers":
            return unread | {"propagation_steps", "teleport", "propagation_dropout"}
        layers = {"aggregation", "combine", "self_share", "alpha"}
        return unread | layers | {"head_layers", "jumping_knowledge", "l2_norm", "batch_norm"}

    def check(self) -> None:
        super().check()
        if self.propagation == "ppr" and self.batch_nodes:
            raise UsageError("--propagation ppr takes all nodes at once", "leave --batch-nodes out")
