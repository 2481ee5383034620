"""What an experiment found: sections of a page, and one record for each cell for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli.configs import GraphConfig, TrainConfig
from cgnn_cli.experiments.cells import QUICK, STANDIN, Measured, failures, origins
from cgnn_cli.experiments.lab import NO_TIME, Lab, Obtained
from cgnn_cli.experiments.paper import PaperResult
from cgnn_cli.experiments.remarks import remarks_on
from cgnn_cli.experiments.rows import Chosen, Row, joined_title
from cgnn_cli.models.table import direction_of
from cgnn_cli.report.labels import Label
from cgnn_cli.report.page import Block, Details, Section
from cgnn_cli.report.runs import Run
from cgnn_cli.report.table import Table, counted
from cgnn_cli.settings import Settings
from cgnn_cli.store.artifact import Header
from cgnn_cli.trials import Trial, TrialResult

COMPARISON = "comparison"  # in the place of a column, in a record of two cells


@dataclass
class Findings:
    """Sections in the order of the page; records, a row of the CSV file each; the number of cells by their status."""

    sections: list[Section] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    def add(self, title: str, blocks: Iterable[Block | None], parts: Sequence[Section] = ()) -> None:
        """A section of the blocks that there are, if there are any."""
        if (found := [block for block in blocks if block is not None]) or parts:
            self.sections.append(Section(title, found, parts))

    def add_missing(self) -> None:
        """Why some figures are missing, each reason once."""
        missing = [record for record in self.records if record["status"] != "done"]
        reasons = ((row["dataset"], row["status"], row["message"] or NO_TIME) for row in missing)
        rows = [list(row) for row in dict.fromkeys(reasons)]
        if rows:
            self.add("What is missing", [Table("Why", ("dataset", "status", "why"), rows, 2, prose=frozenset({2}))])

    def add_artifacts(self, lab: Lab) -> None:
        """The artifacts that the figures were taken from."""
        rows = [
            [lab.shown(dataset), header.stage, key, f"{header.seconds:,.2f}", _version(header)]
            for key, (dataset, header) in lab.obtained.items()
        ]
        columns = ("dataset", "stage", "key", "seconds", "by cgnn")
        table = Table("`cgnn show KEY` tells all about an artifact", columns, rows, heads=2, words=frozenset({2, 4}))
        if rows:
            self.add("Provenance", [Details(f"Artifacts behind the figures: {len(rows)}", [table])])

    def first_table(self) -> Table | None:
        """The table that says most, for a terminal."""
        blocks = [block for section in self.sections for part in (section, *section.parts) for block in part.blocks]
        return next((block for block in blocks if isinstance(block, Table)), None)

    def counts(self) -> dict[str, int]:
        """How many cells there are of each status; comparisons of two cells are none."""
        cells = (record for record in self.records if record.get("column") != COMPARISON)
        return dict(Counter(str(record.get("status", "done")) for record in cells))


def _version(header: Header) -> str:
    return str(header.provenance.get("versions", {}).get("cgnn", "not recorded"))


def source_of(lab: Lab, dataset: str, *obtained: Obtained) -> dict[str, Any]:
    """What a record says of the artifacts behind it: whether of a stand-in, their keys, or why one is missing."""
    missing = next((each for each in obtained if each.data is None), Obtained())
    return {
        "standin": lab.is_standin(dataset),
        "status": missing.status,
        "message": missing.message,
        "keys": [each.header.key for each in obtained if each.header],
    }


@dataclass(frozen=True)
class Planned:
    """A trial of an experiment with its place in the table, and the paper's figure for it."""

    trial: Trial
    row: str
    column: str
    printed: PaperResult | None = None
    notes: tuple[str, ...] = ()
    origin: str = ""


def planned(
    lab: Lab,
    row: Row,
    dataset: str,
    chosen: Chosen,
    *,
    column: str = "",
    title: str = "",
    printed: PaperResult | None = None,
    notes: Sequence[str] = (),
) -> Planned:
    """A row on a dataset, by default in the dataset's column."""
    title, column = title or row.title, column or dataset
    trial = lab.trial(f"{title} | {dataset} | {column}", dataset, chosen.settings)
    fallback = () if chosen.origin == f"{row.preset} preset" else (chosen.origin,)
    said = (*fallback, *chosen.notes, *notes, *remarks_on(dataset, row.model, undirected=_is_undirected(chosen)))
    return Planned(trial, title, column, printed, said, chosen.origin)


def _is_undirected(chosen: Chosen) -> bool:
    """Whether the graph is seen without directions: symmetrised, or by a model that ignores them."""
    settings = Settings.of(chosen.settings, "a row")
    form, train = settings.config("graph"), settings.config("train")
    assert isinstance(form, GraphConfig) and isinstance(train, TrainConfig)
    return form.undirected or direction_of(train) == "undirected"


def measure(lab: Lab, plans: Sequence[Planned]) -> list[Measured]:
    """Train what is planned, and put each result into its place."""
    results = lab.train([plan.trial for plan in plans])
    return [_measured(lab, plan, results[plan.trial.name]) for plan in plans]


def _measured(lab: Lab, plan: Planned, result: TrialResult) -> Measured:
    standin = lab.is_standin(plan.trial.dataset)
    quick = lab.asked.quick and plan.printed is not None
    notes = (*plan.notes, *((STANDIN,) if standin else ()), *((QUICK,) if quick else ()))
    comparable = not standin and not lab.asked.quick
    expected = lab.split_count(plan.trial.dataset, plan.trial.settings)
    return Measured(plan.row, plan.column, result, expected, plan.printed, notes, comparable, plan.origin, standin)


def runs_of(lab: Lab, measured: Iterable[Measured]) -> dict[str, tuple[Run, list[Measured]]]:
    """The runs of cells by key, each with its cells: rows whose settings are equal on a dataset are one run."""
    measured = list(measured)
    runs = lab.runs([each.result for each in measured])
    found: dict[str, tuple[Run, list[Measured]]] = {}
    for each in measured:
        if (run := runs.get(each.result.trial.name)) is not None:
            found.setdefault(run.key, (run, []))[1].append(each)
    return found


def labels_of(runs: dict[str, tuple[Run, list[Measured]]]) -> dict[str, Label]:
    """What to call each run: the titles of all its rows."""
    return {key: Label(joined_title(each.row for each in cells), "") for key, (_, cells) in runs.items()}


def record_all(findings: Findings, measured: Sequence[Measured]) -> None:
    """Add the records of cells, why some of them are missing, and where each comes from."""
    findings.records += [each.to_json() for each in measured]
    if (table := failures(measured)) is not None:
        findings.add("What failed", [table])
    if count := sum(each.status == "not run" for each in measured):
        findings.add("What was not run", [f"{counted(count, 'cell')}: {NO_TIME}. The same command goes on from here."])
    if measured:
        title = f"Settings and artifacts of {counted(len(measured), 'cell')}"
        findings.add("Provenance", [Details(title, [origins(measured)])])
