"""`cgnn reproduce`: an experiment of the paper, or one beyond it, from the cached stages."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from cgnn_cli.commands.console import figure, make_table, terminal_table
from cgnn_cli.commands.options import (
    COMPUTE_PANEL,
    INPUT_PANEL,
    ORIGIN_HELP,
    OUTPUT_PANEL,
    argument,
    complete_dataset,
    completion,
    config_parameters,
    option,
)
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.errors import UsageError
from cgnn_cli.paper.experiment_table import EXPERIMENTS, SMALL
from cgnn_cli.store.outputs import make_folder, write_output

LISTED = ", ".join(EXPERIMENTS)
MINUTES = (
    f"about: roughly, on two idle cores with --jobs 2, for those of the five small datasets ({', '.join(SMALL)}) that "
    "it takes. Larger datasets come on top."
)
LIST_HELP = "What there is, what it needs, and about how long."
DATASETS_HELP = "Datasets, with commas. Default: the experiment's own."
DatasetsOption = Annotated[
    str | None, option("--datasets", DATASETS_HELP, INPUT_PANEL, metavar="LIST", autocompletion=complete_dataset)
]
MODELS_HELP = "Models or rows, with commas, where an experiment has several. Default: all of them."
SPLITS_HELP = "Number of splits, from the first on. Default: all."
QUICK_HELP = "The demo graph, 2 splits, 10 epochs of a narrow network."
MINUTES_HELP = "Begin nothing new after this time, only score what is trained; rerun to go on. Default: no limit."
OUTPUT_HELP = "Folder to write to. Default: reproduction/NAME."


def register(app: typer.Typer) -> None:
    command(
        app,
        "reproduce",
        reproduce,
        help=f"Run an experiment of the paper, or one beyond it: {LISTED}.",
        brief="Rerun the paper's experiments.",
        example="cgnn reproduce table1 --datasets chameleon --max-minutes 30",
        panel="Use the results",
        common="--list --quick --datasets --models --splits --max-minutes --jobs --mirror --output",
        extra=config_parameters("compute", "source"),
    )


def reproduce(
    session: Session,
    name: Annotated[str | None, argument("NAME", "Experiment.", completion(lambda: EXPERIMENTS))] = None,
    list_all: Annotated[bool, option("--list", LIST_HELP)] = False,
    datasets: DatasetsOption = None,
    models: Annotated[str | None, option("--models", MODELS_HELP, INPUT_PANEL, metavar="LIST")] = None,
    splits: Annotated[int | None, option("--splits", SPLITS_HELP, INPUT_PANEL, min=1)] = None,
    quick: Annotated[bool, option("--quick", QUICK_HELP, INPUT_PANEL)] = False,
    max_minutes: Annotated[float | None, option("--max-minutes", MINUTES_HELP, COMPUTE_PANEL, min=0)] = None,
    with_origin: Annotated[bool, option("--with-origin", ORIGIN_HELP, OUTPUT_PANEL)] = False,
    output: Annotated[Path | None, option("--output -o", OUTPUT_HELP, OUTPUT_PANEL, metavar="DIR")] = None,
) -> Outcome:
    """Do the experiment and write its page, tables and figures."""
    if list_all:
        return _list()
    if name is None or name not in EXPERIMENTS:
        near = get_close_matches(name or "", EXPERIMENTS, n=1)
        mean = f"; did you mean {near[0]}?" if near else ""
        said = "name an experiment" if name is None else f"unknown experiment {name!r}{mean}"
        raise UsageError(said, f"`cgnn reproduce --list` shows them: {LISTED}")
    _check_use(name, models=models, splits=splits)
    folder = output or Path("reproduction", name)

    from cgnn_cli.paper.findings import files_of
    from cgnn_cli.paper.lab import Lab, Request

    names, rows = _parts("--datasets", datasets), _parts("--models", models)
    request = Request(names, rows, splits, quick, max_minutes, with_origin)
    known = session.workspace.datasets(dry_run=True).names()
    if unknown := [dataset for dataset in request.datasets if dataset not in known]:
        raise UsageError(f"unknown dataset {unknown[0]!r}", f"known here: {', '.join(known)}")
    lab = Lab(session.workspace.scheduler, request)
    make_folder(folder)
    findings = EXPERIMENTS[name].run(lab)
    files = files_of(name, EXPERIMENTS[name], findings, request)
    for file, content in files.items():
        make_folder((folder / file).parent)
        write_output(folder / file, content)
    summary = {"experiment": name, "cells": findings.counts(), "files": [str(folder / file) for file in files]}
    page, first = folder / "page.html", findings.first_table()
    outcome = Outcome.of(str(page), summary, artifact=page, cache=None)
    outcome.table = terminal_table(first) if first else None
    return outcome


def _check_use(name: str, *, models: str | None, splits: int | None) -> None:
    """Refuse an option that the experiment has no use for."""
    trains = EXPERIMENTS[name].trains
    if models and not EXPERIMENTS[name].has_rows:
        why = "it is about one model" if trains else "it trains nothing"
        raise UsageError(f"--models has no use in {name}: {why}", "leave it out")
    if splits and not trains:
        raise UsageError(f"--splits has no use in {name}: it trains nothing", "leave it out")


def _parts(option: str, text: str | None) -> tuple[str, ...]:
    """The names of a list with commas, each once."""
    if text is None:
        return ()
    if not (parts := dict.fromkeys(part.strip() for part in text.split(",") if part.strip())):
        raise UsageError(f"{option} {text!r} names nothing", "give names with commas, or leave it out")
    return tuple(parts)


def _list() -> Outcome:
    columns = ("name", "what it is", "in the paper", figure("about"), "needs")
    table = make_table(*columns, caption=MINUTES, caption_justify="left")
    for name, each in EXPERIMENTS.items():
        table.add_row(name, each.title, each.where, f"{each.minutes} min", f"{each.needs}; {', '.join(each.datasets)}")
    rows = [
        {"name": name, "title": each.title, "where": each.where}
        | {"datasets": list(each.datasets), "needs": each.needs, "minutes": each.minutes}
        for name, each in EXPERIMENTS.items()
    ]
    return Outcome.of(table, {"experiments": rows}, cache=None)
