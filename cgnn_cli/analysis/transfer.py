"""A trained model on another graph, of other nodes and edges: what carries over, and what it is given to see.

Weights, and what was decided with them, carry over. Walk, commute weights and operators are made from the other graph.
Its own features are scaled as those of the model's graph were: by `standard` with that graph's means and deviations.
Columns of degrees and of structure are scaled among the nodes of their own graph, so they say how a node compares with
the others there, on any graph; columns that are about particular nodes mean nothing elsewhere, and are refused.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, issparse

from cgnn_cli.configs import FEATURE_NAMES, TrainConfig
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import TRAIN, UNUSED, VALIDATION, Checkpoint, Graph, column_order
from cgnn_cli.models.parts.first_class import probabilities_along, training_labels
from cgnn_cli.models.parts.label_walk import WEIGHTS
from cgnn_cli.numerics.first_met import walk_along
from cgnn_cli.stages.features import scale_features

OF_OTHERS = ("structural", "roles", "degrees")  # encodings of how a node compares with the others of its graph
READS_LABELS = {"label_walk": "--label-walk", "label_input": "--label-input"}


def check_carries_over(config: TrainConfig, own: Graph, other: Graph) -> None:
    """Refuse what a model cannot read, or what would mean something else, on another graph than its own."""
    if not config.learns:
        raise UsageError(
            f"--model {config.model} keeps a probability for every node of its graph, and no weights for others",
            f"solve it on this graph: cgnn run --model {config.model}; it needs some labels there",
        )
    if config.has_encoding and config.encoding not in OF_OTHERS:
        raise UsageError(
            f"--encoding {config.encoding} says where a node lies among particular nodes of its graph, "
            "and another graph has others",
            f"train a run with --encoding {', '.join(OF_OTHERS[:-1])} or {OF_OTHERS[-1]}, or with features",
        )
    if own.feature_source != other.feature_source or _width(own) != _width(other):
        raise DataError(
            f"the run reads {_features(own)}, and this graph has {_features(other)}",
            "import it with the same columns, in the same order",
        )
    _order(own, other)
    for name, flag in READS_LABELS.items():
        if getattr(config, name) and (other.labels is None or not (known_to(own, other) >= 0).any()):
            raise DataError(
                f"{flag} reads the labels of other nodes, and this graph has none of the run's classes",
                f"import it with --labels, or use a run without {flag}",
            )


def _order(own: Graph, other: Graph) -> list[int] | None:
    """The order in which a model takes the columns of features, where both graphs know their titles and they differ."""
    return column_order(own.summary.get(FEATURE_NAMES), other.summary.get(FEATURE_NAMES), "this graph")


def _width(graph: Graph) -> int:
    return 0 if graph.features is None else int(graph.features.shape[1])


def _features(graph: Graph) -> str:
    made = " made from its structure" if graph.feature_source == "structural" else ""
    return f"{_width(graph)} features of a node{made}" if _width(graph) else "no features"


def known_to(own: Graph, other: Graph) -> np.ndarray:
    """The labels of another graph as numbers of the model's classes; -1 for none, and for classes that it has not."""
    if other.labels is None:
        return np.full(other.node_count, -1)
    numbers = {name: number for number, name in enumerate(own.class_labels())}
    return np.array([*(numbers.get(name, -1) for name in other.class_labels()), -1])[other.labels]


def met_before(own: Graph, other: Graph, splits: list[int]) -> np.ndarray:
    """The nodes of another graph that by their ids train or validate in some splits of the models' own.

    None do where a graph has no ids but the places of its nodes, which say nothing of who they are.
    """
    if own.node_ids is None or other.node_ids is None or own.splits is None:
        return np.zeros(other.node_count, dtype=bool)
    learnt = np.isin(own.splits[splits], (TRAIN, VALIDATION)).any(axis=0)
    return np.isin(other.ids().astype(str), own.ids()[learnt].astype(str))


def as_seen(config: TrainConfig, own: Graph, other: Graph) -> tuple[Graph, TrainConfig]:
    """Another graph as a model of `own` sees it: its classes, every label known, features scaled; and its options."""
    labels, features = known_to(own, other), other.features
    if features is not None and own.features is not None:
        if issparse(own.features) != issparse(features):
            features = csr_array(features) if issparse(own.features) else csr_array(features).toarray()
        order = _order(own, other)
        features = features if order is None else features[:, order]
        features = scale_features(features, config.feature_scaling, own.features)
    row = np.where(labels >= 0, TRAIN, UNUSED).astype(np.uint8)
    splits = np.broadcast_to(row, (own.split_count, other.node_count))
    seen = replace(other, labels=labels, class_names=own.class_names, features=features, splits=splits)
    return seen, replace(config, feature_scaling="none", class_weights="none")


def with_walks(config: TrainConfig, checkpoint: Checkpoint, seen: Graph, splits: list[int]) -> Checkpoint:
    """The models of some splits; for `--label-walk` with the columns of this graph, along the walk that each chose."""
    fits = {str(split): dict(checkpoint.fits[str(split)]) for split in splits}
    if config.label_walk:
        chosen = dict(zip(checkpoint.summary["splits"], checkpoint.summary["walks"], strict=True))
        for split in splits:
            walk = walk_along(seen.edges, chosen[split]["direction"])
            known, rate = training_labels(seen, split), chosen[split]["death_rate"]
            columns, _ = probabilities_along(walk, known, seen.class_count, rate)
            fits[str(split)]["weights"] = {**fits[str(split)]["weights"], WEIGHTS: columns}
    return replace(checkpoint, fits=fits)
