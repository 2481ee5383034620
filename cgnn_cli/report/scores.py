"""Tables of scores: models by datasets, with mean, deviation and number of runs, the best marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cgnn_cli.configs import METRICS
from cgnn_cli.execution.results import Run
from cgnn_cli.report.beside import Beside, lines_beside
from cgnn_cli.report.run_names import Label, row_name
from cgnn_cli.report.table import DASH, Entry, Table, capital, counted, formatted, listed, score_text, spread_text

SPREAD = "mean ± population standard deviation over the splits, and in brackets their number"
EXACT = 9  # decimals of a mean in per cent: what differs beyond them is a tie
OF_CLASSES = {
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "auc": "AUC",
    "average_precision": "av. precision",
}
MISSING = Entry(DASH, "missing")
RowName = tuple[Entry | str, ...]


def score_table(
    heads: Sequence[str],
    columns: Sequence[str],
    scores: Mapping[tuple[RowName, str], tuple[Entry, Run]],
    unranked: Collection[str] = (),
) -> Table:
    """Entries by row and column, each with its run: best bold and second underlined in each column that is ranked.

    Only runs with the most splits of a column are compared. Each row is named by as many entries as there are `heads`,
    like a model and its direction; where it has nothing in a column, the table shows that it is missing.
    """
    rows: dict[RowName, list[Entry]] = {row: [] for row, _ in scores}
    for column in columns:
        there = {row: score for (row, place), score in scores.items() if place == column}
        rivals = _rivals([run for _, run in there.values()])
        ranked = {row: _exact_mean(run) for row, (_, run) in there.items() if run in rivals}
        means = sorted(set(ranked.values()), reverse=True)
        is_ranked = len(ranked) > 1 and column not in unranked
        marks = dict(zip(means, ("best", "second"), strict=False)) if is_ranked else {}
        for row, entries in rows.items():
            entry = there[row][0] if row in there else MISSING
            mark = marks.get(ranked[row], "") if row in ranked else entry.emphasis
            entries.append(dataclasses.replace(entry, emphasis=mark))
    table = [[*row, *entries] for row, entries in rows.items()]
    measured = next((run.measured_words for _, run in scores.values()), "test accuracy")
    many = any(len(run.splits) > 1 for _, run in scores.values())
    caption = f"{capital(measured)} in %" + (f": {SPREAD}" if many else ", and in brackets the number of splits")
    return Table(caption, [*heads, *columns], table, words=frozenset(range(1, len(heads))))


def _rivals(runs: Iterable[Run]) -> list[Run]:
    """The runs that are compared: those with the most splits."""
    scored = [run for run in runs if run.is_scored]
    most = max((len(run.scores) for run in scored), default=0)
    return [run for run in scored if len(run.scores) == most]


def _exact_mean(run: Run) -> float:
    return round(100 * run.mean, EXACT)


def winners(runs: Iterable[Run]) -> list[Run]:
    """The runs with the highest mean, among those with the most splits; several at a tie."""
    rivals = _rivals(runs)
    highest = max(map(_exact_mean, rivals), default=0.0)
    return [run for run in rivals if _exact_mean(run) == highest]


def winners_words(runs: Iterable[Run], labels: Mapping[str, Label]) -> str:
    """What the runs with the highest mean are called; several have tied."""
    names = [str(labels[run.key]) for run in winners(runs)]
    return f"tie of {listed(names)}" if len(names) > 1 else names[0]


def score_entry(run: Run, expected: int | None, *, standin: bool = False) -> Entry:
    """The score of a run with the number of splits, beside the number of those expected where some are missing."""
    done = len(run.splits)
    counted = f"{done} of {expected}" if expected is not None and done < expected else str(done)
    return Entry(score_text(run.mean, run.std), note=f"{counted}, stand-in" if standin else counted)


def run_table(runs: Sequence[Run], labels: dict[str, Label]) -> Table:
    """Models by datasets. Of runs that share a cell, the one with the most splits counts, then the newest."""
    shown = shown_runs(runs, labels)
    directions: dict[Label, list[str]] = {}
    for run in shown:
        directions.setdefault(labels[run.key], []).append(run.direction)
    names: dict[Label, RowName] = {
        label: (row_name(label), ", ".join(dict.fromkeys(found))) for label, found in directions.items()
    }
    best = {label: max(run.mean for run in shown if labels[run.key] == label) for label in directions}
    model_best = {label: max(best[other] for other in best if other.model == label.model) for label in best}
    scores: dict[tuple[RowName, str], tuple[Entry, Run]] = {}
    for run in sorted(
        shown, key=lambda run: (-model_best[labels[run.key]], -best[labels[run.key]], str(labels[run.key]))
    ):
        entry = score_entry(run, run.split_count, standin="standin" in run.graph_notes)
        scores[names[labels[run.key]], run.dataset] = (entry, run)
    return score_table(("model", "direction"), list(dict.fromkeys(run.dataset for run in shown)), scores)


def metric_table(runs: Sequence[Run], labels: dict[str, Label]) -> Table:
    """Every metric of the runs on a dataset, and the base rate of accuracy."""
    rows: list[list[Entry | str]] = []
    for run in sorted(runs, key=lambda run: -run.mean):
        told = run.header.summary
        known = {"accuracy": told["test_accuracy"], "macro-f1": told["macro_f1"], **told.get("metrics", {})}
        figures = [spread_text(known.get(name)) for name in METRICS]
        rows.append([row_name(labels[run.key]), *figures, spread_text(told.get("base_rate"))])
    caption = f"{runs[0].dataset}: every metric on the test nodes in %; base rate: always the most frequent class"
    return Table(caption, ("run", *METRICS.values(), "base rate"), rows)


def class_table(run: Run, label: Label) -> Table:
    """Each class of a run against the rest, the largest first."""
    caption = f"{run.dataset}: the classes of {label}, test nodes of {counted(len(run.splits), 'split')}, in %"
    return Table(caption, ("class", "nodes", *OF_CLASSES.values()), class_rows(run.header.summary.get("per_class", {})))


def class_rows(per_class: Mapping[str, Any]) -> list[list[str]]:
    """Name, number of nodes and scores of each class of a summary; 0.1.0 told no numbers of nodes."""
    nodes = {name: figures.get("support", {"mean": None})["mean"] for name, figures in per_class.items()}
    return [
        [name, formatted(nodes[name], ",.0f"), *(spread_text(per_class[name].get(part)) for part in OF_CLASSES)]
        for name in sorted(per_class, key=lambda name: -(nodes[name] or 0))
    ]


def shown_runs(runs: Sequence[Run], labels: dict[str, Label]) -> list[Run]:
    """One run for each cell, in the order of the datasets."""
    chosen: dict[tuple[str, Label], Run] = {}
    for run in runs:
        place = (run.dataset, labels[run.key])
        if place not in chosen or len(run.splits) >= len(chosen[place].splits):
            chosen[place] = run
    return sorted(chosen.values(), key=lambda run: run.dataset)


def paper_table(runs: Sequence[Run], labels: dict[str, Label], beside: Mapping[str, Beside]) -> Table | None:
    """Runs beside what the paper prints for their model and dataset; `beside` has it by the keys of the runs."""
    lines = []
    for run in runs:
        if (found := beside.get(run.key)) is not None:
            told = tuple(filter(None, (found.result.setting, *found.notes)))
            noted, here = dataclasses.replace(found, notes=told), score_entry(run, run.split_count)
            lines.append((row_name(labels[run.key]), run.dataset, here, noted))
    return lines_beside(("run", "dataset"), lines, "paper's setting; notes")


def score_values(run: Run, label: Label, beside: Beside | None = None) -> dict[str, Any]:
    """All that is known of a run's score, for other programs. Accuracies are shares, as in the artifacts."""
    return {
        "key": run.key,
        "dataset": run.dataset,
        "model": run.model,
        "setting": label.setting,
        "direction": run.direction,
        "test_accuracy": run.header.summary["test_accuracy"],
        "validation_accuracy": run.header.summary["validation_accuracy"],
        "macro_f1": run.header.summary["macro_f1"],
        "splits": run.splits,
        "test_accuracy_per_split": run.accuracies,
        "metric": run.measured,
        "score_per_split": run.scores,
        "metrics": run.header.summary.get("metrics"),
        "per_class": run.header.summary.get("per_class"),
        "splits_of_dataset": run.split_count,
        "partial": run.is_partial,
        "standin": run.graph_notes.get("standin"),
        "seconds": run.seconds,
        "options": run.options,
        "paper": beside.to_json() if beside else None,
    }
