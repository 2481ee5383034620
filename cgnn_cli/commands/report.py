"""`cgnn report`: tables, figures and one page from any set of runs."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgnn_cli.commands.console import terminal_table
from cgnn_cli.commands.inspect import make_folder, write_output
from cgnn_cli.commands.options import complete_artifact
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.errors import UpstreamError, UsageError

if TYPE_CHECKING:
    from cgnn_cli.report.content import Report
    from cgnn_cli.report.page import Page

FORMATS = ("html", "md", "tex", "csv", "json")


def register(app: typer.Typer) -> None:
    command(
        app,
        "report",
        help="Tables, figures and one HTML page from evaluations: by default all of the store.",
        short_help="Tables, figures and a page from runs. [green]cgnn report --output report[/green]",
        epilog="Example: cgnn report --format html,tex --output report",
        rich_help_panel="Use the results",
    )(report_runs)


def report_runs(
    session: Session,
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUNS",
            help="Evaluations: files, or beginnings of keys. Default: all of the store.",
            autocompletion=complete_artifact,
            show_default=False,
        ),
    ] = None,
    formats: Annotated[
        str,
        typer.Option("--format", metavar="LIST", help="What to write: html, md, tex, csv, json; several with commas."),
    ] = "html",
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write to.")] = Path("report"),
    title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "Report",
) -> Outcome:
    """Read the runs, make the tables and figures, and write what is asked for."""
    wanted = _formats(formats)

    from cgnn_cli.report.content import Report
    from cgnn_cli.report.runs import Runs
    from cgnn_cli.report.scores import score_table

    source = Runs(session.store)
    chosen = source.named(runs) if runs else source.all()
    if not chosen:
        raise UpstreamError(
            f"the store {session.store.root} has no evaluations to report",
            "run `cgnn run` first, or name another --store",
        )
    make_folder(output)
    report = Report(source, chosen)
    drawn = bool(wanted & {"html", "md", "tex"})
    if drawn and find_spec("matplotlib") is None:
        session.talker.note("no figures: matplotlib is not installed (pip install 'cgnn[plot]')")
    page = report.page(title, figures=drawn)
    written = _write(report, page, wanted, output)
    summary = {
        "files": [str(path) for path in written],
        "figures": len(page.pictures),
        "runs": len(report.shown),
        "left_out": len(report.left_out()),
        "datasets": list(report.by_dataset()),
        "comparisons": sum(map(len, report.comparisons.values())),
    }
    outcome = Outcome("\n".join(map(str, written)), {"artifact": None, "key": None, "cache": "hit", "summary": summary})
    outcome.table = terminal_table(score_table(report.runs, report.labels).to_table())
    return outcome


def _formats(text: str) -> set[str]:
    names = {name.strip() for name in text.split(",")}
    unknown = sorted(names - set(FORMATS))
    if unknown:
        raise UsageError(f"--format {unknown[0]!r} is not known", f"use {', '.join(FORMATS)}, several with commas")
    return names


def _write(report: Report, page: Page, wanted: set[str], folder: Path) -> list[Path]:
    """Write the files; those that were asked for are returned, in the order of FORMATS."""
    from cgnn_cli.report.page import page_to_latex, page_to_markdown, to_html

    contents: dict[str, str] = {}
    if "html" in wanted:
        contents["report.html"] = to_html(page)
    if "md" in wanted:
        contents["report.md"] = page_to_markdown(page)
    if "tex" in wanted:
        contents["report.tex"] = page_to_latex(page)
    if "csv" in wanted:
        contents |= _csv_files(report)
    if "json" in wanted:
        contents["report.json"] = json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n"
    if page.pictures:
        make_folder(folder / "figures")
    for picture in page.pictures:
        write_output(folder / "figures" / f"{picture.name}.svg", picture.svg)
        write_output(folder / "figures" / f"{picture.name}.png", picture.png)
    for name, text in contents.items():
        write_output(folder / name, text.encode("utf-8"))
    return [folder / name for name in contents]


def _csv_files(report: Report) -> dict[str, str]:
    """scores.csv: one row a run; splits.csv: one row a run and split; comparisons.csv: one row a pair of runs."""
    from cgnn_cli.report.records import to_csv

    values = report.to_json()
    splits = [
        {"key": row["key"], "dataset": row["dataset"], "model": row["model"], "split": split, "test_accuracy": accuracy}
        for row in values["scores"]
        for split, accuracy in zip(row["splits"], row["test_accuracy_per_split"], strict=True)
    ]
    left_out = ("splits", "test_accuracy_per_split", "made_from", "options")
    scores = [
        {
            **_flat({name: value for name, value in row.items() if name not in left_out}),
            "options": _json(row["options"]),
        }
        for row in values["scores"]
    ]
    return {
        "scores.csv": to_csv(scores),
        "splits.csv": to_csv(splits),
        "comparisons.csv": to_csv([_flat(row) for row in values["comparisons"]]),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Nested figures as columns: {"paper": {"value": 1}} is paper_value."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}_{part}": inner for part, inner in _flat(value).items()}
        else:
            flat[name] = "; ".join(map(str, value)) if isinstance(value, list) else value
    return flat
