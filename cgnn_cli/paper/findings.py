"""What an experiment found: sections of a page, one record for each cell for other programs, and both as files."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgnn_cli import __version__
from cgnn_cli.execution.results import Run
from cgnn_cli.paper.cells import Cell, failures, origins
from cgnn_cli.paper.experiment_table import Experiment
from cgnn_cli.paper.lab import NO_TIME, Evidence, Lab, Request
from cgnn_cli.paper.rows import joined_title
from cgnn_cli.report.files import figure_files, page_files, to_csv, to_json
from cgnn_cli.report.page import Block, Details, Page, Section
from cgnn_cli.report.run_names import Label
from cgnn_cli.report.table import Table, counted

QUICK = "This was a quick run, with few epochs of a narrow network: its figures only show that everything works."
UNTRAINED = "This was a quick run: it takes the demonstration graph, unless other datasets are named."
MARKS = "A cell with fewer runs than the protocol has says so (2 of 10); failed cells and those not run say that."
COMPARISON = "comparison"  # in the place of a column, in a record of two cells
PartBlocks = Callable[[list[Cell]], Sequence[Block | None]]  # of the cells of one dataset


@dataclass
class Findings:
    """Sections in the order of the page; records, a row of the CSV file each; the number of cells by their status."""

    sections: list[Section] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    def add(self, title: str, blocks: Iterable[Block | None], parts: Sequence[Section] = ()) -> None:
        """A section of the blocks that there are, if there are any."""
        if (found := [block for block in blocks if block is not None]) or parts:
            self.sections.append(Section(title, found, parts))

    def add_parts(self, lab: Lab, title: str, opening: str, cells: Sequence[Cell], blocks: PartBlocks) -> None:
        """A section with a part for each dataset: the blocks that are made of its cells, as far as there are any."""
        parts = []
        for dataset in dict.fromkeys(each.dataset for each in cells):
            found = blocks([each for each in cells if each.dataset == dataset])
            parts.append(Section(lab.shown(dataset), [block for block in found if block is not None]))
        self.add(title, [opening], parts)

    def add_sources(self, lab: Lab) -> None:
        """Why some figures are missing, each reason once, and the artifacts that the others were taken from."""
        missing = [record for record in self.records if record["status"] != "done"]
        reasons = ((row["dataset"], row["status"], row["message"] or NO_TIME) for row in missing)
        rows = [list(row) for row in dict.fromkeys(reasons)]
        if rows:
            self.add("What is missing", [Table("Why", ("dataset", "status", "why"), rows, 2, prose=frozenset({2}))])
        rows = []
        for key, (dataset, header) in lab.obtained.items():
            version = str(header.provenance.get("versions", {}).get("cgnn", "not recorded"))
            rows.append([lab.shown(dataset), header.stage, key, f"{header.seconds:,.2f}", version])
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


def source_of(lab: Lab, dataset: str, *obtained: Evidence) -> dict[str, Any]:
    """What a record says of the artifacts behind it: whether of a stand-in, their keys, or why one is missing."""
    missing = next((each for each in obtained if each.data is None), Evidence())
    return {
        "standin": lab.is_standin(dataset),
        "status": missing.status,
        "message": missing.message,
        "keys": [each.header.key for each in obtained if each.header],
    }


def runs_of(lab: Lab, cells: Iterable[Cell]) -> dict[str, tuple[Run, list[Cell]]]:
    """The runs of cells by key, each with its cells: rows whose settings are equal on a dataset are one run."""
    found: dict[str, tuple[Run, list[Cell]]] = {}
    for each in cells:
        if each.run.is_scored:
            run = dataclasses.replace(each.run, dataset=lab.shown(each.dataset))
            found.setdefault(run.key, (run, []))[1].append(each)
    return found


def labels_of(runs: dict[str, tuple[Run, list[Cell]]]) -> dict[str, Label]:
    """What to call each run: the titles of all its rows."""
    return {key: Label(joined_title(each.row for each in cells), "") for key, (_, cells) in runs.items()}


def record_all(findings: Findings, cells: Sequence[Cell]) -> None:
    """Add the records of cells, why some of them are missing, and where each comes from."""
    findings.records += [each.to_json() for each in cells]
    if (table := failures(cells)) is not None:
        findings.add("What failed", [table])
    if count := sum(each.status == "not run" for each in cells):
        findings.add("What was not run", [f"{counted(count, 'cell')}: {NO_TIME}. The same command goes on from here."])
    if cells:
        title = f"Settings and artifacts of {counted(len(cells), 'cell')}"
        findings.add("Provenance", [Details(title, [origins(cells)])])


def files_of(name: str, experiment: Experiment, findings: Findings, request: Request) -> dict[str, bytes]:
    """A page in HTML, Markdown and LaTeX, the records as CSV and JSON, and the figures, by names within a folder."""
    counts = ", ".join(f"{count} {status}" for status, count in findings.counts().items())
    quick = (QUICK if experiment.trains else UNTRAINED) if request.quick else ""
    lead = filter(None, (f"{experiment.where}.", f"Cells: {counts or 'none'}.", MARKS, quick))
    page = Page(experiment.title, " ".join(lead), findings.sections, f"Made by cgnn {__version__}.")
    values = {"experiment": name, "title": experiment.title, "where": experiment.where, "quick": request.quick}
    results = {
        "results.csv": to_csv(findings.records).encode(),
        "results.json": to_json({**values, "results": findings.records}),
    }
    return page_files(page, "page") | results | figure_files(page)
