"""The stage commands: rewire, dilap, commute, train, eval."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import typer

from cgnn_cli.commands.options import (
    DatasetOption,
    DeviceOption,
    DryRunOption,
    ForceOption,
    FormatOption,
    InputOption,
    SplitOption,
    ThreadsOption,
    config_parameters,
    read_configs,
)
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import option_name
from cgnn_cli.datasets.registry import dataset_step, name_of
from cgnn_cli.errors import DataError, UpstreamError, UsageError
from cgnn_cli.pipeline import COMMANDS, STAGES, Machine, Step, plan
from cgnn_cli.runner import Runner, given_step, named_steps
from cgnn_cli.store import artifact as files

PREVIOUS = {"rewire": "graph", "dilap": "rewire", "commute": "dilap", "train": "commute", "eval": "train"}


def find_start(
    session: Session, target: str, dataset: str | None, inputs: list[Path] | None, *, dry_run: bool = False
) -> Step:
    """What a stage starts from: a dataset's graph, a named file, or the newest artifact of the stage before."""
    if dataset and inputs:
        raise UsageError("--dataset and --input name two different starting points", "give one of them")
    if dataset:
        return dataset_step(session.store, dataset, write_record=not dry_run)
    if inputs:
        return named_steps(session.store, inputs)[-1]
    previous = PREVIOUS[target]
    if previous == "graph":
        raise UsageError(f"{target} needs a --dataset", "`cgnn data list` shows them; `--dataset demo` always works")
    newest = session.store.latest(previous)
    if newest is None:
        raise UpstreamError(
            f"the store {session.store.root} has no {previous} artifact to go on from, and no --dataset was named",
            f"run `cgnn {previous} --dataset demo` first, or name a --dataset",
        )
    step = given_step(session.store, newest, {})
    session.talker.say(f"taking the newest {previous} artifact, {newest.key[:12]}{_dataset_of(session, step)}")
    return step


def _dataset_of(session: Session, step: Step) -> str:
    graph = step.find("graph")
    name = name_of(session.store, graph.key) if graph else None
    return f" (dataset {name})" if name else ""


def reject_fixed_options(start: Step, given: dict[str, list[str]]) -> None:
    """An option of a stage that the given artifact has already been through cannot take effect."""
    order = list(STAGES)
    for stage, names in given.items():
        if names and order.index(stage) <= order.index(start.stage.name):
            raise UsageError(
                f"{option_name(names[0])} belongs to {stage}, which {start.stage.name} {start.key[:12]} "
                "has already been through",
                "start from --dataset to choose it",
            )


def chosen_splits(runner: Runner, start: Step, target: str, splits: list[int] | None) -> Iterable[int]:
    """The splits to train on: those asked for, or all that the dataset has."""
    if target not in ("train", "eval") or start.stage.name == "train":
        if splits:
            raise UsageError("--split is for training; the given checkpoint has its splits already")
        return ()
    graph_step = start.find("graph")
    assert graph_step is not None
    count = runner.split_count(graph_step)
    if not count:
        raise DataError(
            "this dataset has no labels, so there is nothing to train on",
            "import it again with --labels; rewire, dilap and commute work without",
        )
    wrong = [split for split in splits or () if not 0 <= split < count]
    if wrong:
        raise UsageError(f"--split {wrong[0]}: this dataset has the splits 0 to {count - 1}")
    return sorted(set(splits)) if splits else range(count)


def make_plan(
    session: Session,
    runner: Runner,
    target: str,
    dataset: str | None,
    inputs: list[Path] | None,
    splits: list[int] | None,
    settings: dict[str, Any],
    *,
    dry_run: bool = False,
) -> Step:
    """From the options of a command to the step it asks for."""
    configs, given = read_configs(settings)
    start = find_start(session, target, dataset, inputs, dry_run=dry_run)
    if dataset is None:
        reject_fixed_options(start, given)
    return plan(target, start, configs, chosen_splits(runner, start, target, splits))


def deliver(session: Session, runner: Runner, step: Step, output_format: str) -> Outcome:
    """Obtain the artifact of a step and describe it."""
    header, hit = runner.obtain(step)
    for used in runner.obtained(step):
        session.store.remember_latest(used)
    path = step.file or session.store.path(header.stage, header.key)
    if output_format == "npz":
        path = write_npz_beside(path)
    outcome = Outcome.of_artifact(path, header, hit=hit)
    outcome.values["stages"] = session.talker.stages
    return outcome


def write_npz_beside(path: Path) -> Path:
    """The same artifact as a flat .npz beside the HDF5 file."""
    import io

    target = path.with_suffix(".npz")
    buffer = io.BytesIO()
    files.write_npz(buffer, files.read(path))
    files.write_atomically(target, buffer.getvalue())
    return target


def show_forecast(runner: Runner, step: Step) -> Outcome:
    """What `--dry-run` prints."""
    rows = runner.forecast(step)
    lines = [f"{row['stage']:<8} {row['key'][:12]}  {row['cache']}  {row.get('reason', '')}".rstrip() for row in rows]
    return Outcome(
        "\n".join(lines), {"artifact": None, "key": step.key, "cache": rows[-1]["cache"], "stages": rows, "summary": {}}
    )


HELP = {
    "rewire": (
        "Rewire a digraph so that its random walk is irreducible.",
        "cgnn rewire --dataset demo",
    ),
    "dilap": (
        "Transition matrix, Perron vector and digraph Laplacian of the rewired graph.",
        "cgnn dilap --dataset demo --form incidence",
    ),
    "commute": (
        "Hitting times, commute times and weights on the edges of the graph.",
        "cgnn commute --dataset demo --rank 5",
    ),
    "train": (
        "Train a model on every split; takes the newest commute artifact if no dataset is named.",
        "cgnn train --layers 2 --hidden 64",
    ),
    "eval": (
        "Score a trained model on the test nodes of its splits.",
        "cgnn eval --dataset demo --json",
    ),
}


def register(app: typer.Typer) -> None:
    """Add the five stage commands to the application."""
    for target in COMMANDS:
        _register_stage(app, target)


def _register_stage(app: typer.Typer, target: str) -> None:
    text, example = HELP[target]
    stages = COMMANDS[: COMMANDS.index(target) + 1]

    def graph_stage(
        session: Session,
        dataset: DatasetOption = None,
        inputs: InputOption = None,
        force: ForceOption = False,
        dry_run: DryRunOption = False,
        output_format: FormatOption = "h5",
        **settings: Any,
    ) -> Outcome:
        return run_stage(session, target, dataset, inputs, None, force, dry_run, output_format, Machine(), settings)

    def learning_stage(
        session: Session,
        dataset: DatasetOption = None,
        inputs: InputOption = None,
        split: SplitOption = None,
        device: DeviceOption = "auto",
        threads: ThreadsOption = 1,
        force: ForceOption = False,
        dry_run: DryRunOption = False,
        output_format: FormatOption = "h5",
        **settings: Any,
    ) -> Outcome:
        machine = Machine(device, threads)
        return run_stage(session, target, dataset, inputs, split, force, dry_run, output_format, machine, settings)

    function = learning_stage if target in ("train", "eval") else graph_stage
    command(
        app,
        target,
        extra=config_parameters(*stages),
        help=text,
        short_help=f"{text} [green]{example}[/green]",
        epilog=f"Example: {example}",
        rich_help_panel="Stages, in order",
    )(function)


def run_stage(
    session: Session,
    target: str,
    dataset: str | None,
    inputs: list[Path] | None,
    splits: list[int] | None,
    force: bool,
    dry_run: bool,
    output_format: Literal["h5", "npz"],
    machine: Machine,
    settings: dict[str, Any],
) -> Outcome:
    """One stage command."""
    forced = {target, "fit"} if target == "train" else {target}
    runner = Runner(session.store, session.talker, machine, frozenset(forced) if force else frozenset())
    step = make_plan(session, runner, target, dataset, inputs, splits, settings, dry_run=dry_run)
    return show_forecast(runner, step) if dry_run else deliver(session, runner, step, output_format)
