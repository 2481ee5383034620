"""Variations of a configuration: one or two of its options changed, within tables of sensible values."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli.configs import Facts, TrainConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.pipeline import BEFORE_TRAINING
from cgnn_cli.settings import KEYS, Settings
from cgnn_cli.tuning.starting_points import Values, kinds_of_weights, starting_points

GRAPH_MODELS = ("sage", "dirgnn", "gcn", "appnp", "cgnn")
ENCODINGS = ("none", "laplacian", "head-start", "adjacency", "degrees", "roles")
TABLE: dict[str, Sequence[Any]] = {
    "train.layers": (1, 2, 3, 4, 5),
    "train.hidden": (32, 64, 128, 256),
    "train.lr": (0.002, 0.005, 0.01, 0.02, 0.05),
    "train.weight_decay": (0.0, 5e-5, 5e-4, 2e-3, 5e-3),
    "train.dropout": (0.0, 0.2, 0.5, 0.7),
    "train.input_dropout": (0.0, 0.2, 0.5, 0.7),
    "train.feature_scaling": ("none", "row", "l2", "standard"),
    "train.encoding": ENCODINGS,
    "train.encoding_size": (16, 32, 64, 128),
    "train.head_layers": (0, 1),
    "train.jumping_knowledge": ("none", "max", "cat"),
    "train.l2_norm": (False, True),
    "train.activation": ("relu", "elu", "tanh"),
    "train.alpha": (0.0, 0.25, 0.5, 0.75, 1.0),
    "train.variant": ("sage", "gcn"),
    "train.aggregation": ("mean", "weighted-mean", "sym", "sym-out"),
    "train.self_share": (0.0, 0.1, 1 / 3, 0.5, 0.7),
    "train.propagation": ("layers", "ppr"),
    "train.propagation_steps": (2, 4, 10, 20),
    "train.teleport": (0.05, 0.1, 0.2, 0.4),
}
MODEL, WEIGHTS, DIRECTION, ENCODING = "train.model", "commute", "train.direction", "train.encoding"
TWO_AT_A_TIME = 0.4


@dataclass(frozen=True)
class Space:
    """The configurations of a search on a graph: what varies, and what the user has fixed."""

    nodes: int
    has_features: bool
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def starts(self) -> Iterator[Values]:
        """The starting points with what is fixed over them, each once; those that cannot be are left out."""
        seen: set[str] = set()
        for point in starting_points(self.nodes, has_features=self.has_features, model=self.fixed.get(MODEL)):
            full = self.completed(point)
            if full is not None and identity(full) not in seen:
                seen.add(identity(full))
                yield full

    def completed(self, point: Values) -> Values | None:
        """All settings that a training of this point reads, with what is fixed; None where it would be refused."""
        try:
            settings = Settings.of({**point, **self.fixed}, "tune")
            config, _ = settings.config("train"), settings.config("commute")
            assert isinstance(config, TrainConfig)
            config.resolved(Facts("own" if self.has_features else "none")).check()
        except UsageError:
            return None
        return {MODEL: config.model, **settings.full_row()}

    def variation(self, parent: Values, generator: random.Random) -> Values | None:
        """The parent with one or two options changed; None where that cannot be, or changes nothing."""
        child = dict(parent)
        for _ in range(1 + (generator.random() < TWO_AT_A_TIME)):
            path = generator.choice(self._open(child))
            values = [value for value in self._values(path, child) if value != child.get(path)]
            if not values:
                return None
            child = self._changed(child, path, generator.choice(values))
        full = self.completed(child)
        return None if full is None or identity(full) == identity(parent) else full

    def _open(self, point: Values) -> list[str]:
        """What can be changed: options that the training reads, its encoding, its weights, and the model itself."""
        model = MODELS[point[MODEL]]
        read = {path for path in TABLE if path in point} | ({ENCODING} if model.learns else set())
        read -= set() if self.has_features else {"train.feature_scaling"}
        kinds = [MODEL, *([DIRECTION] if model.directions else []), *([WEIGHTS] if uses_weights(model.model) else [])]
        return [path for path in (*kinds, *TABLE) if (path in kinds or path in read) and path not in self.fixed]

    def _values(self, path: str, point: Values) -> Sequence[Any]:
        if path == MODEL:
            return GRAPH_MODELS
        if path == DIRECTION:
            return MODELS[point[MODEL]].directions
        if path == WEIGHTS:
            return list(kinds_of_weights(self.nodes).values())
        return TABLE[path] if path != ENCODING or self.has_features else ENCODINGS[1:]

    def _changed(self, point: Values, path: str, value: Any) -> Values:
        if path == WEIGHTS:
            return {**without_weights(point), **value}
        if path == MODEL and uses_weights(value):
            return {**point, **kinds_of_weights(self.nodes)["none"], path: value}
        return {**point, path: value}


def without_weights(point: Values) -> Values:
    """The settings but those of the stages before the training."""
    return {path: value for path, value in point.items() if path.partition(".")[0] not in BEFORE_TRAINING}


def identity(point: Values) -> str:
    """What is the same for settings that mean the same."""
    return repr(sorted(point.items()))


def is_weighted(point: Mapping[str, Any]) -> bool:
    """Whether a training of these settings reads commute times."""
    return uses_weights(point[MODEL]) and point.get("commute.proximity", KEYS["commute.proximity"].default) != "none"


def unweighted_twin(space: Space, point: Values) -> Values:
    """The same settings with every weight 1."""
    plain = {path: value for path, value in point.items() if not path.startswith("commute.")}
    none = {path: value for path, value in kinds_of_weights(space.nodes)["none"].items() if path.startswith("commute.")}
    return {**plain, **none}
