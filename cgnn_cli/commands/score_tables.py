"""What `train` and `eval` end with: the scores of the models, beside the base rate, and of each class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group
from rich.table import Table

from cgnn_cli.commands.console import figure, make_table
from cgnn_cli.commands.session import Outcome, Session
from cgnn_cli.configs import METRICS, metric_words
from cgnn_cli.datasets.registry import name_of
from cgnn_cli.execution.results import Run, Runs
from cgnn_cli.pipeline import Step
from cgnn_cli.report.run_names import name_runs
from cgnn_cli.report.scores import OF_CLASSES, class_rows
from cgnn_cli.report.table import counted, spread_text

MOST_CLASSES = 20
FORCE_HINT = (
    "an earlier version made these scores: `cgnn eval --force` adds base rate, AUC, average precision and curves"
)


def add_scores(session: Session, step: Step, outcome: Outcome) -> Outcome:
    """The outcome of `train` or `eval` with its table, for people."""
    summary, stage = outcome.values["summary"], step.stage.name
    if stage == "eval" and "metrics" not in summary:
        session.talker.note(FORCE_HINT)
    if session.as_json:
        return outcome
    graph = step.find("graph")
    name = (graph and name_of(session.store, graph.key)) or "graph"
    (label,) = name_runs([Runs(session.store).of(session.workspace.runner.obtain(step)[0])]).values()
    title = f"{name}: {label}, {{}} nodes of {counted(len(summary['splits']), 'split')}, in %"
    if stage == "train":
        outcome.table = Group(title.format("validation"), trained_table(summary))
    else:
        outcome.table = Group(title.format("test"), scored_table(summary), class_table(summary["per_class"]))
    return outcome


def _words(summary: dict[str, Any], metric: str) -> str:
    return metric_words(metric, summary.get("metric_class"))


def trained_table(summary: dict[str, Any]) -> Table:
    """What models reach on the validation nodes that they were chosen by."""
    table = make_table("", figure("validation", no_wrap=True), pad_edge=False)
    if "validation_score" in summary:
        table.add_row(_words(summary, summary["metric"]), spread_text(summary["validation_score"]))
    table.add_row("accuracy", spread_text(summary["validation_accuracy"]))
    if "base_rate" in summary:
        table.add_row(f"base rate of {METRICS[summary.get('metric', 'accuracy')]}", spread_text(summary["base_rate"]))
    for row in _decided(summary, "validation"):
        table.add_row(*row)
    epochs = summary["epochs"]
    if any(epochs):
        many = f"{min(epochs)} to {max(epochs)}" if min(epochs) < max(epochs) else str(epochs[0])
        table.add_row("epochs", many)
    return table


def _decided(summary: dict[str, Any], part: str) -> Iterator[tuple[str, str]]:
    """What was decided on the models, and what that reaches."""
    names = {"calibration_error_before": "calibration error before", "calibration_error": "calibration error"}
    for name, words in names.items():
        if name in summary:
            yield words, spread_text(summary[name])
    if "temperature" in summary:
        yield "temperature (no %)", spread_text(summary["temperature"], 1)
    if chosen := summary.get("threshold"):
        yield f"threshold of {chosen['class']}", spread_text(chosen["value"])
        yield "  its precision", spread_text(chosen[f"{part}_precision"])
        yield "  its recall", spread_text(chosen[f"{part}_recall"])


def scored_table(summary: dict[str, Any]) -> Table:
    """Every metric on the test nodes, what the models were chosen by first."""
    table = make_table("", *(figure(name, no_wrap=True) for name in ("test", "base rate")), pad_edge=False)
    chosen = summary.get("metric", "accuracy")
    found = summary.get("metrics") or {"accuracy": summary["test_accuracy"], "macro-f1": summary["macro_f1"]}
    for name in sorted(METRICS, key=lambda name: name != chosen):
        figures = found.get(name)
        base = figures.get("base_rate") if figures else None
        table.add_row(_words(summary, name), *(spread_text(values) for values in (figures, base)))
    for words, text in _decided(summary, "test"):
        table.add_row(words, text, "")
    return table


def class_table(per_class: dict[str, Any]) -> Table:
    """The scores of each class against the rest."""
    columns, rows = ("nodes", *OF_CLASSES.values()), class_rows(per_class)
    table = make_table("class", *(figure(name, no_wrap=True) for name in columns), rows=rows[:MOST_CLASSES])
    table.pad_edge = False
    if len(rows) > MOST_CLASSES:
        table.caption = f"the {MOST_CLASSES} largest of {len(rows)} classes; --json has all"
    return table


def score_columns(runs: Iterable[Run]) -> dict[str, list[Any]]:
    """The scores of runs as columns of a table: a row for each split and metric, so that runs of any kind fit."""
    rows = [
        (run.key, run.dataset, run.model, split, metric, value)
        for run in runs
        for metric, values in _scores_per_split(run).items()
        for split, value in zip(run.splits, values, strict=True)
        if value is not None
    ]
    names = ("key", "dataset", "model", "split", "metric", "score")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _scores_per_split(run: Run) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"accuracy": run.accuracies, "validation accuracy": run.validation_accuracies}
    others = (name for name in run.header.summary.get("metrics", {}) if name not in found)
    return found | {name: run.scores_in(name) for name in others}
