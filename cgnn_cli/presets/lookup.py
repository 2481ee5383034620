"""Presets: a full row of settings for a model on a dataset.

paper: the hyper-parameters that the CGNN paper prints for the dataset, for any model; for CGNN also its weights, and
what the paper leaves open as in its one public configuration. tuned and extended: found by `make tune` on validation
accuracy, each row with a record of its search; extended is CGNN with options beyond the paper. They are in the folders
of the models, as [preset.dataset]. auto is in the store. A file of the user's own can be named too:

    [chameleon.gcn]            settings by their paths: train.layers = 2
    ["chameleon+undirected".gcn]       those on another form of the graph
    [chameleon.gcn.search]     validation accuracy, splits, number of configurations, and the command
"""

from __future__ import annotations

import functools
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.resources import settings_text
from cgnn_cli.solver_table import PAPER_RANK

FOUND = ("tuned", "extended")
PRESETS = ("paper", *FOUND)
AUTO = "auto"  # what `cgnn tune` chose: chosen.py
SEARCH = "search"
PAPER_WEIGHTS = {
    "rewire.method": "path",
    "dilap.form": "incidence",
    "commute.solver": "svd",
    "commute.rank": PAPER_RANK,
    "commute.proximity": "exp",
    "train.aggregation": "mean",
}
PUBLIC_CONFIGURATION = {  # of CGNN on chameleon
    "train.dropout": 0.0,
    "train.jumping_knowledge": "max",
    "train.l2_norm": True,
    "train.epochs": 10_000,
    "train.patience": 600,
}


@dataclass(frozen=True)
class Row:
    """The settings of a model on a dataset by their paths, and how they were found; a search writes out all of them."""

    settings: dict[str, Any]
    search: dict[str, Any] = field(default_factory=dict)


Rows = dict[tuple[str, str], Row]


def rows_of(name: str, models: Iterable[str] = MODELS) -> Rows:
    """All rows of a preset by dataset and model; of a preset that comes with cgnn those of some models only."""
    if name == "paper":
        own = {model: {**PAPER_WEIGHTS, **PUBLIC_CONFIGURATION} if uses_weights(model) else {} for model in models}
        printed = {dataset: benchmark.settings for dataset, benchmark in BENCHMARKS.items() if benchmark.settings}
        return {
            (dataset, model): Row({**own[model], **{f"train.{name}": value for name, value in row.items()}})
            for model in own
            for dataset, row in printed.items()
        }
    if name in FOUND:
        files = {model: packaged_file(model) for model in models}
        found = {model: read_rows(path) for model, path in files.items() if path.exists()}
        return {(dataset, model): row for model in found for (of, dataset), row in found[model].items() if of == name}
    if not name.endswith(".toml"):
        raise UsageError(f"unknown preset {name}", f"use {', '.join((*PRESETS, AUTO))}, or the name of a .toml file")
    return read_rows(Path(name))


def preset(name: str, dataset: str | None, model: str, form: str = "") -> Row:
    """The row of a preset for a model on a dataset; that for a form of it (`citeseer+undirected`), where it has one."""
    if dataset is None:
        raise UsageError("--preset needs a --dataset: its settings are those of a model on a dataset")
    own = rows_of(name, [model])
    if row := own.get((form, model)) or own.get((dataset, model)):
        return row
    rows = rows_of(name)
    models = [known for place, known in rows if place == dataset]
    datasets = [place for place, known in rows if known == model]
    there = f"on {dataset} it has {', '.join(models)}" if models else f"it has nothing for {dataset}"
    there += f"; {model} it has on {', '.join(datasets)}" if datasets else f" and nothing for {model}"
    raise UsageError(f"the preset {name} has no row for {model} on {dataset}", there)


def describe_models() -> list[dict[str, Any]]:
    """Each model of the table: where it comes from, what it takes, and the datasets that each preset has it for."""
    datasets = {name: list(rows_of(name)) for name in PRESETS}
    return [
        {
            "name": name,
            "title": model.title,
            "uses_weights": uses_weights(name),
            "operator": model.operator,
            "directions": list(model.directions),
            "paper": model.paper,
            "options": list(model.own_options()),
            "presets": {each: [place for place, of in known if of == name] for each, known in datasets.items()},
        }
        for name, model in MODELS.items()
    ]


def packaged_file(model: str) -> Path:
    """The rows of a model that come with it, beside its declaration."""
    return Path(str(sys.modules[MODELS[model].__module__].__file__)).with_name("presets.toml")


def read_rows(path: Path) -> Rows:
    """The rows of a file, by the two names of their headings."""
    try:
        stamp = path.stat()
        return dict(_parse(path.absolute(), stamp.st_mtime_ns, stamp.st_size))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the preset {path} cannot be read: {error}") from error


@functools.cache
def _parse(path: Path, *stamp: int) -> Rows:
    """The rows of a file as it is at one time, parsed once: an experiment asks for hundreds of rows."""
    rows = {}
    for first, tables in tomllib.loads(settings_text(path)).items():
        for second, sections in (tables if isinstance(tables, dict) else {"": tables}).items():
            if not isinstance(sections, dict) or not all(isinstance(part, dict) for part in sections.values()):
                raise UsageError(f"{path}: write a row as [dataset.model] with keys like train.layers")
            settings = {
                f"{section}.{key}": value
                for section, values in sections.items()
                if section != SEARCH
                for key, value in values.items()
            }
            rows[first, second] = Row(settings, sections.get(SEARCH, {}))
    return rows
