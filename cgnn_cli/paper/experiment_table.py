"""The table of experiments: those of the paper in its order, then those beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from cgnn_cli.datasets.generated import MADE

if TYPE_CHECKING:
    from cgnn_cli.paper.findings import Findings
    from cgnn_cli.paper.lab import Lab

SMALL = ("squirrel", "chameleon", "citeseer", "cora-ml", "am-photo")
ALL = (*SMALL, "snap-patents", "roman-empire", "arxiv-year")
SYM = ("squirrel", "cora-ml", "am-photo")
RANK = ("am-photo", "snap-patents", "arxiv-year")
REWIRING = ("cora-ml", "citeseer", "chameleon", "roman-empire")
EFFICIENCY = ("squirrel", "am-photo")
SENSITIVITY = ("squirrel", "cora-ml")
OTHERS = ("texas", "wisconsin", "cornell", "chameleon-filtered", "squirrel-filtered", "cora", "film")
WHERE = (*MADE, *OTHERS, "cora-ml", "citeseer", "chameleon", "squirrel", "am-photo")  # what takes long comes last


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it is, where the paper has it, the datasets it takes, what it needs, and about how long.

    minutes: an estimate, from the seconds that trainings took, of a full run over those of the five small datasets that
    it takes, on two cores with --jobs 2.
    entry: the file of this folder and the function in it. has_rows: whether there are models to choose from.
    """

    title: str
    where: str
    datasets: tuple[str, ...]
    needs: str
    minutes: int
    entry: str
    has_rows: bool = False
    trains: bool = True

    def run(self, lab: Lab) -> Findings:
        """Do the experiment, as far as the lab's time reaches."""
        module, _, function = self.entry.partition(":")
        place = module if "." in module else f"cgnn_cli.paper.{module}"
        findings: Findings = getattr(import_module(place), function)(lab)
        return findings


EXPERIMENTS: dict[str, Experiment] = {
    "datasets": Experiment(
        "Statistics of the datasets", "Table of the datasets", ALL, "the graphs", 1, "dataset_figures:run", trains=False
    ),
    "table1": Experiment(
        "Models by datasets", "Table 1", ALL, "25 rows, 10 splits each", 200, "table1:run", has_rows=True
    ),
    "directed-undirected": Experiment(
        "Each model on both versions of the graph",
        "Tables A1 and A2",
        ALL,
        "15 models, 2 versions, 10 splits each",
        200,
        "directions:run",
        has_rows=True,
    ),
    "ppr": Experiment(
        "CGNN against CGNN_ppr, accuracy and time",
        "The table of CGNN_ppr",
        SMALL,
        "2 rows, 10 splits each",
        40,
        "cgnn_variants:run_ppr",
    ),
    "sym": Experiment(
        "CGNN against CGNN_sym", "The table of CGNN_sym", SYM, "2 rows, 10 splits each", 40, "cgnn_variants:run_sym"
    ),
    "rank": Experiment(
        "Rank of the truncated SVD",
        "The table of the rank q",
        RANK,
        "4 rows, 10 splits each",
        70,
        "cgnn_variants:run_rank",
    ),
    "rewiring-commute": Experiment(
        "Commute times before and after rewiring",
        "The table of rewiring and commute times",
        (*SMALL, "roman-empire"),
        "commute times of five walks; nothing is trained",
        10,
        "rewiring:run_commute",
        trains=False,
    ),
    "rewiring-density": Experiment(
        "Edges added by rewiring",
        "The table of rewiring and density",
        ALL,
        "rewired graphs; nothing is trained",
        1,
        "rewiring:run_density",
        trains=False,
    ),
    "label-similarity": Experiment(
        "Distances of edges and weights to the labels",
        "The figure of label similarity",
        SMALL,
        "commute times with 4 kinds of weights; nothing is trained",
        3,
        "label_distances:run",
        trains=False,
    ),
    "efficiency": Experiment(
        "Accuracy against running time",
        "The figure of efficiency",
        EFFICIENCY,
        "19 rows, 10 splits each; what table1 has trained is taken from there",
        110,
        "efficiency:run",
        has_rows=True,
    ),
    "sensitivity": Experiment(
        "Layers 1 to 5 and hidden 32 to 512",
        "The figure of sensitivity",
        SENSITIVITY,
        "10 settings of CGNN, 10 splits each",
        30,
        "sensitivity:run",
    ),
    "hyperparameters": Experiment(
        "The paper's search ranges, chosen on validation",
        "The table of hyper-parameters",
        SMALL,
        "150 settings of CGNN on 2 splits, then one on 10",
        350,
        "hyperparameters:run",
    ),
    "solvers": Experiment(
        "Accuracy against the error of the commute times",
        "Beyond the paper",
        SMALL,
        "7 solvers, 10 splits each",
        30,
        "solver_study:run",
    ),
    "proximity": Experiment(
        "Proximity and scale of the weights",
        "Beyond the paper",
        SMALL,
        "13 kinds of weights, 10 splits each",
        55,
        "proximities:run",
    ),
    "weights": Experiment(
        "Weights against no weights, split by split",
        "Beyond the paper",
        SMALL,
        "9 rows, 10 splits each; what table1 has trained is taken from there",
        75,
        "cgnn_variants:run_weights",
        has_rows=True,
    ),
    "ratios": Experiment(
        "Ratios of commute times and effective neighbours",
        "Beyond the paper",
        SMALL,
        "commute times; nothing is trained",
        3,
        "ratios:run",
        trains=False,
    ),
    "where": Experiment(
        "Where random walks help, and where they do not",
        "Beyond the paper",
        WHERE,
        "weights, encodings and labels by walks on 20 graphs with features and without, 10 splits each",
        180,
        "where:run",
    ),
}
