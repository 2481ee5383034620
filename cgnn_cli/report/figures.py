"""All figures of one dataset, in the order of a page: what its runs have the data for, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cgnn_cli.execution.results import Run, Runs
from cgnn_cli.report.beside import Beside
from cgnn_cli.report.commute_figures import draw_histograms, draw_solvers
from cgnn_cli.report.curve_figures import draw_precision_recall, draw_reliability
from cgnn_cli.report.page import slug
from cgnn_cli.report.run_names import Label
from cgnn_cli.report.score_figures import draw_confusion, draw_learning, draw_scores, draw_sensitivity, draw_time
from cgnn_cli.report.scores import winners
from cgnn_cli.report.style import Picture


def draw_dataset(
    start: str, dataset: str, runs: Sequence[Run], labels: dict[str, Label], source: Runs, beside: Mapping[str, Beside]
) -> Iterator[Picture | None]:
    """The figures of the runs on a dataset, None for one without data. Their names begin with `start`.

    beside: the paper's figures by the keys of the runs.
    """
    yield draw_scores(f"{start}-scores", dataset, runs, labels, {key: each.result for key, each in beside.items()})
    trained = [(run, run.made_from.get("train")) for run in runs]
    fits = [(run, source.content(train).elements["fits"].values() if train else ()) for run, train in trained]
    histories = [(run, [fit["history"] for fit in found]) for run, found in fits]
    yield draw_learning(f"{start}-learning", dataset, histories, labels)
    yield draw_time(f"{start}-time", dataset, runs, labels)
    best = winners(runs)[0]
    if (graph := best.made_from.get("graph")) is not None:
        classes = [word.decode() for word in source.content(graph).elements["class_names"].tolist()]
        found = source.content(best.header, best.path).elements
        title, confusion = f"{labels[best.key]} on {dataset}", found["confusion"]
        right = float(confusion.trace(axis1=1, axis2=2).sum() / confusion.sum())
        yield draw_confusion(f"{start}-confusion", title, confusion, classes, 100 * right)
        if "curve" in found:  # 0.1.0 wrote none
            support, focus = confusion.sum(axis=2), best.trained.get("metric_class")
            yield draw_precision_recall(f"{start}-precision-recall", title, found["curve"], support, classes, focus)
            yield draw_reliability(f"{start}-reliability", title, found["reliability"], found.get("reliability_before"))
    weighed = {run.made_from["commute"].key: run.made_from["commute"] for run in runs if "commute" in run.made_from}
    artifacts = [(source.options(header), source.content(header)) for header in weighed.values()]
    yield draw_histograms(f"{start}-commute", dataset, artifacts)
    graphs = dict.fromkeys(run.graph_key for run in runs)
    headers = [header for key in graphs for header in source.commute_headers(key)]
    yield draw_solvers(f"{start}-solvers", dataset, [(source.options(header), header) for header in headers])
    for model in dict.fromkeys(run.model for run in runs):
        members = [run for run in runs if run.model == model]
        yield draw_sensitivity(f"{start}-sensitivity-{slug(model)}", dataset, model, members)
