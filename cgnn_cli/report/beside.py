"""A run beside the paper's figure: which one it is to be compared with, and what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.experiments.paper import PaperResult, find_result, printed_accuracy
from cgnn_cli.experiments.remarks import PUBLISHED, SPLITS, remarks_on
from cgnn_cli.report.runs import Run

PAPER_WEIGHTS = {"method": "path", "walk": "directed", "form": "incidence", "solver": "svd", "proximity": "exp"}
PAPER_RANK = 5
ADDITIONS = {"knn": "similar nodes", "degree_features": "degree features", "label_input": "label input"}


@dataclass(frozen=True)
class Beside:
    """The paper's figure for a run, in per cent, and notes on what differs."""

    result: PaperResult
    difference: float | None
    within: bool | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "experiment": self.result.experiment,
            "setting": self.result.setting,
            "value": self.result.value,
            "std": self.result.std,
            "word": self.result.word,
            "difference": self.difference,
            "within_one_paper_std": self.within,
            "notes": list(self.notes),
        }


def beside_paper(run: Run) -> Beside | None:
    """The paper's figure where it has this model on this dataset; a stand-in is never compared."""
    dataset = _benchmark(run)
    if dataset is None or "standin" in run.graph_notes:
        return None
    result, notes = _printed(run, dataset)
    if result is None:
        return None
    notes = [*notes, *_differences(run, dataset)]
    if result.value is None:
        return Beside(result, None, None, tuple(notes))
    difference = 100 * run.mean - result.value
    within = None if result.std is None else abs(difference) <= result.std
    return Beside(result, difference, within, tuple(notes))


def _benchmark(run: Run) -> str | None:
    name = run.graph_notes.get("dataset", run.dataset.split(",")[0])
    return name if name in BENCHMARKS else None


def is_undirected(run: Run) -> bool:
    """Whether the run saw the graph without directions: symmetrised, or by a model that ignores them."""
    return bool(run.graph_notes.get("undirected")) or run.direction == "undirected"


def _printed(run: Run, dataset: str) -> tuple[PaperResult | None, list[str]]:
    """The figure of the variant that was run, or that of the paper's own with a note."""
    options = run.options
    if run.model != "cgnn":
        return printed_accuracy(run.model, dataset, undirected=is_undirected(run)), []
    own = printed_accuracy("cgnn", dataset, undirected=is_undirected(run))
    changed = [name for name, value in PAPER_WEIGHTS.items() if options.get(name, value) != value]
    if changed == ["method"] and options["method"] == "teleport":
        return find_result("ppr", "CGNN_ppr", dataset), []
    if changed == ["walk"]:
        return find_result("sym", "CGNN_sym", dataset), []
    rank = options.get("rank", PAPER_RANK)
    if not changed and rank != PAPER_RANK:
        ranked = find_result("rank", "CGNN", dataset, setting=f"q={rank}")
        return (ranked, []) if ranked else (own, [f"rank {rank}, the paper's is {PAPER_RANK}"])
    if options.get("scale", 1.0) != 1.0:
        changed.append("scale")
    return own, [f"not the paper's weights ({', '.join(changed)})"] if changed else []


def _differences(run: Run, dataset: str) -> list[str]:
    """Reasons why a difference may say nothing about the method."""
    notes = [f"with {words}" for name, words in ADDITIONS.items() if run.options.get(name)]
    if run.is_partial:
        notes.append(f"{len(run.splits)} of {run.split_count} splits")
    if run.options.get("propagation", "layers") != "layers":
        notes.append("another propagation than the paper's")
    own = BENCHMARKS[dataset].protocols[0]
    protocol = run.graph_notes.get("protocol", own)
    remarks = remarks_on(dataset, run.model, undirected=is_undirected(run))
    if protocol != own:
        notes.append(f"{protocol} splits")
        remarks = tuple(remark for remark in remarks if remark not in (SPLITS, PUBLISHED))
    return [*notes, *remarks]
