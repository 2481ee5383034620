"""`cgnn hitting`: expected steps to sets of nodes, which is met first, and the steps from a set to every node."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group

from cgnn_cli.commands import options
from cgnn_cli.commands.console import figure, make_table
from cgnn_cli.commands.options import COMPUTE_PANEL, INPUT_PANEL, OUTPUT_PANEL, option
from cgnn_cli.commands.output import check_output, said_of, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.starting import find_start, note_unread_options, show_forecast
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import plan, up_to
from cgnn_cli.store.outputs import is_standard_output, write_output

if TYPE_CHECKING:
    from cgnn_cli.analysis.node_sets import SetSteps

WORDS = "NODE|NAME=A,B"
TO_HELP = "Steps to these nodes: NODE or A,B; NAME=A,B for one of several sets. Repeat it for more."
FROM_HELP = "Steps from these nodes to every node instead, in the same form."
FILE_HELP = "The sets in a file with the columns node,set; node alone for one set."
PROBES_HELP = "--from: estimate with this many random probes. Default: exact up to 3,000 nodes, 64 probes beyond."
FILES = ".csv or .parquet file of all nodes. Default: the nearest ones, as a table."
Words = list[str] | None


def register(app: typer.Typer) -> None:
    compute = ("compute.memory_limit", "compute.threads")
    command(
        app,
        "hitting",
        hitting,
        help="Expected steps from every node to sets of nodes, and which of several sets is met first.",
        brief="Steps from every node to sets of nodes.",
        example="cgnn hitting --dataset demo --to 17 --output steps.csv",
        panel="Use the results",
        common="--to --to-file --from --from-file --dataset --output --top --method --walk --dry-run --json",
        extra=options.config_parameters(*compute, *up_to("dilap"), *options.DATASET_SECTIONS),
    )


def hitting(
    session: Session,
    to: Annotated[Words, option("--to", TO_HELP, INPUT_PANEL, metavar=WORDS)] = None,
    to_file: Annotated[Path | None, option("--to-file", FILE_HELP, INPUT_PANEL, metavar="FILE")] = None,
    start_from: Annotated[Words, option("--from", FROM_HELP, INPUT_PANEL, metavar=WORDS)] = None,
    from_file: Annotated[Path | None, option("--from-file", FILE_HELP, INPUT_PANEL, metavar="FILE")] = None,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    probes: Annotated[int | None, option("--probes", PROBES_HELP, COMPUTE_PANEL, min=2)] = None,
    seed: Annotated[int | None, option("--seed", "Seed of the probes.", COMPUTE_PANEL, min=0)] = None,
    dry_run: options.DryRun = False,
    output: Annotated[Path | None, option("--output -o", FILES, OUTPUT_PANEL)] = None,
    top: Annotated[
        int | None, option("--top", "Number of nodes in the table. Default: 20.", OUTPUT_PANEL, min=1)
    ] = None,
) -> Outcome:
    """Steps to or from sets of nodes, on the walk that dilap made."""
    there, back = bool(to or to_file), bool(start_from or from_file)
    if there == back:
        message = "--to and --from are two questions" if there else "hitting needs nodes: --to NODE, or --to-file FILE"
        raise UsageError(message, "ask one of them at a time" if there else "--from gives the steps from a set instead")
    if there and (probes is not None or seed is not None):
        raise UsageError("--probes and --seed are for --from; the steps to a set are solved for", "leave them out")
    if top is not None and output is not None:
        raise UsageError("--top is for the table, and --output writes all nodes", "leave one of them out")
    _check_kind(output)
    check_output(session, output)
    start = find_start(session, "commute", inputs, dry_run=dry_run)
    walk = start.find("dilap") or plan("dilap", start, options.stage_configs(session.settings), ())
    note_unread_options(session, walk)
    if dry_run:
        return show_forecast(session, walk)
    sets, notes = session.workspace.node_sets(walk, (to if there else start_from) or [], to_file or from_file)
    for note in notes:
        session.talker.note(note)
    space = session.workspace
    ((header, hit),) = space.obtain(walk)
    for used in walk.lineage:
        session.store.remember_latest(used.stage.name, used.key)
    found = space.steps_to(walk, sets) if there else space.steps_from(walk, sets, probes, seed or 0)
    for note in found.notes:
        session.talker.note(note)
    summary = {"direction": "to" if there else "from", **found.summary, **standin_mark(header)}
    named: dict[str, Any] = {"artifact": output, "key": header.key, "cache": "hit" if hit else "miss"}
    if output is None:
        rows = _rows(found, top or 20)
        shown = _text(found, rows)
        return Outcome.of(shown, {**summary, "nearest": rows}, **named, stages=session.talker.stages)
    from cgnn_cli.artifact_tables import write_table

    kind = "csv" if is_standard_output(output) else output.suffix.lower()[1:]
    write_output(output, write_table(found.columns(), kind))
    return Outcome.of(said_of(output), summary, **named, stages=session.talker.stages)


def _check_kind(output: Path | None) -> None:
    """The suffix of a file says what is written; standard output gets CSV."""
    if output is None or is_standard_output(output) or output.suffix.lower() in (".csv", ".parquet"):
        return
    message = f"--output {output}: steps are written as .csv or .parquet"
    raise UsageError(message, "give the file one of these endings")


def _rows(found: SetSteps, top: int) -> list[dict[str, Any]]:
    """The nearest nodes; what is not finite is null in JSON."""
    import numpy as np

    chosen = found.nearest(top)
    columns = {name: np.asarray(values)[chosen].tolist() for name, values in found.columns().items()}
    finite = {
        name: [None if isinstance(value, float) and not math.isfinite(value) else value for value in values]
        for name, values in columns.items()
    }
    return [dict(zip(finite, row, strict=True)) for row in zip(*finite.values(), strict=True)]


def _text(found: SetSteps, rows: list[dict[str, Any]]) -> Any:
    """The sets, and the nearest nodes."""
    figures = ("nodes", "in_walk", "mean", "median", "largest")
    sets = make_table("set", *(figure(name.replace("_", " ")) for name in figures))
    for row in found.summary["sets"]:
        sets.add_row(row["set"], *(_number(row[name]) for name in figures))
    nodes = make_table(*(name if name in ("id", "first") else figure(name) for name in found.columns()))
    for node in rows:
        nodes.add_row(*(value if isinstance(value, str) else _number(value) for value in node.values()))
    rest = len(found.ids) - sum(map(len, found.members)) - len(rows)
    more = [f"and {rest:,} more; --output writes all nodes"] if rest > 0 else []
    return Group(sets, "the nodes with the fewest steps, outside of the sets", nodes, *more)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
