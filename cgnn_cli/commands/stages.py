"""The stage commands: rewire, dilap, commute, train, eval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from cgnn_cli.commands.options import (
    DATASET_SECTIONS,
    DatasetOption,
    DryRunOption,
    ForceOption,
    FormatOption,
    InputOption,
    RestartOption,
    SplitOption,
    config_parameters,
    stage_configs,
)
from cgnn_cli.commands.pairs import PairsOption, TopOption, times_of_pairs, walk_for_pairs, with_closest
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import CONFIGS, option_name
from cgnn_cli.datasets.registry import name_of
from cgnn_cli.errors import DataError, UpstreamError, UsageError
from cgnn_cli.pipeline import COMMANDS, STAGES, Step, plan
from cgnn_cli.runner import Runner, given_step, named_steps
from cgnn_cli.settings import Settings
from cgnn_cli.store import artifact as files
from cgnn_cli.store.disk import write_atomically

COMPUTE_OPTIONS = {
    "rewire": ("compute.memory_limit",),
    "dilap": ("compute.memory_limit",),
    "commute": ("compute.snapshot_seconds", "compute.threads", "compute.memory_limit"),
}
PREVIOUS = {"rewire": "graph", "dilap": "rewire", "commute": "dilap", "train": "commute", "eval": "train"}


def find_start(session: Session, target: str, inputs: list[Path] | None, *, dry_run: bool = False) -> Step:
    """What a stage starts from: a named file, a dataset's graph, or the newest artifact of the stage before."""
    dataset = session.settings.value("dataset")
    if inputs:
        if "dataset" in session.settings.given:
            raise UsageError("--dataset and --input name two different starting points", "give one of them")
        if session.settings.preset:
            raise UsageError("--preset is for a --dataset, and --input was given", "leave one of them out")
        return named_steps(session.store, inputs)[-1]
    if dataset:
        return session.datasets(dry_run=dry_run).step(dataset, session.graph_config())
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


def reject_fixed_options(start: Step, settings: Settings) -> None:
    """An option of a stage that the given artifact has already been through cannot take effect."""
    order = list(STAGES)
    for stage in CONFIGS if start.make is not None else ("graph", *CONFIGS):
        names = settings.given_in(stage)
        if names and order.index(stage) <= order.index(start.stage.name):
            raise UsageError(
                f"{option_name(names[0])} belongs to {stage}, which {start.stage.name} {start.key[:12]} "
                "has already been through",
                "start from --dataset to choose it",
            )


def note_unread_options(session: Session, *steps: Step) -> None:
    """Say which of the given options change nothing, as `--heads` does with a model without attention."""
    known = {step.key: step for each in steps for step in each.upstream() if step.config is not None}
    read = {(step.stage.name, name) for step in known.values() for name in step.config.to_dict()}
    given = [(stage, name) for stage in CONFIGS for name in session.settings.given_in(stage)]
    if unread := [option_name(name) for stage, name in given if (stage, name) not in read]:
        verb = "changes" if len(unread) == 1 else "change"
        session.talker.note(f"{', '.join(unread)} {verb} nothing with these settings")


def chosen_splits(runner: Runner, start: Step, target: str, splits: list[int] | None) -> Iterable[int]:
    """The splits to train on: those asked for, or all that the dataset has."""
    if target not in ("train", "eval") or start.stage.name == "train":
        if splits and start.stage.name == "train":
            raise UsageError("--split is for training; the given checkpoint has its splits already")
        if splits:
            raise UsageError("--split is for training, and this dataset has no labels to train on")
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
    inputs: list[Path] | None,
    splits: list[int] | None,
    *,
    dry_run: bool = False,
) -> Step:
    """From the options of a command to the step it asks for."""
    start = find_start(session, target, inputs, dry_run=dry_run)
    reject_fixed_options(start, session.settings)
    step = plan(target, start, stage_configs(session.settings), chosen_splits(runner, start, target, splits))
    note_unread_options(session, step)
    return step


def deliver(session: Session, runner: Runner, step: Step, output_format: str) -> Outcome:
    """Obtain the artifact of a step and describe it."""
    header, hit = runner.obtain(step)
    for used in step.upstream():
        session.store.remember_latest(used.stage.name, used.key)
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
    write_atomically(target, buffer.getvalue())
    return target


def _forecast_line(row: dict[str, Any]) -> str:
    name = f"{row['stage']} {row['split']}" if "split" in row else row["stage"]
    return f"{name:<8} {row['key'][:12]}  {row['cache']}  {row.get('reason', '')}".rstrip()


def show_forecast(runner: Runner, step: Step, *more: Step) -> Outcome:
    """What `--dry-run` prints: the artifacts of a plan, and of further plans, each once."""
    rows = list({row["key"]: row for each in (*more, step) for row in runner.forecast(each)}.values())
    lines = [_forecast_line(row) for row in rows]
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
    ) -> Outcome:
        return learning_stage(session, inputs=inputs, force=force, dry_run=dry_run, output_format=output_format)

    def learning_stage(
        session: Session,
        dataset: DatasetOption = None,
        inputs: InputOption = None,
        split: SplitOption = None,
        restart: RestartOption = False,
        force: ForceOption = False,
        dry_run: DryRunOption = False,
        output_format: FormatOption = "h5",
    ) -> Outcome:
        forced = (target, "fit") if target == "train" else (target,)
        runner = session.runner(forced=forced if force else (), restart=restart)
        step = make_plan(session, runner, target, inputs, split, dry_run=dry_run)
        return show_forecast(runner, step) if dry_run else deliver(session, runner, step, output_format)

    def commute_stage(
        session: Session,
        dataset: DatasetOption = None,
        inputs: InputOption = None,
        pairs: PairsOption = None,
        top: TopOption = None,
        restart: RestartOption = False,
        force: ForceOption = False,
        dry_run: DryRunOption = False,
        output_format: FormatOption = "h5",
    ) -> Outcome:
        runner = session.runner(forced=(target,) if force else (), restart=restart)
        if pairs is not None:
            if session.settings.given_in("commute") or top is not None or output_format == "npz":
                raise UsageError(
                    "--pairs are solved exactly and printed", "leave --top, --format and the options of commute out"
                )
            start = find_start(session, target, inputs, dry_run=dry_run)
            reject_fixed_options(start, session.settings)
            walk = walk_for_pairs(session, start)
            return show_forecast(runner, walk) if dry_run else times_of_pairs(session, runner, walk, pairs)
        step = make_plan(session, runner, target, inputs, None, dry_run=dry_run)
        if dry_run:
            return show_forecast(runner, step)
        outcome = deliver(session, runner, step, output_format)
        return outcome if top is None else with_closest(runner, step, outcome, top)

    functions: dict[str, Callable[..., Outcome]] = {
        "commute": commute_stage,
        "train": learning_stage,
        "eval": learning_stage,
    }
    command(
        app,
        target,
        extra=config_parameters(*COMPUTE_OPTIONS.get(target, ("compute",)), *stages, *DATASET_SECTIONS),
        help=text,
        short_help=f"{text} [green]{example}[/green]",
        epilog=f"Example: {example}",
        rich_help_panel="Stages, in order",
    )(functions.get(target, graph_stage))
