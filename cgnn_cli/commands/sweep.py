"""`cgnn sweep`: grids and random searches over the options of all stages, judged on validation accuracy alone."""

from __future__ import annotations

import dataclasses
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgnn_cli.commands.options import (
    COMPUTE_PANEL,
    DATASET_SECTIONS,
    INPUT_PANEL,
    OUTPUT_PANEL,
    DatasetOption,
    SplitOption,
    config_parameters,
)
from cgnn_cli.commands.session import STOPPER, Outcome, Session, command
from cgnn_cli.commands.sweep_table import Board, accuracy_text, sorted_results, sweep_table
from cgnn_cli.configs import ComputeConfig, option_name
from cgnn_cli.errors import CgnnError, UsageError
from cgnn_cli.pipeline import COMMANDS
from cgnn_cli.presets.recording import full_row, record_row
from cgnn_cli.presets.table import FOUND, Row, packaged
from cgnn_cli.settings import KEYS, OF_FLAG, Settings
from cgnn_cli.sweeps import SWEPT, Point, Range, Shard, Space, SweepFile, points_of, read_sweep, shard_of

if TYPE_CHECKING:
    from cgnn_cli.trials import Trial, TrialResult

FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="The sweep in TOML: lists and ranges of values.", show_default=False),
]
RandomOption = Annotated[
    int | None,
    typer.Option(
        "--random",
        help="Draw so many configurations at random.",
        show_default=False,
        rich_help_panel=INPUT_PANEL,
        min=1,
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--sweep-seed", help="Seed of --random.", show_default="0", rich_help_panel=INPUT_PANEL, min=0),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Only part I of N, from 1. Default: the place of this task in Slurm's job array, or all.",
        show_default=False,
        rich_help_panel=COMPUTE_PANEL,
    ),
]
MinutesOption = Annotated[
    float | None,
    typer.Option(
        "--max-minutes",
        help="Begin no training after so many minutes; the same command goes on later.",
        show_default=False,
        rich_help_panel=COMPUTE_PANEL,
        min=0,
    ),
]
RecordOption = Annotated[
    str | None,
    typer.Option(
        "--record",
        metavar="NAME",
        help="Write the best configuration and this search into a preset: tuned, extended, or a .toml file.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    example = "cgnn sweep --dataset demo --set train.layers=1,2,3"
    command(
        app,
        "sweep",
        extra=config_parameters("compute", *COMMANDS, *DATASET_SECTIONS),
        sweeps=True,
        help="Train many configurations and compare their validation accuracy; test accuracy is never computed.",
        short_help=f"Compare many configurations by validation accuracy. [green]{example}[/green]",
        epilog=f"Example: {example}",
        rich_help_panel="All stages",
    )(sweep)


@dataclasses.dataclass(frozen=True)
class Search:
    """All that says which configurations are compared."""

    session: Session
    space: Space
    splits: tuple[int, ...]
    preset: str | None
    dataset: str
    count: int | None
    seed: int

    def settings(self, point: Point) -> Settings:
        """The settings of a configuration."""
        given = dataclasses.replace(self.session.given, flags={**self.session.given.flags, "dataset": self.dataset})
        return given.settings(preset=self.preset, point=point)

    def trial(self, point: Point) -> Trial:
        """The training of a configuration, described by what differs from the defaults."""
        from cgnn_cli.trials import Trial

        settings = self.settings(point)
        varied = [path for path, choice in self.space.items() if isinstance(choice, Range) or len(choice) > 1]
        name = "  ".join(f"{KEYS[path].name}={_plain(point[path])}" for path in varied) or "as set"
        return Trial(name, self.dataset, _changed(settings), self.splits)

    def command(self) -> str:
        """The command that makes this search again, wherever its settings came from."""
        words = ["cgnn", "sweep", "--dataset", self.dataset]
        words += ["--preset", self.preset] if self.preset else []
        words += [word for split in self.splits for word in ("--split", str(split))]
        base = self.session.settings
        own = [path for path in KEYS if KEYS[path].section in SWEPT and path not in self.space]
        fixed = {path: base.value(path) for path in own if base.values[path].origin != "default"}
        words += [word for path, value in fixed.items() for word in ("--set", f"{path}={_plain(value)}")]
        words += [word for path, choice in self.space.items() for word in ("--set", f"{path}={_listed(path, choice)}")]
        if self.count is not None:
            words += ["--random", str(self.count), "--sweep-seed", str(self.seed)]
        return shlex.join(words)


def sweep(
    session: Session,
    file: FileArgument = None,
    dataset: DatasetOption = None,
    split: SplitOption = None,
    count: RandomOption = None,
    sweep_seed: SeedOption = None,
    shard: ShardOption = None,
    max_minutes: MinutesOption = None,
    record: RecordOption = None,
) -> Outcome:
    """Plan the configurations, train those of this shard that are missing, and show all of them."""
    from cgnn_cli.trials import run_trials

    search = _search(session, read_sweep(file) if file else SweepFile(), split, count, sweep_seed)
    points = points_of(search.space, search.count, search.seed)
    part = shard_of(shard, os.environ)
    _check_record(record, part)
    trials = [search.trial(point) for point in part.of(points)]
    compute = session.settings.config("compute")
    assert isinstance(compute, ComputeConfig)
    of_all = f", shard {part.number} of {part.count}" if part.count > 1 else ""
    title = f"{search.dataset}: validation accuracy in %, mean ± std over the splits{of_all}"
    with Board(session.talker, title, len(trials)) as board:
        results = run_trials(
            trials,
            session.store,
            board,
            source=session.source_config(),
            compute=compute,
            max_minutes=max_minutes,
            stopper=STOPPER,
            listener=board,
            finished=board.finished,
        )
    _refuse_if_all_failed(results)
    best = next((result for result in sorted_results(results) if result.status == "done"), None)
    values = _values(search, part, len(points), results, part.of(points))
    values["cache"] = "miss" if board.computed else "hit"
    if best is not None:
        values["key"], values["summary"]["best"] = best.keys["train"], _best(session, search, best)
        session.talker.say(f"best: {best.trial.name}, validation {accuracy_text(best)}")
        session.talker.say(f"score it on the test nodes: {values['summary']['best']['command']}")
    left = sum(result.status == "not run" for result in results)
    if left:
        session.talker.note(f"{left} configurations are left; run the same command again to go on")
    if part.count > 1:
        session.talker.say("this is one shard; without --shard the same command shows all that is done")
    if record and best is not None and not left:
        _record(search, record, best, points[trials.index(best.trial)], len(points))
        session.talker.say(f"recorded in the preset {record}")
    return Outcome(sweep_table(results, title), values)


def _search(session: Session, file: SweepFile, splits: list[int] | None, count: int | None, seed: int | None) -> Search:
    """The command line over the sweep's file over the settings."""
    settings, values = session.settings, file.values
    flags = {OF_FLAG[name] for name, value in session.given.flags.items() if name in OF_FLAG and value is not None}
    for path in session.space:
        if path in flags:
            name = option_name(KEYS[path].name)
            raise UsageError(f"{path} is to vary, and {name} gives it one value", "leave one of them out")
    space = {path: choice for path, choice in file.space.items() if path not in settings.given} | session.space
    dataset = settings.value("dataset") if "dataset" in settings.given else values.get("dataset")
    dataset = dataset or settings.value("dataset")
    if not dataset:
        raise UsageError("sweep needs a --dataset", "`cgnn data list` shows them; `--dataset demo` always works")
    chosen = values.get("splits", []) if splits is None else splits
    if not all(type(split) is int and split >= 0 for split in chosen):
        raise UsageError(f"{chosen} are not splits", "write whole numbers from 0")
    return Search(
        session,
        space,
        tuple(sorted(set(chosen))),
        session.given.preset or values.get("preset"),
        dataset,
        count or values.get("random"),
        values.get("seed", 0) if seed is None else seed,
    )


def _changed(settings: Settings) -> dict[str, Any]:
    """The options of the stages that differ from their defaults."""
    own = (path for path, key in KEYS.items() if key.section in SWEPT)
    return {path: settings.value(path) for path in own if settings.value(path) != KEYS[path].default}


def _plain(value: Any) -> str:
    """A value as people write it, without loss: 1e-05, 0.5, true."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(path: str, choice: Any) -> str:
    """A choice as `--set` takes it."""
    if isinstance(choice, Range):
        return choice.text()
    separator = ";" if isinstance(KEYS[path].default, str) and "," in KEYS[path].default else ","
    return separator.join(_plain(value) for value in choice)


def _refuse_if_all_failed(results: list[TrialResult]) -> None:
    """Raise what the first configuration failed with, if none did better."""
    if not results or any(result.status != "failed" for result in results):
        return
    error, text = results[0].error, f"all {len(results)} configurations failed; the first: {results[0].message}"
    raise type(error)(text, error.hint) if isinstance(error, CgnnError) else RuntimeError(text)


def eval_command(session: Session, dataset: str, settings: dict[str, Any]) -> str:
    """The command that trains a configuration on all splits and scores it on their test nodes."""
    words = ["cgnn", "eval", "--dataset", dataset]
    for path, value in settings.items():
        flag = option_name(KEYS[path].name)
        if isinstance(value, bool):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            words += [flag, _plain(value)]
    for name in ("data", "mirror", "offline", "accept_standin", "store"):
        value = session.given.flags.get(name)
        words += [option_name(name)] if value is True else [option_name(name), str(value)] if value else []
    return shlex.join(words)


def _written_out(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with those defaults that a file or the environment would replace when a command is run."""
    later = Settings({})
    replaced = (path for path, key in KEYS.items() if key.section in SWEPT and later.value(path) != key.default)
    defaults = {path: KEYS[path].default for path in replaced if KEYS[path].default is not None}
    return {**defaults, **settings}


def _best(session: Session, search: Search, best: TrialResult) -> dict[str, Any]:
    return {
        "name": best.trial.name,
        "settings": best.trial.settings,
        "validation_accuracy": _spread(best),
        "command": eval_command(session, search.dataset, _written_out(best.trial.settings)),
    }


def _spread(result: TrialResult) -> dict[str, Any]:
    return {
        "mean": result.mean_validation_accuracy,
        "std": result.validation_deviation,
        "runs": len(result.splits),
    }


def _values(search: Search, part: Shard, total: int, results: list[TrialResult], points: list[Point]) -> dict[str, Any]:
    """The one object of `--json`; configurations in the order of the sweep."""
    rows = [
        {
            "name": result.trial.name,
            "point": point,
            "settings": result.trial.settings,
            "status": result.status,
            "message": result.message,
            "splits": result.splits,
            "validation_accuracy": _spread(result) if result.splits else None,
            "validation_accuracy_per_split": result.validation_accuracy,
            "epochs": result.epochs,
            "seconds": result.seconds,
            "keys": result.keys,
        }
        for result, point in zip(results, points, strict=True)
    ]
    summary = {
        "dataset": search.dataset,
        "shard": f"{part.number}/{part.count}",
        "total": total,
        "configurations": rows,
        "best": None,
        "command": search.command(),
    }
    return {"artifact": None, "key": None, "cache": "hit", "summary": summary}


def _check_record(record: str | None, part: Shard) -> None:
    """Fail before anything is computed."""
    if record is None:
        return
    if part.count > 1:
        raise UsageError("--record is for a whole search", "record it without --shard when all shards are done")
    if record not in FOUND and not record.endswith(".toml"):
        raise UsageError(f"--record {record} is no preset", f"use {', '.join(FOUND)}, or the name of a .toml file")


def _record(search: Search, name: str, best: TrialResult, point: Point, total: int) -> None:
    """Write the winner as a row of a preset, with the search that found it."""
    settings = search.settings(point)
    found = {
        "validation_accuracy": round(best.mean_validation_accuracy, 6),
        "validation_std": round(best.validation_deviation, 6),
        "splits": best.splits,
        "configurations": total,
        "command": search.command(),
    }
    path = packaged(name) if name in FOUND else Path(name)
    record_row(path, search.dataset, settings.value("train.model"), Row(full_row(settings), found))
