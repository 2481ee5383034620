"""What is added to CGNN without weights, one thing at a time: weights, encodings, or labels that walks meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cgnn_cli.analysis.weight_kinds import WEIGHTS

TIMES, CONTROLS, ENCODINGS, LABELS = "commute times", "controls", "place in the graph", "labels"
FIXED = {  # for all graphs; the paper's own weights take its own walk
    "rewire.method": "escape",
    "train.model": "cgnn",
    "train.layers": 2,
    "train.hidden": 64,
    "train.epochs": 300,
    "train.patience": 60,
}


@dataclass(frozen=True)
class Addition:
    """One thing that is added: its group, what it is in words, and the settings for it.

    of_times: whether it takes true commute times, whose solver depends on the size of the graph.
    """

    group: str
    meaning: str
    settings: dict[str, Any] = field(default_factory=dict)
    of_times: bool = False


def _encoding(name: str, meaning: str) -> Addition:
    return Addition(ENCODINGS, meaning, {"train.encoding": name})


ADDITIONS: dict[str, Addition] = {
    "paper": Addition(
        TIMES,
        "the paper's weights: exp of the rank-5 scores, along its path",
        WEIGHTS["paper"],
    ),
    "ratio": Addition(
        TIMES,
        "exp of c / (1/pi_i + 1/pi_j), scale 0.1, of true commute times",
        WEIGHTS["ratio"],
        of_times=True,
    ),
    "affinity": Addition(
        TIMES,
        "the indirect part of true commute times",
        WEIGHTS["affinity"],
        of_times=True,
    ),
    "pi-only": Addition(
        CONTROLS,
        "1/pi_i + 1/pi_j: how often a walk comes by, nothing about the pair",
        WEIGHTS["pi-only"],
    ),
    "neighbours": Addition(
        CONTROLS,
        "the cosine of common neighbours, without any walk",
        WEIGHTS["neighbours"],
    ),
    "laplacian": _encoding("laplacian", "64 eigenvectors of the graph"),
    "head-start": _encoding("head-start", "times of a walk to and from 32 landmarks"),
    "adjacency": _encoding("adjacency", "ways of one and two steps to and from 32 landmarks"),
    "structural": _encoding("structural", "degrees, PageRank and returns"),
    "degrees": _encoding("degrees", "degrees of a node and its neighbours"),
    "absorption": Addition(
        LABELS,
        "no network: the class of the training node that a walk meets first",
        {"train.model": "absorption"},
    ),
    "label-walk": Addition(
        LABELS,
        "chances of the class that a walk meets first, as input of the network",
        {"train.label_walk": True},
    ),
}
DEFAULT_ENCODING = "laplacian"  # that of a graph without features, so that there it is what others are compared with


def groups() -> dict[str, list[str]]:
    """The names of what is added, by group."""
    return {
        group: [name for name, each in ADDITIONS.items() if each.group == group]
        for group in dict.fromkeys(each.group for each in ADDITIONS.values())
    }
