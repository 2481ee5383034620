"""Why a model says what it says of a node: its class probabilities, and what each neighbour adds to one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.analysis.explanation import Neighbour, Neighbourhood, explain_node
from cgnn_cli.analysis.influence import Influence, TrainedModels
from cgnn_cli.analysis.prediction import Predictions
from cgnn_cli.graph import TRAIN, CommuteTimes, Dilap, Graph


@dataclass(frozen=True)
class Reason:
    """A neighbour, and what the probability of the class in question loses without it.

    edge: `to` the neighbour, `from` it, `both`, or `none` for a node that is heard without an edge. amount, weight and
    times are those of the edge; of two, the sum of the amounts, and the rest of the heavier. adds is None where it was
    not tried.
    """

    id: str
    label: str | None
    predicted: str
    probability: float
    edge: str
    amount: float
    weight: float
    commute: float
    popularity: float
    direct: float
    indirect: float
    adds: float | None

    @property
    def shown_class(self) -> str:
        """The known class, or else the predicted one."""
        return self.label or self.predicted

    def to_json(self) -> dict[str, Any]:
        """NaN has no place in JSON: null."""
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in vars(self).items()}


@dataclass(frozen=True)
class Reasons:
    """What the models say of a node, and why.

    about: the class that is asked about. neighbours: those that move its probability most come first, those that were
    not tried last. tried: how many were left out in turn. hear: whether the model takes messages at all.
    """

    id: str
    label: str | None
    predicted: str
    about: str
    probabilities: dict[str, float]
    models: int
    trained_on_it: int
    hear: bool
    tried: int
    neighbours: list[Reason]

    @property
    def shown_class(self) -> str:
        """The known class, or else the predicted one."""
        return self.label or self.predicted

    @property
    def probability(self) -> float:
        """Of the class that is asked about."""
        return self.probabilities[self.about]

    @property
    def ties(self) -> list[Reason]:
        """The neighbours with an edge."""
        return [reason for reason in self.neighbours if reason.edge != "none"]

    @property
    def sentence(self) -> str:
        """The answer in one sentence, for people who do not know models."""
        return self.sentence_on(self.id)

    def sentence_on(self, name: str) -> str:
        """The same, with another name for the node."""
        said = f"predicted {self.about} ({percent(self.probability)})"
        if self.about != self.predicted:
            said = f"{self.about} with {percent(self.probability)}, predicted {self.predicted}"
        known = f" (label {self.label})" if self.label else ""
        return f"{name}{known} is {said}: {self.of_neighbours}"

    @property
    def of_neighbours(self) -> str:
        """How many of its neighbours have the class."""
        ties = self.ties
        alike = [reason for reason in ties if reason.shown_class == self.about]
        if not ties:
            return "it has no neighbours"
        if len(ties) == 1:
            return f"its only neighbour is {ties[0].shown_class}"
        share = "all" if len(alike) == len(ties) else "none" if not alike else f"{len(alike):,}"
        verb = "is" if len(alike) == 1 and len(ties) > 1 else "are"
        return f"{share} of its {len(ties):,} neighbours {verb} {self.about}"

    def to_json(self) -> dict[str, Any]:
        """All of it, with a row for each neighbour."""
        return {**vars(self), "neighbours": [reason.to_json() for reason in self.neighbours], "sentence": self.sentence}


def percent(share: float) -> str:
    """A probability for people: 91 %, 0.4 %, and never 100 % or 0 % for what is not sure."""
    if 0.995 <= share < 1:
        return ">99 %"
    if share < 0.01:
        return f"{100 * share:.1f} %" if share >= 0.0005 else "<0.1 %"
    return f"{100 * share:.0f} %"


@dataclass(frozen=True)
class Reasoning:
    """All that reasons for nodes are made from: the models, what they predict, and the times of their weights."""

    models: TrainedModels
    predictions: Predictions
    times: CommuteTimes | None = None
    dilap: Dilap | None = None

    @property
    def graph(self) -> Graph:
        return self.models.graph

    def of(self, node: int, about: str | None = None, most: int = 50, around: Neighbourhood | None = None) -> Reasons:
        """Why the models say what they say of a node, about a class or else the predicted one.

        around: its neighbours with times and weights, where they are known already.
        """
        graph, names = self.graph, self.graph.class_labels()
        found = around or explain_node(graph, self.times, self.dilap, node)
        predicted = int(self.predictions.classes[node])
        number = predicted if about is None else graph.class_number(about)
        influence = self.models.influence(node, most) if self.models.hear else None
        said = self.predictions.probabilities[node]
        seen = 0 if graph.splits is None else int((graph.splits[list(self.models.splits), node] == TRAIN).sum())
        rows = self._reasons(found, influence, number)
        rows.sort(key=lambda reason: (reason.adds is None, -abs(reason.adds or 0), -_or_zero(reason.weight), reason.id))
        return Reasons(
            id=found.id,
            label=found.label,
            predicted=names[predicted],
            about=names[number],
            probabilities=dict(zip(names, map(float, said), strict=True)),
            models=len(self.models.splits),
            trained_on_it=seen,
            hear=influence is not None,
            tried=0 if influence is None else len(influence.without),
            neighbours=rows,
        )

    def _reasons(self, found: Neighbourhood, influence: Influence | None, about: int) -> list[Reason]:
        ids, names = self.graph.ids(), self.graph.class_labels()
        number = {name: place for place, name in enumerate(ids.tolist())}
        edges: dict[int, dict[str, Neighbour]] = {}
        for way, rows in (("to", found.out), ("from", found.into)):
            for row in rows:
                edges.setdefault(number[row.id], {})[way] = row
        adds: dict[int, float | None] = dict.fromkeys(edges, 0.0 if influence is not None else None)
        if influence is not None:
            lost = influence.probabilities[about] - influence.without[:, about]
            adds |= dict.fromkeys(influence.heard.tolist())
            adds |= dict(zip(influence.heard[: len(lost)].tolist(), map(float, lost), strict=True))
        labels = self.graph.labels
        return [
            Reason(
                id=str(ids[node]),
                label=None if labels is None or labels[node] < 0 else names[labels[node]],
                predicted=names[int(self.predictions.classes[node])],
                probability=float(self.predictions.probability[node]),
                adds=added,
                **_of_edges(edges.get(node, {})),
            )
            for node, added in adds.items()
        ]


def _of_edges(ways: dict[str, Neighbour]) -> dict[str, Any]:
    """What is known of the edges between a node and a neighbour."""
    rows = list(ways.values())
    heaviest = max(rows, key=lambda row: _or_zero(row.weight), default=None)
    names = ("weight", "commute", "popularity", "direct", "indirect")
    return {
        "edge": "both" if len(ways) == 2 else next(iter(ways), "none"),
        "amount": sum(row.amount for row in rows) if rows else math.nan,
        **{name: math.nan if heaviest is None else getattr(heaviest, name) for name in names},
    }


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


@dataclass(frozen=True)
class Review:
    """Nodes to look at one after the other, with the reasons for a class; `train_key` tells whose answers they are."""

    train_key: str
    about: str
    classes: Sequence[str]
    nodes: Sequence[Reasons]
