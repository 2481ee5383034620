"""The kinds of weights that are compared with none, each as the settings that make it."""

from typing import Any

BY_WEIGHT = {"train.aggregation": "weighted-mean"}  # with equal weights it is the paper's mean
PAPER, PI_ONLY, IN_USE = "paper", "pi-only", "in use"
NO_WEIGHTS = {"commute.solver": "pi-only", "commute.proximity": "none"}
WEIGHTS: dict[str, dict[str, Any]] = {  # ratio and affinity take the times of any solver that has them
    PAPER: {"rewire.method": "path", "commute.solver": "svd", "commute.proximity": "exp"},
    "ratio": {**BY_WEIGHT, "commute.proximity": "ratio", "commute.scale": "0.1"},
    "affinity": {**BY_WEIGHT, "commute.proximity": "affinity"},
    PI_ONLY: {**BY_WEIGHT, "commute.solver": "pi-only", "commute.proximity": "inverse"},
    "neighbours": {**BY_WEIGHT, "commute.solver": "pi-only", "commute.proximity": "neighbours"},
}
