"""Presets: a full row of settings for a model on a dataset.

paper: the hyper-parameters that the CGNN paper prints for the dataset, for any model; for CGNN also its weights, and
what the paper leaves open as in its one public configuration. tuned and extended: found by `make tune` on validation
accuracy, in tuned.toml and extended.toml beside this file, each row with a record of its search; extended is CGNN
with options beyond the paper. A file of the same form can be named too.

    [chameleon.gcn]            settings by their paths: train.layers = 2
    [chameleon.gcn.search]     validation accuracy, splits, number of configurations, and the command
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgnn_cli.errors import UsageError

FOUND = ("tuned", "extended")
PRESETS = ("paper", *FOUND)
SEARCH = "search"
PAPER_WEIGHTS = {
    "rewire.method": "path",
    "dilap.form": "incidence",
    "commute.solver": "svd",
    "commute.rank": 5,
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
    """The settings of a model on a dataset by their paths, and how they were found."""

    settings: dict[str, Any]
    search: dict[str, Any] = field(default_factory=dict)


Rows = dict[tuple[str, str], Row]


def rows_of(name: str) -> Rows:
    """All rows of a preset by dataset and model."""
    if name == "paper":
        return dict(_paper_rows())
    if name not in FOUND and not name.endswith(".toml"):
        raise UsageError(f"unknown preset {name}", f"use {', '.join(PRESETS)}, or the name of a .toml file")
    return read_rows(packaged(name) if name in FOUND else Path(name))


def preset(name: str, dataset: str | None, model: str) -> dict[str, Any]:
    """The settings of a preset for a model on a dataset."""
    if dataset is None:
        raise UsageError("--preset needs a --dataset: its settings are those of a model on a dataset")
    rows = rows_of(name)
    if (dataset, model) in rows:
        return rows[dataset, model].settings
    models = [known for place, known in rows if place == dataset]
    datasets = [place for place, known in rows if known == model]
    there = f"on {dataset} it has {', '.join(models)}" if models else f"it has nothing for {dataset}"
    there += f"; {model} it has on {', '.join(datasets)}" if datasets else f" and nothing for {model}"
    raise UsageError(f"the preset {name} has no row for {model} on {dataset}", there)


def packaged(name: str) -> Path:
    """The file of a preset that comes with cgnn."""
    return Path(__file__).with_name(f"{name}.toml")


def read_rows(path: Path) -> Rows:
    """The rows of a file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the preset {path} cannot be read: {error}") from error
    return dict(_rows_in(content, path))


def _rows_in(content: dict[str, Any], path: Path) -> Iterator[tuple[tuple[str, str], Row]]:
    for dataset, models in content.items():
        for model, sections in (models if isinstance(models, dict) else {"": models}).items():
            if not isinstance(sections, dict) or not all(isinstance(part, dict) for part in sections.values()):
                raise UsageError(f"{path}: write a row as [dataset.model] with keys like train.layers")
            settings = {
                f"{section}.{key}": value
                for section, values in sections.items()
                if section != SEARCH
                for key, value in values.items()
            }
            yield (dataset, model), Row(settings, sections.get(SEARCH, {}))


def _paper_rows() -> Iterator[tuple[tuple[str, str], Row]]:
    from cgnn_cli.datasets.catalogue import BENCHMARKS
    from cgnn_cli.models.table import MODELS
    from cgnn_cli.operators.table import uses_weights

    for dataset, benchmark in BENCHMARKS.items():
        for model in MODELS if benchmark.settings else ():
            settings = {f"train.{name}": value for name, value in benchmark.settings.items()}
            own = {**PAPER_WEIGHTS, **PUBLIC_CONFIGURATION} if uses_weights(model) else {}
            yield (dataset, model), Row({**own, **settings})
