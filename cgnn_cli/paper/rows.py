"""The rows of the experiments: each model with its settings on a dataset, and CGNN's controls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cgnn_cli.analysis.weight_kinds import NO_WEIGHTS
from cgnn_cli.configs import CLOSENESS, CommuteConfig, GraphConfig, TrainConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.paper.cells import Cell
from cgnn_cli.paper.matching import has_figure, is_undirected
from cgnn_cli.paper.remarks import remarks_on
from cgnn_cli.presets.lookup import PUBLIC_CONFIGURATION, rows_of
from cgnn_cli.report.beside import PaperResult
from cgnn_cli.settings import Settings

SHORTER = {"train.epochs": 1000, "train.patience": 100}  # than the preset paper, for all rows alike
PI_ONLY = {"commute.solver": "pi-only"}
PLAIN_EXTENDED = {
    "train.propagation": "ppr",
    "train.direction": "undirected",
    "commute.solver": "series",
    "commute.steps": 4,
    "commute.proximity": "inverse",
    "commute.scale": "4",
}

PLAIN: dict[str, tuple[dict[str, Any], str]] = {  # what stands for a preset where it has no row, beside the defaults
    "paper": ({**PUBLIC_CONFIGURATION, **SHORTER}, " with the paper's public configuration"),
    "extended": (PLAIN_EXTENDED, " with PageRank propagation"),
}


@dataclass(frozen=True)
class Row:
    """A row of a table: a model with the settings of a preset for the dataset.

    `control` is that of the row's weights: `none` has all weights 1, `pi-only` times from the Perron vector alone.
    """

    title: str
    model: str
    preset: str = "tuned"
    control: str = ""

    def on(
        self,
        dataset: str,
        settings: dict[str, Any] | None = None,
        *,
        title: str = "",
        column: str = "",
        origin: str = "",
        printed: PaperResult | None = None,
        notes: Sequence[str] = (),
    ) -> Cell:
        """The cell of the row on a dataset: with its own settings there, or with those given in their place.

        A preset that has no row for the dataset gives way to the paper's, or to the defaults. The paper's figure is
        left out where the rule says that it has none for these settings.
        """
        own, found, said = self._settings(dataset)
        chosen, origin = own if settings is None else settings, origin or found
        fallback = () if origin == f"{self.preset} preset" else (origin,)
        given = Settings.of(chosen, "a row")
        form, train = given.config("graph"), given.config("train")
        assert isinstance(form, GraphConfig) and isinstance(train, TrainConfig)
        undirected = is_undirected(form.to_dict(), train.resolved_direction)
        noted = (*fallback, *said, *notes, *remarks_on(dataset, self.model, undirected=undirected))
        options = {path.partition(".")[2]: value for path, value in chosen.items()}
        shown = printed if has_figure(self.model, options) else None
        return Cell(title or self.title, column or dataset, dataset, chosen, origin, shown, noted)

    def _settings(self, dataset: str) -> tuple[dict[str, Any], str, tuple[str, ...]]:
        """The settings on a dataset, where they come from, and what to say about them."""
        settings, origin = _preset(self.preset, dataset, self.model)
        settings = {**settings, "train.model": self.model}
        if self.control == "none":
            return _changed(settings, NO_WEIGHTS), origin, ()
        proximity = settings.get("commute.proximity")
        if self.control == "pi-only" and proximity in ("ratio", *CLOSENESS):
            lack = "gives --proximity ratio equal weights"
            if proximity != "ratio":
                lack = f"has no weights of its own with --proximity {proximity}"
            note = f"pi-only {lack}, so this is the run without weights"
            return _changed(settings, NO_WEIGHTS), origin, (note,)
        if self.control == "pi-only" and _has_unit(settings):
            note = "pi-only gives steps, the SVD scores without a unit: --scale row-mean in the place of a number"
            return _changed(settings, {**PI_ONLY, "commute.scale": "row-mean"}), origin, (note,)
        return (_changed(settings, PI_ONLY) if self.control == "pi-only" else settings), origin, ()


def _has_unit(settings: dict[str, Any]) -> bool:
    """Whether weights of the SVD's scores depend on their unit; with steps they would drop all neighbours but one."""
    config = Settings.of(settings, "a row").config("commute")
    assert isinstance(config, CommuteConfig)
    return config.solver == "svd" and config.proximity == "exp" and isinstance(config.scale_value(), float)


def _changed(settings: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
    """Settings with other weights; a tolerance would choose the steps of a series."""
    return {path: value for path, value in settings.items() if path != "commute.tolerance"} | weights


def _preset(name: str, dataset: str, model: str) -> tuple[dict[str, Any], str]:
    """The row of a preset for a dataset, or what stands for it, with its origin in words."""
    place = dataset.removesuffix("-filtered")  # the filtered version has the settings of the whole graph
    missing = ""
    for preset in dict.fromkeys((name, "paper" if name != "extended" else name)):
        if found := rows_of(preset).get((place, model)):
            shorter = SHORTER if preset == "paper" else {}
            return {**found.settings, **shorter}, f"{preset} preset{missing}"
        missing = f" (no {name} row for {dataset})"
    plain, said = PLAIN.get(name, ({}, ""))
    return dict(plain), f"defaults{said}{missing}"


ROWS: dict[str, Row] = {
    **{name: Row(model.label, name) for name, model in MODELS.items() if name != "cgnn" and model.learns},
    "cgnn": Row("CGNN", "cgnn"),
    "cgnn-none": Row("CGNN, no weights", "cgnn", control="none"),
    "cgnn-pi": Row("CGNN, pi-only", "cgnn", control="pi-only"),
    "cgnn-paper": Row("CGNN (paper's settings)", "cgnn", "paper"),
    "cgnn-paper-none": Row("CGNN (paper's settings), no weights", "cgnn", "paper", control="none"),
    "cgnn-paper-pi": Row("CGNN (paper's settings), pi-only", "cgnn", "paper", control="pi-only"),
    "cgnn-extended": Row("CGNN (extended)", "cgnn", "extended"),
    "cgnn-extended-none": Row("CGNN (extended), no weights", "cgnn", "extended", control="none"),
    "cgnn-extended-pi": Row("CGNN (extended), pi-only", "cgnn", "extended", control="pi-only"),
}


def joined_title(titles: Iterable[str]) -> str:
    """The titles of rows that are one and the same run: `CGNN, no weights (= pi-only)`."""
    first, *others = dict.fromkeys(titles)
    start = f"{first.rpartition(', ')[0]}, "
    return f"{first} (= {', '.join(other.removeprefix(start) for other in others)})" if others else first


def chosen_rows(usual: Iterable[str], wanted: Iterable[str] = ()) -> dict[str, Row]:
    """The rows of an experiment that are asked for: by their own name, or by a model with all its rows."""
    usual, wanted = list(usual), list(wanted)
    if not wanted:
        return {name: ROWS[name] for name in usual}
    models = {ROWS[name].model for name in usual}
    for name in wanted:
        if name not in ROWS:
            raise UsageError(f"unknown model {name!r}", f"use {', '.join(ROWS)}")
        if name == ROWS[name].model and name not in models:
            raise UsageError(f"{name!r} is no row of this experiment", f"it has {', '.join(usual)}")
    found = {name: ROWS[name] for name in usual if name in wanted or ROWS[name].model in wanted}
    return found | {name: ROWS[name] for name in wanted if name not in found and name != ROWS[name].model}
