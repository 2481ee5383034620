"""What stands in a report of runs: which tables and figures, in which order, with what words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cgnn_cli import __version__
from cgnn_cli.errors import UpstreamError
from cgnn_cli.execution.results import Run, Runs
from cgnn_cli.report.beside import Beside, Match
from cgnn_cli.report.comparisons import Comparison, compare_runs, comparison_table, split_ratios, uncompared
from cgnn_cli.report.figures import draw_dataset
from cgnn_cli.report.page import Block, Details, Page, Section, slug
from cgnn_cli.report.run_names import Label, label_runs
from cgnn_cli.report.scores import (
    class_table,
    metric_table,
    paper_table,
    run_table,
    score_values,
    shown_runs,
    winners,
    winners_words,
)
from cgnn_cli.report.sources import doubts, provenance_details, provenance_values
from cgnn_cli.report.style import can_draw
from cgnn_cli.report.table import counted, score_text

READING = (
    "Best is bold and second underlined in each column, among the cells with the most runs of that column. A cell with "
    "fewer runs than its dataset has splits says so (2 of 10), and a dash is a cell that was not run. Standard "
    "deviations are those of the population, over the splits."
)
PAIRED = (
    "Runs on the same splits are compared split by split. Splits share nodes, so the variance of the t test is "
    "corrected for that (Nadeau and Bengio, 2003), and Holm's correction is over all comparisons of the page. Sign "
    "flips stand beside it: they are exact and assume only that a difference could as well have had the other sign, "
    "but with n splits they cannot fall below 2 to the power of 1 - n."
)


MOST_OPEN = 10  # comparisons that are shown without being asked for


@dataclass
class Report:
    """The runs of a report with their labels, and what is computed from them once. `match` is told by the paper.

    metric: what the runs are compared by on the test nodes; by default what all of them were trained by, else accuracy.
    with_origin: whether it tells the paths in commands and of files, which say something of the machine and its user.
    """

    source: Runs
    runs: Sequence[Run]
    match: Match
    with_origin: bool = False
    metric: str | None = None
    labels: dict[str, Label] = field(init=False)
    shown: list[Run] = field(init=False)
    beside: dict[str, Beside] = field(init=False)
    comparisons: dict[str, list[Comparison]] = field(init=False)

    def __post_init__(self) -> None:
        lacking = [run for run in self.runs if self.metric and not is_measured(run, self.metric)]
        if lacking:
            raise UpstreamError(
                f"eval {lacking[0].key[:12]} has no {self.metric} on all of its splits",
                "0.1.0 knew accuracy alone: `cgnn eval --force` makes such scores again",
            )
        self.metric = self.metric or _common_metric(self.runs)
        self.runs = [replace(run, measured=self.metric) for run in self.runs]
        self.labels = label_runs(self.runs)
        self.shown = shown_runs(self.runs, self.labels)
        self.beside = {run.key: found for run in self.shown if (found := self.match(run))}
        self.comparisons = {name: [] for name in self.by_dataset()}
        for each in compare_runs(self.shown, split_ratios(self.source.store)):
            self.comparisons[each.first.dataset].append(each)

    def by_dataset(self) -> dict[str, list[Run]]:
        groups: dict[str, list[Run]] = {}
        for run in self.shown:
            groups.setdefault(run.dataset, []).append(run)
        return groups

    def left_out(self) -> list[Run]:
        """Runs whose cell is taken by one with more splits, or by a newer one."""
        shown = {run.key for run in self.shown}
        return [run for run in self.runs if run.key not in shown]

    def to_json(self) -> dict[str, Any]:
        """Everything, for other programs."""
        return {
            "scores": [
                score_values(run, self.labels[run.key], self.beside.get(run.key))
                | provenance_values(run, with_origin=self.with_origin)
                for run in self.shown
            ],
            "comparisons": [each.to_json() for found in self.comparisons.values() for each in found],
            "left_out": [run.key for run in self.left_out()],
        }

    def page(self, title: str, *, figures: bool = True) -> Page:
        """The page; without `figures`, tables alone."""
        scores: list[Block] = [READING, run_table(self.runs, self.labels)]
        if keys := [run.key[:12] for run in self.left_out()]:
            kept = f"{counted(len(keys), 'run')} left out, because one with more splits or a newer one has the cell"
            scores.append(f"{kept}: {', '.join(keys)}.")
        sections = [Section("Scores", scores)]
        if (table := paper_table(self.shown, self.labels, self.beside)) is not None:
            sections.append(Section("Beside the paper", [table]))
        parts = [self._dataset_section(name, members, figures) for name, members in self.by_dataset().items()]
        opening = [PAIRED] if any(self.comparisons.values()) else []
        sections.append(Section("Datasets", opening, parts))
        origin = self.with_origin
        details = [provenance_details(run, self.labels[run.key], with_origin=origin) for run in self.shown]
        sections.append(Section("Provenance", ["Where every number comes from: open a run.", *details]))
        uneven = any(len({len(run.splits) for run in members}) > 1 for members in self.by_dataset().values())
        models, compared = {run.model for run in self.shown}, sum(map(len, self.comparisons.values()))
        lead = (
            f"{counted(len(self.shown), 'run')} of {counted(len(models), 'model')} on "
            f"{counted(len(self.by_dataset()), 'dataset')}, with {counted(compared, 'paired comparison')}. "
            f"The highest mean {self.shown[0].measured_words} of each dataset"
            f"{', among its runs with the most splits' if uneven else ''}:"
        )
        return Page(title, lead, sections, f"Made by cgnn {__version__}.", self._tiles())

    def _tiles(self) -> list[tuple[str, str]]:
        """The highest mean of each dataset, among the runs with the most splits."""
        tiles = []
        for name, members in self.by_dataset().items():
            best, *others = winners(members)
            splits = counted(len(best.splits), "split")
            figure = score_text(best.mean, None if others else best.std)  # those that have tied have each their own
            tiles.append((f"{figure} %", f"{name}, {splits}: {winners_words(members, self.labels)}"))
        return tiles

    def _dataset_section(self, name: str, runs: list[Run], figures: bool) -> Section:
        blocks: list[Block] = []
        if figures and can_draw():
            place = list(self.by_dataset()).index(name) + 1  # names of datasets may differ in what a file name has not
            drawn = draw_dataset(f"{place}-{slug(name)}", name, runs, self.labels, self.source, self.beside)
            blocks += [picture for picture in drawn if picture is not None]
        if found := self.comparisons[name]:
            table = comparison_table(found, self.labels)
            shown = table if len(found) <= MOST_OPEN else Details(f"{len(found)} paired comparisons", [table])
            blocks.insert(min(1, len(blocks)), shown)
        best = winners(runs)[0]
        tables = [metric_table(runs, self.labels), class_table(best, self.labels[best.key])]
        blocks.append(Details("Every metric, and every class of the best run", tables))
        if words := uncompared(runs, self.labels):
            blocks.insert(min(2 if found else 1, len(blocks)), words)
        blocks += doubts(runs)
        return Section(name, blocks)


def _common_metric(runs: Sequence[Run]) -> str:
    """What all runs were trained by, where they agree and their scores have it; else accuracy, which all have."""
    metrics = {run.metric for run in runs}
    metric = metrics.pop() if len(metrics) == 1 else "accuracy"
    return metric if all(is_measured(run, metric) for run in runs) else "accuracy"


def is_measured(run: Run, metric: str) -> bool:
    """Whether a metric is known on every split of a run."""
    found = run.scores_in(metric)
    return bool(found) and None not in found
