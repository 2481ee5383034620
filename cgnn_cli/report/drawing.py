"""All figures of one dataset, in the order of a page: what its runs have the data for, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cgnn_cli.report.labels import Label
from cgnn_cli.report.page import slug
from cgnn_cli.report.runs import Run, Runs
from cgnn_cli.report.style import Picture


def draw_dataset(
    start: str, dataset: str, runs: Sequence[Run], labels: dict[str, Label], source: Runs
) -> list[Picture]:
    """The figures of the runs on a dataset; their names begin with `start`."""
    return [picture for picture in _drawn(start, dataset, runs, labels, source) if picture is not None]


def _drawn(
    start: str, dataset: str, runs: Sequence[Run], labels: dict[str, Label], source: Runs
) -> Iterator[Picture | None]:
    from cgnn_cli.report.commute_figures import draw_histograms, draw_solvers
    from cgnn_cli.report.figures import draw_learning, draw_scores, draw_sensitivity, draw_time

    yield draw_scores(f"{start}-scores", dataset, runs, labels)
    histories = [(run, _histories(run, source)) for run in runs]
    yield draw_learning(f"{start}-learning", dataset, histories, labels)
    yield draw_time(f"{start}-time", dataset, runs, labels)
    yield _confusion(f"{start}-confusion", dataset, runs, labels, source)
    weighed = {run.made_from["commute"].key: run.made_from["commute"] for run in runs if "commute" in run.made_from}
    artifacts = [(source.options(header), source.content(header)) for header in weighed.values()]
    yield draw_histograms(f"{start}-commute", dataset, artifacts)
    graphs = dict.fromkeys(run.graph_key for run in runs)
    headers = [header for key in graphs for header in source.commute_headers(key)]
    yield draw_solvers(f"{start}-solvers", dataset, [(source.options(header), header) for header in headers])
    for model in dict.fromkeys(run.model for run in runs):
        members = [run for run in runs if run.model == model]
        yield draw_sensitivity(f"{start}-sensitivity-{slug(model)}", dataset, model, members)


def _histories(run: Run, source: Runs) -> list[dict[str, Any]]:
    """The history of each split's training."""
    train = run.made_from.get("train")
    if train is None:
        return []
    return [fit["history"] for fit in source.content(train).elements["fits"].values()]


def _confusion(name: str, dataset: str, runs: Sequence[Run], labels: dict[str, Label], source: Runs) -> Picture | None:
    """That of the run with the most splits, among those the one with the highest mean."""
    from cgnn_cli.report.figures import draw_confusion

    best = max(runs, key=lambda run: (len(run.splits), run.mean))
    graph = best.made_from.get("graph")
    if graph is None:
        return None
    classes = [word.decode() for word in source.content(graph).elements["class_names"].tolist()]
    confusion = source.content(best.header, best.path).elements["confusion"]
    return draw_confusion(name, f"{labels[best.key]} on {dataset}", confusion, classes, 100 * best.mean)
