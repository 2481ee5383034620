"""What the paper printed, as plain facts: one row for each figure in its tables, read from paper_results.csv."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NAMES = {
    "cgnn": "CGNN",
    "dirgnn": "DirGNN",
    "gcn": "GCN",
    "gat": "GAT",
    "sage": "GraphSAGE",
    "appnp": "APPNP",
    "mixhop": "MixHop",
    "gprgnn": "GPRGNN",
    "gcnii": "GCNII",
    "dgcn": "DGCN",
    "digcn": "DiGCN",
    "magnet": "MagNet",
    "digcl": "DiGCL",
    "duplex": "DUPLEX",
}


@dataclass(frozen=True)
class PaperResult:
    """One printed figure. `value` is None where a word stands in its place, like OOM (out of memory), or nothing."""

    experiment: str
    model: str
    dataset: str
    setting: str
    metric: str
    value: float | None
    std: float | None
    word: str

    @classmethod
    def of(cls, row: dict[str, str]) -> PaperResult:
        value, std = _number(row["value"]), _number(row["std"])
        word = row["value"] if value is None else ""
        return cls(row["experiment"], row["model"], row["dataset"], row["setting"], row["metric"], value, std, word)

    @property
    def text(self) -> str:
        """The figure as the paper prints it."""
        if self.value is None:
            return self.word
        return f"{self.value:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@cache
def paper_results() -> tuple[PaperResult, ...]:
    """All printed figures, in the order of the paper."""
    text = (files("cgnn_cli.experiments") / "paper_results.csv").read_text(encoding="utf-8")
    return tuple(PaperResult.of(row) for row in csv.DictReader(text.splitlines()))


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
