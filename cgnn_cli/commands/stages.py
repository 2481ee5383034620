"""The stage commands: rewire, dilap, commute, train, eval; and of commute, the times of chosen pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cgnn_cli.commands import options
from cgnn_cli.commands.console import figure
from cgnn_cli.commands.options import INPUT_PANEL, OUTPUT_PANEL, option
from cgnn_cli.commands.output import standin_mark
from cgnn_cli.commands.score_tables import add_scores, score_columns
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.sql_tables import Existing, TablePlace, ToSql, table_place
from cgnn_cli.commands.starting import deliver, find_start, make_plan, show_forecast
from cgnn_cli.errors import UsageError
from cgnn_cli.execution.results import Runs
from cgnn_cli.pipeline import COMMANDS, STAGES, Step, is_after, plan, up_to
from cgnn_cli.report.run_names import name_runs

TIMES = ("hitting", "hitting_back", "commute")
PAIRS_HELP = "Instead of the edges, exact times of the pairs in this file (source,target; your ids), as CSV."
PairsOption = Annotated[Path | None, option("--pairs", PAIRS_HELP, INPUT_PANEL, metavar="FILE")]
KEMENY_HELP = "Also Kemeny's constant: expected steps to a node drawn from pi; beyond 3,000 nodes with an error bar."
KemenyOption = Annotated[bool, option("--kemeny", KEMENY_HELP, OUTPUT_PANEL)]
TOP_HELP = "Also show this many edges with the shortest commute times."
TopOption = Annotated[int | None, option("--top", TOP_HELP, OUTPUT_PANEL, min=1)]


def register(app: typer.Typer) -> None:
    """Add the five stage commands to the application."""
    for name, stage in STAGES.items():
        if name in COMMANDS:
            command(
                app,
                name,
                _stage_command(name),
                help=stage.help,
                example=stage.example,
                common=stage.common,
                panel="Stages, in order",
                extra=options.config_parameters(*stage.compute_options, *up_to(name), *options.DATASET_SECTIONS),
            )


def _stage_command(target: str) -> Callable[..., Outcome]:
    """The function behind the command of a stage."""
    if target == "commute":
        return _commute_stage
    if target == "dilap":
        return _dilap_stage
    if target == "eval":
        return _eval_stage

    def graph_stage(
        session: Session,
        dataset: options.Dataset = None,
        inputs: options.Input = None,
        force: options.Force = False,
        dry_run: options.DryRun = False,
        output_format: options.Format = "h5",
    ) -> Outcome:
        session.configure(forced=(target,) if force else ())
        step = make_plan(session, target, inputs, None, dry_run=dry_run)
        return show_forecast(session, step) if dry_run else deliver(session, step, output_format)

    def learning_stage(
        session: Session,
        dataset: options.Dataset = None,
        inputs: options.Input = None,
        split: options.Split = None,
        restart: options.Restart = False,
        force: options.Force = False,
        dry_run: options.DryRun = False,
        output_format: options.Format = "h5",
    ) -> Outcome:
        session.configure(forced=(target, "fit") * force, restart=restart)
        step = make_plan(session, target, inputs, split, dry_run=dry_run)
        return show_forecast(session, step) if dry_run else _learned(session, step, output_format)

    return learning_stage if is_after(target, "fit") else graph_stage


def _learned(session: Session, step: Step, output_format: str, place: TablePlace | None = None) -> Outcome:
    """Obtain models or scores, tell who wants to hear of them, and show them."""
    outcome = deliver(session, step, output_format)
    ((header, _),) = session.workspace.obtain(step)
    run = Runs(session.store).of(header)
    session.workspace.track(name_runs([run]))
    if place is not None:
        outcome.values["table"] = place.write(session, score_columns([run]))
    return add_scores(session, step, outcome)


def _eval_stage(
    session: Session,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    split: options.Split = None,
    to_sql: ToSql = None,
    existing: Existing = None,
    restart: options.Restart = False,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    output_format: options.Format = "h5",
) -> Outcome:
    session.configure(forced=("eval",) if force else (), restart=restart)
    place = table_place(to_sql, existing)
    step = make_plan(session, "eval", inputs, split, dry_run=dry_run)
    return show_forecast(session, step) if dry_run else _learned(session, step, output_format, place)


def _commute_stage(
    session: Session,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    pairs: PairsOption = None,
    top: TopOption = None,
    restart: options.Restart = False,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    output_format: options.Format = "h5",
) -> Outcome:
    session.configure(forced=("commute",) if force else (), restart=restart)
    if pairs is not None:
        if session.settings.given_in("commute") or top is not None or output_format == "npz":
            raise UsageError(
                "--pairs are solved exactly and printed", "leave --top, --format and the options of commute out"
            )
        start = find_start(session, "commute", inputs, dry_run=dry_run)
        walk = start.find("dilap") or plan("dilap", start, options.stage_configs(session.settings), ())
        return show_forecast(session, walk) if dry_run else _show_pairs(session, walk, pairs)
    step = make_plan(session, "commute", inputs, None, dry_run=dry_run)
    if dry_run:
        return show_forecast(session, step)
    outcome = deliver(session, step, output_format)
    return outcome if top is None else _add_closest(session, step, outcome, top)


def _dilap_stage(
    session: Session,
    dataset: options.Dataset = None,
    inputs: options.Input = None,
    kemeny: KemenyOption = False,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    output_format: options.Format = "h5",
) -> Outcome:
    session.configure(forced=("dilap",) if force else ())
    step = make_plan(session, "dilap", inputs, None, dry_run=dry_run)
    if dry_run:
        return show_forecast(session, step)
    outcome = deliver(session, step, output_format)
    return _add_kemeny(session, step, outcome) if kemeny else outcome


def _show_pairs(session: Session, walk: Step, file: Path) -> Outcome:
    """Exact times of the pairs in a file, as CSV."""
    from cgnn_cli.artifact_tables import write_csv

    source, target, notes = session.workspace.read_pairs(walk, file)
    for note in notes:
        session.talker.note(note)
    ((header, hit),) = session.workspace.obtain(walk)
    found = session.workspace.pair_times(walk, source, target)
    ((header, hit),) = session.workspace.obtain(walk)
    if outside := sum(map(math.isnan, found.times)):
        session.talker.note(f"{outside:,} pairs are outside the walk and have no times")
    parts = (found.there, found.back, found.times)
    times = [[None if math.isnan(value) else float(value) for value in part] for part in parts]
    names = ("source", "target", *TIMES)
    rows = [dict(zip(names, row, strict=True)) for row in zip(source, target, *times, strict=True)]
    text = write_csv({"source": source, "target": target, **dict(zip(TIMES, times, strict=True))}).decode()
    summary = {"pairs": rows, "residual": found.residual, **standin_mark(header)}
    cache, stages = "hit" if hit else "miss", session.talker.stages
    return Outcome.of(text.rstrip("\n"), summary, key=header.key, cache=cache, stages=stages)


def _add_kemeny(session: Session, step: Step, outcome: Outcome) -> Outcome:
    """The outcome of a dilap stage, with Kemeny's constant of its walk."""
    found = session.workspace.fundamental(step)
    figures = {"constant": found.kemeny, "error": found.trace_error, "probes": found.probes}
    outcome.table = Table("Kemeny's constant", "standard error" if found.probes else "error", "probes")
    outcome.table.add_row(f"{found.kemeny:,.8g}", f"{found.trace_error:.2g}", f"{found.probes or 'none, exact'}")
    outcome.values["summary"] = {**outcome.values["summary"], "kemeny": figures}
    return outcome


def _add_closest(session: Session, step: Step, outcome: Outcome, count: int) -> Outcome:
    """The outcome of a commute stage, with the edges of the shortest commute times."""
    rows = session.workspace.closest_edges(step, count)
    table = Table("source", "target", *(figure(name.replace("_", " ")) for name in TIMES))
    table.title = "edges with the shortest commute times"
    for row in rows:
        table.add_row(row["source"], row["target"], *(f"{row[name]:.6g}" for name in TIMES))
    outcome.table = table
    outcome.values["summary"] = {**outcome.values["summary"], "closest": rows}
    return outcome
