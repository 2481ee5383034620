"""What is compared with the paper, and with which of its figures: the one rule, for reports and experiments alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.execution.results import Run
from cgnn_cli.paper.printed import NAMES, find_result, printed_accuracy
from cgnn_cli.paper.remarks import PUBLISHED, SPLITS, remarks_on
from cgnn_cli.presets.lookup import PAPER_WEIGHTS
from cgnn_cli.report.beside import Beside, PaperResult
from cgnn_cli.solver_table import PAPER_RANK

WEIGHTS = {"walk": "directed"} | {
    path.partition(".")[2]: value
    for path, value in PAPER_WEIGHTS.items()
    if path != "commute.rank" and not path.startswith("train.")
}
ADDITIONS = (  # that no model of the paper has
    *("knn", "degree_features", "label_input", "label_walk"),
    *("metric", "class_weights", "target_precision", "target_recall"),
)


def has_figure(model: str, options: Mapping[str, Any]) -> bool:
    """Whether the paper can have a figure for a model with these options.

    It has none for options beyond it, which the extended CGNN takes, nor for the controls of CGNN's weights: all
    weights 1, and times of the Perron vector alone.
    """
    beyond = any(options.get(name) for name in ADDITIONS) or options.get("propagation", "layers") != "layers"
    beyond |= options.get("encoding", "none") not in ("none", "auto")
    control = options.get("solver") == "pi-only" or options.get("proximity") == "none"
    return model in NAMES and not beyond and not (model == "cgnn" and control)


def is_undirected(graph: Mapping[str, Any], direction: str) -> bool:
    """Whether a graph is seen without directions: symmetrised, or by a model that ignores them."""
    return bool(graph.get("undirected")) or direction == "undirected"


def beside_paper(run: Run) -> Beside | None:
    """A run beside the paper's figure for its model on its dataset; a stand-in is never compared."""
    dataset = run.graph_notes.get("dataset", run.dataset.split(",")[0])
    other = {"standin", "featureless"} & run.graph_notes.keys()
    if run.measured != "accuracy" or dataset not in BENCHMARKS or other or not has_figure(run.model, run.options):
        return None
    undirected = is_undirected(run.graph_notes, run.direction)
    result, notes = _printed(run, dataset, undirected)
    if result is None:
        return None
    return Beside(100 * run.mean, result, (*notes, *_differences(run, dataset, undirected)))


def _printed(run: Run, dataset: str, undirected: bool) -> tuple[PaperResult | None, list[str]]:
    """The figure of the variant that was run, or that of the paper's own with a note."""
    options = run.options
    own = printed_accuracy(run.model, dataset, undirected=undirected)
    if run.model != "cgnn":
        return own, []
    changed = [name for name, value in WEIGHTS.items() if options.get(name, value) != value]
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


def _differences(run: Run, dataset: str, undirected: bool) -> list[str]:
    """Reasons why a difference may say nothing about the method."""
    notes = [f"{len(run.splits)} of {run.split_count} splits"] if run.is_partial else []
    own = BENCHMARKS[dataset].protocols[0]
    protocol = run.graph_notes.get("protocol", own)
    remarks = remarks_on(dataset, run.model, undirected=undirected)
    if protocol != own:
        notes.append(f"{protocol} splits")
        remarks = tuple(remark for remark in remarks if remark not in (SPLITS, PUBLISHED))
    return [*notes, *remarks]
