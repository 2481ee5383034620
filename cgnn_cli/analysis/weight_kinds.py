"""The kinds of weights that are compared with none, each as the settings that make it."""

from typing import Any

BY_WEIGHT = {"train.aggregation": "weighted-mean"}  # with equal weights it is the paper's mean
PAPER, PI_ONLY, IN_USE = "paper", "pi-only", "in use"
NO_WEIGHTS = {"commute.solver": "pi-only", "commute.proximity": "none"}
WEIGHTS: dict[str, dict[str, Any]] = {  # ratio and affinity take the times of any solver that has them
    PAPER: {"rewire.method": "path", "commute.solver": "svd", "commute.proximity": "exp"},
    "ratio": {"commute.proximity": "ratio", "commute.scale": "0.1", **BY_WEIGHT},
    "affinity": {"commute.proximity": "affinity", **BY_WEIGHT},
    PI_ONLY: {"commute.solver": "pi-only", "commute.proximity": "inverse", **BY_WEIGHT},
    "neighbours": {"commute.solver": "pi-only", "commute.proximity": "neighbours", **BY_WEIGHT},
}
