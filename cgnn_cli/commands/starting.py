"""What a command starts from, the plan that its options make, and the artifact that it hands over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cgnn_cli.commands.options import stage_configs
from cgnn_cli.commands.session import Outcome, Session
from cgnn_cli.configs import CONFIGS, option_name
from cgnn_cli.datasets.registry import name_of
from cgnn_cli.errors import DataError, UpstreamError, UsageError
from cgnn_cli.execution.dry_run import forecast
from cgnn_cli.execution.given import given_step, named_steps
from cgnn_cli.pipeline import STAGES, Step, is_after, plan
from cgnn_cli.store import artifact as files
from cgnn_cli.store.outputs import output_error


def starting_point(session: Session, target: str, inputs: list[Path] | None, *, dry_run: bool = False) -> Step:
    """What a stage starts from: a named file, a dataset's graph, or the newest artifact of the stage before."""
    dataset = session.settings.value("dataset")
    if inputs:
        if "dataset" in session.settings.given:
            raise UsageError("--dataset and --input name two different starting points", "give one of them")
        if session.settings.preset:
            raise UsageError("--preset is for a --dataset, and --input was given", "leave one of them out")
        return named_steps(session.store, inputs)[-1]
    if dataset:
        return session.workspace.datasets(dry_run=dry_run).step(dataset, session.graph_config())
    previous = STAGES[target].after
    if previous == "graph":
        raise UsageError(f"{target} needs a --dataset", "`cgnn data list` shows them; `--dataset demo` always works")
    newest = session.store.latest(previous)
    if newest is None:
        raise UpstreamError(
            f"the store {session.store.root} has no {previous} artifact to go on from, and no --dataset was named",
            f"run `cgnn {previous} --dataset demo` first, or name a --dataset",
        )
    step = given_step(session.store, newest, {})
    graph = step.find("graph")
    name = name_of(session.store, graph.key) if graph else None
    of_dataset = f" (dataset {name})" if name else ""
    session.talker.say(f"taking the newest {previous} artifact, {newest.key[:12]}{of_dataset}")
    return step


def note_unread_options(session: Session, *steps: Step) -> None:
    """Say which of the given options change nothing, as `--heads` does with a model without attention."""
    known = {step.key: step for each in steps for step in each.lineage if step.config is not None}
    read = {(step.stage.name, name) for step in known.values() for name in step.config.to_dict()}
    given = [(stage, name) for stage in CONFIGS for name in session.settings.given_in(stage)]
    if unread := [option_name(name) for stage, name in given if (stage, name) not in read]:
        verb = "changes" if len(unread) == 1 else "change"
        session.talker.note(f"{', '.join(unread)} {verb} nothing with these settings")


def choose_splits(session: Session, start: Step, target: str, splits: list[int] | None) -> Iterable[int]:
    """The splits to train on: those asked for, or all that the dataset has."""
    if not is_after(target, "fit") or start.stage.name == "train":
        if splits and start.stage.name == "train":
            raise UsageError("--split is for training; the given checkpoint has its splits already")
        if splits:
            raise UsageError("--split is for training, and this dataset has no labels to train on")
        return ()
    graph_step = start.find("graph")
    assert graph_step is not None
    count = session.workspace.runner.graph_figure(graph_step, "splits")
    if not count:
        raise DataError(
            "this dataset has no labels, so there is nothing to train on",
            "import it again with --labels; rewire, dilap and commute work without",
        )
    wrong = [split for split in splits or () if not 0 <= split < count]
    if wrong:
        raise UsageError(f"--split {wrong[0]}: this dataset has the splits 0 to {count - 1}")
    return sorted(set(splits)) if splits else range(count)


def find_start(session: Session, target: str, inputs: list[Path] | None, *, dry_run: bool = False) -> Step:
    """What a stage starts from; an option of a stage that it has already been through cannot take effect."""
    start = starting_point(session, target, inputs, dry_run=dry_run)
    refuse_past(session, start)
    return start


def refuse_past(session: Session, start: Step) -> None:
    """Refuse an option of a stage that a start has been through."""
    for stage in CONFIGS if start.make is not None else ("graph", *CONFIGS):
        names = session.settings.given_in(stage)
        if names and not is_after(stage, start.stage.name):
            raise UsageError(
                f"{option_name(names[0])} belongs to {stage}, which {start.stage.name} {start.key[:12]} "
                "has already been through",
                "start from --dataset to choose it",
            )


def make_plan(
    session: Session, target: str, inputs: list[Path] | None, splits: list[int] | None, *, dry_run: bool = False
) -> Step:
    """From the options of a command to the step it asks for."""
    start = find_start(session, target, inputs, dry_run=dry_run)
    step = plan(target, start, stage_configs(session.settings), choose_splits(session, start, target, splits))
    note_unread_options(session, step)
    return step


def deliver(session: Session, step: Step, output_format: str) -> Outcome:
    """Obtain the artifact of a step and describe it."""
    ((header, hit),) = session.workspace.obtain(step)
    for used in step.lineage:
        session.store.remember_latest(used.stage.name, used.key)
    path = step.file or session.store.path(header.stage, header.key)
    if output_format == "npz":
        try:
            path = files.write_npz_beside(path)
        except OSError as error:
            raise output_error(path.with_suffix(".npz"), error) from error
    outcome = Outcome.of_artifact(path, header, hit=hit)
    outcome.values["stages"] = session.talker.stages
    return outcome


def show_forecast(session: Session, step: Step, *more: Step) -> Outcome:
    """What `--dry-run` prints: the artifacts of a plan, and of further plans, each once."""
    rows = forecast(session.workspace.runner, *more, step)
    names = [f"{row['stage']} {row['split']}" if "split" in row else row["stage"] for row in rows]
    lines = [
        f"{name:<8} {row['key'][:12]}  {row['cache']}  {row.get('reason', '')}".rstrip()
        for name, row in zip(names, rows, strict=True)
    ]
    return Outcome(
        "\n".join(lines), {"artifact": None, "key": step.key, "cache": rows[-1]["cache"], "stages": rows, "summary": {}}
    )
