"""`cgnn report`: tables, figures and one page from any set of runs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from cgnn_cli.commands.console import terminal_table
from cgnn_cli.commands.options import ORIGIN_HELP, OUTPUT_PANEL, argument, complete_artifact, option
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.sql_tables import Existing, ToSql, table_place
from cgnn_cli.configs import Metric
from cgnn_cli.errors import UsageError
from cgnn_cli.store.outputs import make_folder, write_output

FORMATS = ("html", "md", "tex", "csv", "json")
RUNS_HELP = "Evaluations: files, or beginnings of keys. Default: all of the store."
METRIC_HELP = "What runs are compared by. Default: what all of them were trained by, else accuracy."
FORMAT_HELP = "What to write: html, md, tex, csv, json; several with commas."


def register(app: typer.Typer) -> None:
    command(
        app,
        "report",
        report_runs,
        help="Tables, figures and one HTML page from evaluations: by default all of the store.",
        brief="Tables, figures and a page from runs.",
        example="cgnn report --format html,tex --output report",
        panel="Use the results",
    )


def report_runs(
    session: Session,
    runs: Annotated[list[str] | None, argument("RUNS", RUNS_HELP, complete_artifact)] = None,
    formats: Annotated[str, option("--format", FORMAT_HELP, metavar="LIST")] = "html",
    output: Annotated[Path, option("--output -o", "Folder to write to.", metavar="DIR")] = Path("report"),
    metric: Annotated[Metric | None, option("--metric", METRIC_HELP)] = None,
    with_origin: Annotated[bool, option("--with-origin", ORIGIN_HELP, OUTPUT_PANEL)] = False,
    title: Annotated[str, option("--title", "Heading of the page.")] = "Report",
    to_sql: ToSql = None,
    existing: Existing = None,
) -> Outcome:
    """Read the runs, make the tables and figures, and write what is asked for."""
    wanted = {name.strip() for name in formats.split(",")}
    if unknown := sorted(wanted - set(FORMATS)):
        raise UsageError(f"--format {unknown[0]!r} is not known", f"use {', '.join(FORMATS)}, several with commas")

    place = table_place(to_sql, existing)

    from cgnn_cli.commands.score_tables import score_columns
    from cgnn_cli.report.files import figure_files, report_files
    from cgnn_cli.report.scores import run_table

    session.talker.begins("reading the runs", passing=True)
    report = session.workspace.report(runs or (), with_origin=with_origin, metric=metric)
    make_folder(output)
    drawn = bool(wanted & {"html", "md", "tex"})
    if drawn and find_spec("matplotlib") is None:
        session.talker.note("no figures: matplotlib is not installed (pip install 'cgnn[plot]')")
    session.talker.begins("making tables and figures", passing=True)
    page = report.page(title, figures=drawn)
    files = report_files(report, page, wanted)
    if page.pictures:
        make_folder(output / "figures")
    for name, content in (figure_files(page, wanted) | files).items():
        write_output(output / name, content)
    written = [str(output / name) for name in files]
    summary = {
        "files": written,
        "figures": len(page.pictures),
        "runs": len(report.shown),
        "left_out": len(report.left_out()),
        "datasets": list(report.by_dataset()),
        "comparisons": sum(map(len, report.comparisons.values())),
    }
    outcome = Outcome.of("\n".join(written), summary)
    if place is not None:
        outcome.values["table"] = place.write(session, score_columns(report.shown))
    outcome.table = terminal_table(run_table(report.runs, report.labels))
    return outcome
