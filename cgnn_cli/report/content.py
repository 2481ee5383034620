"""What stands in a report of runs: which tables and figures, in which order, with what words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from cgnn_cli import __version__
from cgnn_cli.report.comparisons import Comparison, compare_runs, comparison_table
from cgnn_cli.report.labels import Label, label_runs
from cgnn_cli.report.page import Block, Details, Page, Section, slug
from cgnn_cli.report.provenance import provenance_details, provenance_values
from cgnn_cli.report.runs import Run, Runs
from cgnn_cli.report.scores import paper_table, score_table, score_values, shown_runs, spread
from cgnn_cli.report.style import Picture

READING = (
    "Best is bold and second underlined in each column, among the cells with the most runs of that column. A cell with "
    "fewer runs than its dataset has splits says so (2 of 10), and a dash is a cell that was not run. Standard deviations "
    "are those of the population, over the splits."
)
PAIRED = (
    "Runs on the same splits are compared split by split. The t test takes the splits for independent; they share nodes, "
    "so its p values are somewhat too small. Sign flips are exact and assume only that a difference could as well have "
    "had the other sign: with n splits they cannot fall below 2 to the power of 1 - n."
)


@dataclass
class Report:
    """The runs of a report with their labels, and what is computed from them once."""

    source: Runs
    runs: Sequence[Run]
    labels: dict[str, Label] = field(init=False)
    shown: list[Run] = field(init=False)
    comparisons: dict[str, list[Comparison]] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = label_runs(self.runs)
        self.shown = shown_runs(self.runs, self.labels)
        self.comparisons = {name: compare_runs(members) for name, members in self.by_dataset().items()}

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
            "scores": [{**score_values(run, self.labels[run.key]), **provenance_values(run)} for run in self.shown],
            "comparisons": [each.to_json() for found in self.comparisons.values() for each in found],
            "left_out": [run.key for run in self.left_out()],
        }

    def page(self, title: str, *, figures: bool = True) -> Page:
        """The page; without `figures`, tables alone."""
        sections = [Section("Scores", [READING, score_table(self.runs, self.labels).to_table(), *self._left_out_note()])]
        if (table := paper_table(self.shown, self.labels)) is not None:
            sections.append(Section("Beside the paper", [table]))
        parts = [self._dataset_section(name, members, figures) for name, members in self.by_dataset().items()]
        opening = [PAIRED] if any(self.comparisons.values()) else []
        sections.append(Section("Datasets", opening, parts))
        details = [provenance_details(run, self.labels[run.key]) for run in self.shown]
        sections.append(Section("Provenance", ["Where every number comes from: open a run.", *details]))
        return Page(title, self._lead(), sections, f"Made by cgnn {__version__}.", self._tiles())

    def _tiles(self) -> list[tuple[str, str]]:
        models = {run.model for run in self.shown}
        seconds = sum(run.seconds or 0 for run in self.shown)
        compared = sum(map(len, self.comparisons.values()))
        return [
            (str(len(self.shown)), "run" if len(self.shown) == 1 else "runs"),
            (str(len(models)), "model" if len(models) == 1 else "models"),
            (str(len(self.by_dataset())), "dataset" if len(self.by_dataset()) == 1 else "datasets"),
            (str(compared), "paired comparison" if compared == 1 else "paired comparisons"),
            (f"{seconds:,.0f} s", "for one training of each"),
        ]

    def _lead(self) -> str:
        """The highest mean of each dataset in words."""
        said = []
        for name, members in self.by_dataset().items():
            most = max(len(run.splits) for run in members)
            best = max((run for run in members if len(run.splits) == most), key=lambda run: run.mean)
            figure = spread(100 * best.mean, 100 * best.std)
            said.append(f"on {name} {self.labels[best.key]} with {figure} % ({most} split{'s' if most > 1 else ''})")
        return "The highest mean test accuracy: " + "; ".join(said) + "."

    def _left_out_note(self) -> list[str]:
        keys = [run.key[:12] for run in self.left_out()]
        if not keys:
            return []
        were = "run is" if len(keys) == 1 else "runs are"
        return [f"{len(keys)} {were} not shown, because one with more splits or a newer one has the cell: {', '.join(keys)}."]

    def _dataset_section(self, name: str, runs: list[Run], figures: bool) -> Section:
        blocks: list[Block] = list(self._pictures(name, runs)) if figures and find_spec("matplotlib") else []
        if found := self.comparisons[name]:
            table = comparison_table(found, self.labels)
            blocks.insert(min(1, len(blocks)), table if len(found) <= 6 else Details(f"{len(found)} comparisons", [table]))
        return Section(name, blocks or ["There is one run, and nothing to draw or to compare."])

    def _pictures(self, name: str, runs: list[Run]) -> Iterator[Picture]:
        from cgnn_cli.report import commute_figures, figures

        place = list(self.by_dataset()).index(name) + 1
        start = f"{place}-{slug(name)}"
        weighed = {run.made_from["commute"].key: run.made_from["commute"] for run in runs if "commute" in run.made_from}
        solvers = [header for key in {run.graph_key: None for run in runs} for header in self.source.commute_headers(key)]
        histories = [(run, self._histories(run)) for run in runs]
        artifacts = [self.source.content(header) for header in weighed.values()]
        makers: list[Callable[[], Picture | None]] = [
            lambda: figures.draw_scores(f"{start}-scores", name, runs, self.labels),
            lambda: figures.draw_learning(f"{start}-learning", name, histories, self.labels),
            lambda: figures.draw_time(f"{start}-time", name, runs, self.labels),
            lambda: self._confusion(f"{start}-confusion", name, runs),
            lambda: commute_figures.draw_histograms(f"{start}-commute", name, artifacts),
            lambda: commute_figures.draw_solvers(f"{start}-solvers", name, solvers),
            *(self._sensitivity_maker(start, name, model, runs) for model in dict.fromkeys(run.model for run in runs)),
        ]
        yield from (picture for make in makers if (picture := make()))

    def _sensitivity_maker(self, start: str, name: str, model: str, runs: list[Run]) -> Callable[[], Picture | None]:
        from cgnn_cli.report.figures import draw_sensitivity

        members = [run for run in runs if run.model == model]
        return lambda: draw_sensitivity(f"{start}-sensitivity-{slug(model)}", name, model, members)

    def _histories(self, run: Run) -> list[dict[str, Any]]:
        train = run.made_from.get("train")
        if train is None:
            return []
        fits = self.source.content(train).elements["fits"]
        return [fit["history"] for fit in fits.values()]

    def _confusion(self, picture: str, name: str, runs: list[Run]) -> Picture | None:
        from cgnn_cli.report.figures import draw_confusion

        best = max(runs, key=lambda run: (len(run.splits), run.mean))
        graph = best.made_from.get("graph")
        if graph is None:
            return None
        classes = [word.decode() for word in self.source.content(graph).elements["class_names"].tolist()]
        confusion = self.source.content(best.header, best.path).elements["confusion"]
        return draw_confusion(picture, f"{self.labels[best.key]} on {name}", confusion, classes, 100 * best.mean)


