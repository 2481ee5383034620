"""What a search begins with: a sensible default of each kind of model, before anything is known of the graph.

The settings are those that the models' own papers and codes use. `make tune` begins with the same.
"""

from __future__ import annotations

from typing import Any

from cgnn_cli.models.model_table import MODELS
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.presets.lookup import PAPER_WEIGHTS
from cgnn_cli.solver_table import exact_or_series

Values = dict[str, Any]


def train(**options: Any) -> Values:
    """Options of the training by their paths."""
    return {f"train.{name}": value for name, value in options.items()}


def commute(**options: Any) -> Values:
    """Options of the commute times by their paths."""
    return {f"commute.{name}": value for name, value in options.items()}


DEEP = train(
    layers=5, hidden=128, jumping_knowledge="max", l2_norm=True, feature_scaling="row", lr=0.005, weight_decay=0.0,
    dropout=0.0, epochs=500, patience=100,
)  # fmt: skip
SHALLOW = train(
    layers=2, hidden=64, feature_scaling="l2", lr=0.01, weight_decay=5e-4, dropout=0.5, epochs=300, patience=60
)
DROPPED = {**SHALLOW, **train(input_dropout=0.5)}
DECAYED = {**DROPPED, **train(weight_decay=5e-3)}
SHORT = train(epochs=300, patience=60)  # of every training of a search
PAPER = "paper"


def kinds_of_weights(nodes: int) -> dict[str, Values]:
    """The weights that are compared, each with the aggregation that goes with it; the first is no weights."""
    true_times = commute(solver=exact_or_series(nodes, quickly=True))
    return {
        "none": {**commute(solver="pi-only", proximity="none"), **train(aggregation="mean")},
        "affinity": {**true_times, **commute(proximity="affinity"), **train(aggregation="weighted-mean")},
        "ratio": {**true_times, **commute(proximity="ratio", scale="0.1"), **train(aggregation="mean")},
        "wide ratio": {**true_times, **commute(proximity="ratio", scale="0.5"), **train(aggregation="mean")},
        PAPER: dict(PAPER_WEIGHTS),
    }


def starting_points(nodes: int, *, has_features: bool, model: str | None = None) -> list[Values]:
    """The first configurations of a search, of one model if it is named: few of the first already tell kinds apart."""
    rows = _with_features(kinds_of_weights(nodes)) if has_features else _without(kinds_of_weights(nodes))
    if model is not None:
        rows = [row for row in rows if row["train.model"] == model] or _of(model, nodes, has_features=has_features)
    return [{**row, **SHORT} for row in rows]


def _of(model: str, nodes: int, *, has_features: bool) -> list[Values]:
    """Those of a model that is tried only where it is named: what goes for other models, its own direction first."""
    plain, *weights = kinds_of_weights(nodes).values() if uses_weights(model) else [{}]
    own, *others = [train(direction=name) for name in MODELS[model].directions] or [{}]
    rows = [{**SHALLOW, **own}, {**DROPPED, **own}, *({**SHALLOW, **other} for other in others), {**DEEP, **own}]
    rows += [{**SHALLOW, **kind} for kind in weights]
    place = train() if has_features else train(encoding="laplacian")
    return [{**plain, **place, **row, **train(model=model)} for row in rows]


def _with_features(weights: dict[str, Values]) -> list[Values]:
    both_ways = train(direction="undirected")
    web = {**DEEP, **train(direction="out")}
    return [
        {**DROPPED, **train(model="sage", head_layers=0), **both_ways},
        {**DROPPED, **train(model="appnp")},
        {**web, **train(model="dirgnn", variant="gcn")},
        {**DROPPED, **train(model="mlp")},
        {**SHALLOW, **weights["affinity"], **train(model="cgnn")},
        {**DECAYED, **train(model="gcn", head_layers=0), **both_ways},
        {**SHALLOW, **train(model="linear")},
        {**DROPPED, **weights["ratio"], **train(model="cgnn", propagation="ppr"), **both_ways},
        {**SHALLOW, **train(model="dirgnn")},
        {**web, **weights["none"], **train(model="cgnn", aggregation="sym-out", self_share=0.0)},
        {**SHALLOW, **weights[PAPER], **train(model="cgnn")},
        train(model="absorption"),
        {**DROPPED, **train(model="sage", encoding="laplacian"), **both_ways},
        {**web, **train(model="sage")},
        {**DECAYED, **train(model="appnp", hidden=128)},
        {**SHALLOW, **weights["ratio"], **train(model="cgnn")},
    ]


def _without(weights: dict[str, Values]) -> list[Values]:
    spectral = {**SHALLOW, **train(encoding="laplacian")}
    both_ways = train(direction="undirected")
    return [
        {**spectral, **train(model="sage"), **both_ways},
        train(model="absorption"),
        {**SHALLOW, **train(model="sage", encoding="roles"), **both_ways},
        {**spectral, **weights["affinity"], **train(model="cgnn")},
        {**spectral, **train(model="mlp")},
        {**spectral, **train(model="appnp")},
        {**SHALLOW, **train(model="sage", encoding="head-start"), **both_ways},
        {**spectral, **train(model="dirgnn")},
        {**SHALLOW, **train(model="sage", encoding="adjacency"), **both_ways},
        {**spectral, **train(model="gcn"), **both_ways},
        {**SHALLOW, **weights["affinity"], **train(model="cgnn", encoding="head-start")},
        {**spectral, **weights["none"], **train(model="cgnn")},
        {**SHALLOW, **weights["affinity"], **train(model="cgnn", encoding="roles")},
        {**spectral, **weights["ratio"], **train(model="cgnn")},
        {**spectral, **weights[PAPER], **train(model="cgnn")},
        {**SHALLOW, **train(model="dirgnn", encoding="degrees")},
        {**spectral, **train(model="linear")},
    ]
