"""The run that a command reads: named, or found among those that are there. Nothing is trained for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgnn_cli.commands.session import Session
from cgnn_cli.commands.starting import refuse_past, starting_point
from cgnn_cli.configs import CONFIGS, option_name
from cgnn_cli.datasets.registry import name_of, own_name
from cgnn_cli.errors import UpstreamError, UsageError
from cgnn_cli.execution.given import given_step, newest_run
from cgnn_cli.execution.results import Runs
from cgnn_cli.pipeline import Step
from cgnn_cli.redaction import redacted_command
from cgnn_cli.report.run_names import name_runs
from cgnn_cli.settings import KEYS
from cgnn_cli.store.lineage import open_artifact
from cgnn_cli.sweeps import flag_words

LAST = "the run made last:"


def find_run(
    session: Session, inputs: list[Path] | None, name: str | None = None, splits: Sequence[int] | None = None
) -> Step:
    """The train step of a run: the one that is named, else the newest with all that was asked for; and says which.

    Without options it is the run that was made or asked for last.
    """
    if name is not None:
        run, which = _named(session, inputs, name), "run"
    else:
        run, which = _searched(session, inputs, list(splits or ()))
    session.talker.say(f"{which} {run_words(session, run)}")
    return run


def last_run(session: Session, graph: Step | None = None) -> Step | None:
    """The run that was made or asked for last, of all or on a graph, if there is one; and says which."""
    run = newest_run(session.store, None if graph is None else graph.key)
    if run is not None:
        session.talker.say(f"{LAST} {run_words(session, run)}")
    return run


def _named(session: Session, inputs: list[Path] | None, name: str) -> Step:
    """A run by what `run`, `train` or `eval` printed: a file, or the beginning of a key."""
    if inputs:
        raise UsageError("--run and --input name two different starting points", "give one of them")
    path, artifact = open_artifact(session.store, name)
    start = given_step(session.store, artifact.header, {artifact.header.key: path})
    if start.find("train") is None:
        hint = "name what `cgnn run` or `cgnn train` printed"
        raise UsageError(f"{name} is a {artifact.header.stage} artifact, and no run", hint)
    return _past(session, start)


def _past(session: Session, start: Step) -> Step:
    """The trained models among what was named, which have their settings already."""
    if session.settings.preset:
        raise UsageError("--preset chooses a run by its settings, and one was named", "leave it out")
    refuse_past(session, start)
    run = start.find("train")
    assert run is not None
    return run


def _searched(session: Session, inputs: list[Path] | None, splits: list[int]) -> tuple[Step, str]:
    """The newest run that is as asked for, and how it was chosen."""
    asked, start = _asked(session), None
    if inputs or session.settings.value("dataset"):
        start = starting_point(session, "eval", inputs)
        if start.find("train"):
            return _past(session, start), "run"
        refuse_past(session, start)
    elif forms := session.settings.given_in("graph"):
        raise UsageError(f"{option_name(forms[0])} is for a --dataset, and none was named", "name one, or leave it out")
    made_from = None if start is None else start.key
    run = newest_run(session.store, made_from, asked, splits) or newest_run(session.store, made_from, asked)
    if run is None:
        raise _missing(session, start, asked, splits)
    return run, "newest run that fits:" if start or asked or splits else LAST


def _asked(session: Session) -> dict[str, Any]:
    """The options of stages that the command line gives, by itself or by a preset: not those of files and variables."""
    settings = session.settings
    named = (path for path in KEYS if path in settings.given | settings.by_preset())
    return {path: settings.value(path) for path in named if KEYS[path].section in CONFIGS}


def _missing(session: Session, start: Step | None, asked: dict[str, Any], splits: list[int]) -> UpstreamError:
    """The error where no run is as asked for, with the command that makes it."""
    last, preset = newest_run(session.store), session.settings.preset
    name = session.settings.value("dataset") or _dataset_of(session, start or last) or _only_import(session) or "demo"
    wanted = flag_words({path: value for path, value in asked.items() if path in session.settings.given})
    wanted += ["--preset", preset] if preset else []
    of_splits = [word for split in splits for word in ("--split", str(split))]
    place = session.given.place()
    make = f"`{redacted_command(['cgnn', 'run', '--dataset', name, *wanted, *of_splits, *place])}` makes it"
    if last is None:
        return UpstreamError(f"the store {session.store.root} has no trained model", make)
    if asked:
        on = f" on {name}" if start else ""
        return UpstreamError(f"no run{on} in the store {session.store.root} has {' '.join(wanted)}", make)
    if session.command == "predict":
        words = ["cgnn", "predict", "--run", last.key[:12], "--dataset", name, *place]
        make += f"; `{redacted_command(words)}` applies the run made last, on {_dataset_of(session, last)}"
    return UpstreamError(f"the store {session.store.root} has no run on {name}", make)


def _only_import(session: Session) -> str | None:
    """The imported dataset of the store, where it has one."""
    names = {own for name in session.store.dataset_names() if (own := own_name(name))}
    return names.pop() if len(names) == 1 else None


def shown_name(session: Session, run: Step) -> str:
    """What the graph of a run is called in messages and pages."""
    return _dataset_of(session, run) or f"graph {run.inputs['graph'].key[:12]}"


def own_dataset(session: Session, run: Step) -> str | None:
    """The imported dataset that the graph of a run is of, or was before an update."""
    name = _dataset_of(session, run)
    return name and own_name(name)


def _dataset_of(session: Session, made: Step | None) -> str | None:
    """The name of the graph that something was made from."""
    graph = made and made.find("graph")
    return name_of(session.store, graph.key) if graph else None


def run_words(session: Session, run: Step) -> str:
    """A run in a line: its key, its short name among the runs of its graph, and its splits."""
    own, *others = Runs(session.store).beside(session.workspace.runner.obtain(run)[0])
    label, splits = name_runs([own, *others])[own], run.config.splits
    setting = f" ({label.setting})" if label.setting else ""
    of_splits = f"split{'s' if len(splits) > 1 else ''} {', '.join(map(str, splits))}"
    return f"{run.key[:12]}, {label.model} on {shown_name(session, run)}{setting}, {of_splits}"
