"""`cgnn reproduce`: an experiment of the paper, or one beyond it, from the cached stages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cgnn_cli.commands.console import terminal_table
from cgnn_cli.commands.inspect import make_folder, write_output
from cgnn_cli.commands.options import COMPUTE_PANEL, INPUT_PANEL, OUTPUT_PANEL, complete_dataset, config_parameters
from cgnn_cli.commands.session import STOPPER, Outcome, Session, command
from cgnn_cli.errors import UsageError
from cgnn_cli.experiments.table import EXPERIMENTS, SMALL

LISTED = ", ".join(EXPERIMENTS)
MINUTES = (
    f"about: roughly, on two idle cores with --jobs 2, for those of the five small datasets ({', '.join(SMALL)}) that "
    "it takes. Larger datasets come on top."
)


def register(app: typer.Typer) -> None:
    command(
        app,
        "reproduce",
        extra=config_parameters("compute", "source"),
        help=f"Run an experiment of the paper, or one beyond it: {LISTED}.",
        short_help="Rerun the paper's experiments. [green]cgnn reproduce table1 --quick[/green]",
        epilog="Example: cgnn reproduce table1 --datasets chameleon,cora-ml --jobs 2 --max-minutes 30",
        rich_help_panel="Use the results",
    )(reproduce)


def complete_experiment(incomplete: str) -> list[str]:
    """Names of experiments, for the shell."""
    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def reproduce(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Experiment.", autocompletion=complete_experiment, show_default=False),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="What there is, what it needs, and about how long.")] = False,
    datasets: Annotated[
        str | None,
        typer.Option(
            "--datasets",
            metavar="LIST",
            help="Datasets, with commas. Default: the experiment's own.",
            autocompletion=complete_dataset,
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="LIST",
            help="Models or rows, with commas, where an experiment has several. Default: all of them.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits",
            min=1,
            help="The first so many splits. Default: all.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="The demo graph, 2 splits, 10 epochs of a narrow network.", rich_help_panel=INPUT_PANEL
        ),
    ] = False,
    max_minutes: Annotated[
        float | None,
        typer.Option(
            "--max-minutes",
            min=0,
            help="Begin nothing new after so long, only score what is trained; rerun to go on. Default: no limit.",
            show_default=False,
            rich_help_panel=COMPUTE_PANEL,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder to write to. Default: reproduction/NAME.",
            show_default=False,
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
) -> Outcome:
    """Do the experiment and write its page, tables and figures."""
    if list_all:
        return _list()
    if name is None or name not in EXPERIMENTS:
        said = "name an experiment" if name is None else f"unknown experiment {name!r}{_near(name)}"
        raise UsageError(said, f"`cgnn reproduce --list` shows them: {LISTED}")
    _check_use(name, models=models, splits=splits)
    folder = output or Path("reproduction", name)

    from cgnn_cli.experiments.lab import Asked
    from cgnn_cli.experiments.output import files_of

    asked = Asked(_parts("--datasets", datasets), _parts("--models", models), splits, quick, max_minutes)
    lab = _lab(session, asked)
    make_folder(folder)
    findings = EXPERIMENTS[name].run(lab)
    files = files_of(name, EXPERIMENTS[name], findings, asked)
    for file, content in files.items():
        make_folder((folder / file).parent)
        write_output(folder / file, content)
    summary = {"experiment": name, "cells": findings.counts(), "files": [str(folder / file) for file in files]}
    values = {"artifact": str(folder / "page.html"), "key": None, "cache": None, "summary": summary}
    first = findings.first_table()
    return Outcome(str(folder / "page.html"), values, terminal_table(first) if first else None)


def _lab(session: Session, asked: Any) -> Any:
    from cgnn_cli.experiments.lab import Lab

    _check_datasets(session, asked.datasets)
    runner = session.runner()
    return Lab(session.store, session.talker, asked, session.source_config(), runner.compute, STOPPER, session.talker)


def _check_use(name: str, *, models: str | None, splits: int | None) -> None:
    """Refuse an option that the experiment has no use for."""
    trains = EXPERIMENTS[name].trains
    if models and not EXPERIMENTS[name].has_rows:
        why = "it is about one model" if trains else "it trains nothing"
        raise UsageError(f"--models has no use in {name}: {why}", "leave it out")
    if splits and not trains:
        raise UsageError(f"--splits has no use in {name}: it trains nothing", "leave it out")


def _check_datasets(session: Session, names: tuple[str, ...]) -> None:
    """Refuse a name that is no dataset here, before anything is done."""
    known = session.datasets(dry_run=True).names()
    for name in names:
        if name not in known:
            raise UsageError(f"unknown dataset {name!r}", f"known here: {', '.join(known)}")


def _parts(option: str, text: str | None) -> tuple[str, ...]:
    """The names of a list with commas, each once."""
    if text is None:
        return ()
    if not (parts := dict.fromkeys(part.strip() for part in text.split(",") if part.strip())):
        raise UsageError(f"{option} {text!r} names nothing", "give names with commas, or leave it out")
    return tuple(parts)


def _near(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, EXPERIMENTS, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _list() -> Outcome:
    from rich import box
    from rich.table import Column, Table

    about = Column("about", justify="right")
    columns = ("name", "what it is", "in the paper", about, "needs")
    table = Table(*columns, box=box.SIMPLE_HEAD, caption=MINUTES, caption_justify="left")
    for name, each in EXPERIMENTS.items():
        table.add_row(name, each.title, each.where, f"{each.minutes} min", f"{each.needs}; {', '.join(each.datasets)}")
    rows = [
        {
            "name": name,
            "title": each.title,
            "where": each.where,
            "datasets": list(each.datasets),
            "needs": each.needs,
            "minutes": each.minutes,
        }
        for name, each in EXPERIMENTS.items()
    ]
    return Outcome(table, {"artifact": None, "key": None, "cache": None, "summary": {"experiments": rows}})
