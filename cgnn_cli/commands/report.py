"""`cgnn report`: tables, figures and one page from any set of runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgnn_cli.commands.inspect import write_output
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
    _make_folder(output)

    from cgnn_cli.report.content import Report
    from cgnn_cli.report.runs import Runs

    source = Runs(session.store)
    chosen = source.named(runs) if runs else source.all()
    if not chosen:
        raise UpstreamError(
            f"the store {session.store.root} has no evaluations to report",
            "run `cgnn run` first, or name another --store",
        )
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
    outcome.table = _score_table(report)
    return outcome


def _formats(text: str) -> set[str]:
    names = {name.strip() for name in text.split(",")}
    unknown = sorted(names - set(FORMATS))
    if unknown:
        raise UsageError(f"--format {unknown[0]!r} is not known", f"use {', '.join(FORMATS)}, several with commas")
    return names


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path}: {error.strerror}", "name another --output") from error


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
        _make_folder(folder / "figures")
    for picture in page.pictures:
        write_output(folder / "figures" / f"{picture.name}.svg", picture.svg)
        write_output(folder / "figures" / f"{picture.name}.png", picture.png)
    for name, text in contents.items():
        write_output(folder / name, text.encode("utf-8"))
    return [folder / name for name in contents]


def _csv_files(report: Report) -> dict[str, str]:
    """scores.csv: one row a run; splits.csv: one row a run and split; comparisons.csv: one row a pair of runs."""
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
        "scores.csv": _csv(scores),
        "splits.csv": _csv(splits),
        "comparisons.csv": _csv([_flat(row) for row in values["comparisons"]]),
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


def _csv(rows: Iterable[dict[str, Any]]) -> str:
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _score_table(report: Report) -> Any:
    """The table of scores for a terminal."""
    from rich import box
    from rich.table import Column
    from rich.table import Table as RichTable
    from rich.text import Text

    from cgnn_cli.report.scores import score_table

    table = score_table(report.runs, report.labels).to_table()
    columns = [
        Column(name, justify="left" if table.is_text(place) else "right") for place, name in enumerate(table.columns)
    ]
    shown = RichTable(*columns, title=table.caption, box=box.SIMPLE_HEAD)
    styles = {"best": "bold", "second": "underline", "missing": "dim"}
    for row in table.entries():
        shown.add_row(
            *(
                Text(entry.text + (f" ({entry.note})" if entry.note else ""), styles.get(entry.emphasis, ""))
                for entry in row
            )
        )
    return shown
