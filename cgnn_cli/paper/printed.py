"""What the paper printed, as plain facts: one row for each figure in its tables, read from paper_results.csv."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from cgnn_cli.models.model_table import MODELS
from cgnn_cli.report.beside import PaperResult


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@cache
def paper_results() -> tuple[PaperResult, ...]:
    """All printed figures, in the order of the paper."""
    text = (files("cgnn_cli.paper") / "paper_results.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        text, std = row.pop("value"), _number(row.pop("std"))
        value = _number(text)
        found.append(PaperResult(**row, value=value, std=std, word=text if value is None else ""))
    return tuple(found)


_PRINTED = {row.model for row in paper_results()}
NAMES = {name: model.label for name, model in MODELS.items() if model.label in _PRINTED}  # of the models in the paper


def find_result(
    experiment: str, model: str, dataset: str, *, setting: str | None = None, metric: str = "accuracy"
) -> PaperResult | None:
    """The printed figure of a model (by the paper's name) on a dataset, if there is one."""
    for row in paper_results():
        wanted = (row.experiment, row.model, row.dataset, row.metric) == (experiment, model, dataset, metric)
        if wanted and setting in (None, row.setting):
            return row
    return None


def printed_accuracy(model: str, dataset: str, *, undirected: bool) -> PaperResult | None:
    """The accuracy of a model (by the tool's name): of this version of the graph, or else of the better one."""
    name = NAMES.get(model)
    if name is None:
        return None
    setting = "undirected" if undirected else "directed"
    return find_result("directed-undirected", name, dataset, setting=setting) or find_result("table1", name, dataset)
