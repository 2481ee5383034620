"""The table of experiments: those of the paper in its order, then those beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cgnn_cli.experiments.findings import Findings
    from cgnn_cli.experiments.lab import Lab

SMALL = ("squirrel", "chameleon", "citeseer", "cora-ml", "am-photo")
ALL = (*SMALL, "snap-patents", "roman-empire", "arxiv-year")


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it is, where the paper has it, the datasets it takes, what it needs, and about how long.

    minutes: of a full run over the five small datasets or those of them that it takes, on two cores with --jobs 2.
    module: the file of this folder with its `run`.
    """

    title: str
    where: str
    datasets: tuple[str, ...]
    needs: str
    minutes: int
    module: str

    def run(self, lab: Lab) -> Findings:
        """Do the experiment, as far as the lab's time reaches."""
        findings: Findings = import_module(f"cgnn_cli.experiments.{self.module}").run(lab)
        return findings


EXPERIMENTS: dict[str, Experiment] = {
    "table1": Experiment("Models by datasets", "Table 1", ALL, "26 rows on 10 splits each", 600, "table1"),
}
