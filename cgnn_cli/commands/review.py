"""`cgnn review`: one page to work through the nodes that are likeliest of a class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgnn_cli.commands import options
from cgnn_cli.commands.finding import find_run, own_dataset, shown_name
from cgnn_cli.commands.options import OUTPUT_PANEL, option
from cgnn_cli.commands.output import check_output, said_of, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.store.outputs import write_output

COMPUTE_OPTIONS = [f"compute.{name}" for name in ("deterministic", "memory_limit", "threads", "device")]
CLASS_HELP = "The class to look for."
TOP_HELP = "Number of nodes: the likeliest of the class, those without a label first."
TRY_HELP = "Leave out at most this many neighbours of a node in turn, the heaviest first."


def register(app: typer.Typer) -> None:
    command(
        app,
        "review",
        review,
        help="One page to work through the likeliest nodes of a class: picture, reasons, and decisions to tick.",
        brief="A page to decide on the likeliest nodes of a class.",
        example="cgnn review --class fraud --top 50 --output review.html",
        panel="Use the results",
        common="--class --top --output --dataset --input --try --device --json",
        extra=options.config_parameters(*COMPUTE_OPTIONS, *options.DATASET_SECTIONS),
    )


def review(
    session: Session,
    about: Annotated[str, option("--class", CLASS_HELP, metavar="NAME")],
    top: Annotated[int, option("--top", TOP_HELP, min=1)] = 50,
    most: Annotated[int, option("--try", TRY_HELP, min=0)] = 20,
    output: Annotated[Path, option("--output -o", "The page, an HTML file.", OUTPUT_PANEL)] = Path("review.html"),
    dataset: options.Dataset = None,
    inputs: options.Input = None,
) -> Outcome:
    """Rank the nodes, give the reasons for each, and write the page."""
    check_output(session, output)
    trained = find_run(session, inputs)
    found = session.workspace.review(trained, about, top, most)
    from cgnn_cli.report.review_page import to_page

    name = shown_name(session, trained)
    page = to_page(found, name, trained.config.train.label, updated=own_dataset(session, trained))
    write_output(output, page.encode())
    ((header, _),) = session.workspace.obtain(trained)
    unlabelled = sum(reasons.label is None for reasons in found.nodes)
    summary = {"class": about, "nodes": len(found.nodes), "unlabelled": unlabelled, **standin_mark(header)}
    return Outcome.of(said_of(output), summary, artifact=output, key=trained.key)
