"""CGNN: commute-time proximities as weights of two directed message channels."""

from dataclasses import replace
from typing import Any, Literal, Self

from cgnn_cli.configs import CLOSENESS, Facts, option
from cgnn_cli.errors import UsageError
from cgnn_cli.models.option_groups import BOTH_FIRST, SamplingOptions, SimilarityOptions, SteppingOptions, TwoWayOptions


class CgnnConfig(TwoWayOptions, SteppingOptions, SimilarityOptions, SamplingOptions):
    model: str = "cgnn"
    title = "Commute Graph Neural Network"
    label = "CGNN"
    paper = "Commute Graph Neural Networks, ICML 2025"
    operator = "commute"
    directions = BOTH_FIRST

    aggregation: Literal["auto", "mean", "weighted-mean", "sym", "sym-out"] = option(
        "auto",
        "How messages are normalised. mean is the paper's: divided by the number of neighbours. "
        "weighted-mean: by the sum of their weights. auto: weighted-mean with --proximity affinity or neighbours, "
        "mean otherwise.",
    )
    combine: Literal["mean", "sum"] = option("mean", "mean: s*self + (1-s)*messages. sum: self + messages.")
    self_share: float = option(1 / 3, "The share s of the node itself in `--combine mean`.", minimum=0, maximum=1)
    propagation: Literal["layers", "ppr"] = option(
        "layers",
        "layers: the paper's. ppr: an MLP, then steps of personalised PageRank over the weighted edges.",
    )

    def resolved(self, facts: Facts) -> Self:
        """Closeness is near the floor for most neighbours, so that a plain mean would leave hardly any message."""
        resolved = super().resolved(facts)
        if self.aggregation != "auto":
            return resolved
        weighted = facts.proximity in CLOSENESS and self.propagation == "layers"
        return replace(resolved, aggregation="weighted-mean" if weighted else "mean")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """`--propagation ppr` reads no aggregation and leaves it out, but the key of its operator has one: mean."""
        return super().from_dict({"aggregation": "mean", **values})

    def told(self) -> dict[str, Any]:
        """With the aggregation of its layers; `auto` is not settled where nothing was told of the weights."""
        read = self.propagation == "layers" and self.aggregation != "auto"
        return {**super().told(), **({"aggregation": self.aggregation} if read else {})}

    def numbers_a_node(self) -> int:
        return self.numbers_of_perceptron() if self.propagation == "ppr" else super().numbers_a_node()

    @property
    def reach(self) -> int | None:
        return self.propagation_steps if self.propagation == "ppr" else super().reach

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
