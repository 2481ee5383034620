"""`cgnn sweep`: grids and random searches over the options of all stages, judged on validation nodes alone."""

from __future__ import annotations

import dataclasses
import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from cgnn_cli.commands import options
from cgnn_cli.commands.options import COMPUTE_PANEL, INPUT_PANEL, OUTPUT_PANEL, argument, option
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.commands.sweep_table import Board, configuration_values, sweep_table, validation_text, validation_values
from cgnn_cli.configs import metric_words, option_name
from cgnn_cli.errors import UsageError
from cgnn_cli.execution.results import Run, raise_if_all_failed, search_of
from cgnn_cli.pipeline import COMMANDS
from cgnn_cli.presets.lookup import FOUND, Row
from cgnn_cli.presets.recording import check_record, record_row
from cgnn_cli.redaction import redacted_command
from cgnn_cli.settings import KEYS, OF_FLAG, Settings
from cgnn_cli.sweeps import (
    SWEPT,
    Point,
    Range,
    Shard,
    Space,
    SweepFile,
    flag_words,
    plain,
    points_of,
    read_sweep,
    separator,
    set_words,
    shard_of,
)
from cgnn_cli.workspace import best_first

FileArgument = Annotated[Path | None, argument("FILE", "The sweep in TOML: lists and ranges of values.")]
RandomOption = Annotated[int | None, option("--random", "Draw this many configurations at random.", INPUT_PANEL, min=1)]
SeedOption = Annotated[int | None, option("--sweep-seed", "Seed of --random.", INPUT_PANEL, show_default="0", min=0)]
SHARD_HELP = "Only part I of N, from 1. Default: the place of this task in Slurm's job array, or all."
ShardOption = Annotated[str | None, option("--shard", SHARD_HELP, COMPUTE_PANEL, metavar="I/N")]
MINUTES_HELP = "Begin no training after this many minutes; the same command goes on later."
MinutesOption = Annotated[float | None, option("--max-minutes", MINUTES_HELP, COMPUTE_PANEL, min=0)]
RECORD_HELP = "Write the best configuration and this search into a preset: tuned, extended, or a .toml file."
RecordOption = Annotated[str | None, option("--record", RECORD_HELP, OUTPUT_PANEL, metavar="NAME")]


def register(app: typer.Typer) -> None:
    command(
        app,
        "sweep",
        sweep,
        help="Train many configurations and compare them on validation nodes; test nodes are never scored.",
        brief="Compare many configurations on validation nodes.",
        example="cgnn sweep --dataset demo --set train.layers=1,2,3",
        panel="From a graph to scores",
        common="--dataset --set --split --random --preset --metric --record --max-minutes --shard --jobs --device",
        extra=options.config_parameters("compute", *COMMANDS, *options.DATASET_SECTIONS),
        sweeps=True,
    )


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

    @cached_property
    def points(self) -> list[Point]:
        """The configurations."""
        return points_of(self.space, self.count, self.seed)

    @cached_property
    def metric(self) -> str:
        """What configurations are compared by, in words: one for all of them."""
        settings = self.settings(self.points[0])
        return metric_words(settings.value("train.metric"), settings.value("train.metric_class"))

    def settings(self, point: Point) -> Settings:
        """The settings of a configuration."""
        given = dataclasses.replace(self.session.given, flags={**self.session.given.flags, "dataset": self.dataset})
        return given.settings(preset=self.preset, point=point)

    def run(self, point: Point) -> Run:
        """The training of a configuration, described by what differs from the defaults."""
        settings = self.settings(point)
        varied = [path for path, choice in self.space.items() if isinstance(choice, Range) or len(choice) > 1]
        name = "  ".join(f"{KEYS[path].name}={plain(point[path])}" for path in varied) or "as set"
        own = (path for path, key in KEYS.items() if key.section in SWEPT)
        changed = {path: settings.value(path) for path in own if settings.value(path) != KEYS[path].default}
        return Run(name, self.dataset, changed, self.splits)

    def command(self, point: Point) -> str:
        """The command that makes this search again with this configuration, wherever its settings came from."""
        words = ["cgnn", "sweep", "--dataset", self.dataset]
        words += ["--preset", self.preset] if self.preset else []
        words += [word for split in self.splits for word in ("--split", str(split))]
        settings = self.settings(point)
        unsaid = self.space.keys() | settings.by_preset()
        words += set_words({path: value for path, value in settings.changed(SWEPT).items() if path not in unsaid})
        words += [word for path, choice in self.space.items() for word in ("--set", f"{path}={_listed(path, choice)}")]
        if self.count is not None:
            words += ["--random", str(self.count), "--sweep-seed", str(self.seed)]
        return redacted_command(words)


def sweep(
    session: Session,
    file: FileArgument = None,
    dataset: options.Dataset = None,
    split: options.Split = None,
    count: RandomOption = None,
    sweep_seed: SeedOption = None,
    shard: ShardOption = None,
    max_minutes: MinutesOption = None,
    record: RecordOption = None,
) -> Outcome:
    """Plan the configurations, train those of this shard that are missing, and show all of them."""
    from cgnn_cli.execution.scheduler import Deadline

    search = _search(session, read_sweep(file) if file else SweepFile(), split, count, sweep_seed)
    points = search.points
    for note in dict.fromkeys(note for point in points for note in search.settings(point).notes):
        session.talker.note(note)
    part = shard_of(shard, os.environ)
    _check_record(search, record, part)
    runs = [search.run(point) for point in part.of(points)]
    of_all = f", shard {part.number} of {part.count}" if part.count > 1 else ""
    over = "1 split" if len(search.splits) == 1 else "mean ± std over the splits"
    title = f"{search.dataset}: validation {search.metric} in %, {over}{of_all}"
    with Board(session.talker, title, len(runs)) as board:
        session.workspace.runner.reporter = board
        session.workspace.scheduler.carry_out(runs, deadline=Deadline(max_minutes), finished=board.finished)
    raise_if_all_failed(runs)
    best = next((run for run in best_first(runs) if run.status == "done"), None)
    summary = _summary(search, part, len(points), runs, part.of(points))
    if best is not None:
        scoring = eval_command(session, search.dataset, _written_out(best.settings))
        figures = {"settings": best.settings, **validation_values(best), "command": scoring}
        summary["best"] = {"name": best.name, **figures}
        session.talker.say(f"best: {best.name}, validation {validation_text(best)}")
        session.talker.say(f"score it on the test nodes: {scoring}")
    left = sum(result.status == "not run" for result in runs)
    if left:
        session.talker.note(f"{left} configurations are left; run the same command again to go on")
    if part.count > 1:
        session.talker.say("this is one shard; without --shard the same command shows all that is done")
    if record and best is not None and not left:
        _record(search, record, best, points[runs.index(best)], len(points))
        session.talker.say(f"recorded in the preset {record}")
    cache = "miss" if board.computed else "hit"
    return Outcome.of(sweep_table(best_first(runs), title), summary, key=best.checkpoint if best else None, cache=cache)


def _search(session: Session, file: SweepFile, splits: list[int] | None, count: int | None, seed: int | None) -> Search:
    """The command line over the sweep's file over the settings."""
    settings, values = session.settings, file.values
    flags = {OF_FLAG[name] for name, value in session.given.flags.items() if name in OF_FLAG and value is not None}
    for path in session.space:
        if path in flags:
            name = option_name(KEYS[path].name)
            raise UsageError(f"{path} is to vary, and {name} gives it one value", "leave one of them out")
    space = {path: choice for path, choice in file.space.items() if path not in settings.given} | session.space
    for path in ("train.metric", "train.metric_class"):
        if isinstance(choice := space.get(path, []), Range) or len(choice) > 1:
            raise UsageError(f"{path} is what configurations are compared by, and cannot vary", "give it one value")
    in_file = None if "dataset" in settings.given else values.get("dataset")
    dataset = in_file or settings.value("dataset")
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


def _listed(path: str, choice: Any) -> str:
    """A choice as `--set` takes it."""
    if isinstance(choice, Range):
        return choice.text()
    return separator(KEYS[path]).join(plain(value) for value in choice)


def eval_command(session: Session, dataset: str, settings: dict[str, Any]) -> str:
    """The command that trains a configuration on all splits and scores it on their test nodes."""
    words = ["cgnn", "eval", "--dataset", dataset, *flag_words(settings)]
    return redacted_command([*words, *session.given.place()])


def _written_out(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with those defaults that a file or the environment would replace when a command is run."""
    later = Settings({})
    replaced = (path for path, key in KEYS.items() if key.section in SWEPT and later.value(path) != key.default)
    defaults = {path: KEYS[path].default for path in replaced if KEYS[path].default is not None}
    return {**defaults, **settings}


def _summary(search: Search, part: Shard, total: int, runs: list[Run], points: list[Point]) -> dict[str, Any]:
    """What `--json` says; configurations in the order of the sweep."""
    rows = [{"point": point, **configuration_values(run)} for run, point in zip(runs, points, strict=True)]
    return {
        "dataset": search.dataset,
        "shard": f"{part.number}/{part.count}",
        "total": total,
        "configurations": rows,
        "best": None,
        "command": search.command(search.points[0]),
    }


def _check_record(search: Search, record: str | None, part: Shard) -> None:
    """Fail before anything is computed."""
    if record is None:
        return
    if part.count > 1:
        raise UsageError("--record is for a whole search", "record it without --shard when all shards are done")
    if record not in FOUND and not record.endswith(".toml"):
        raise UsageError(f"--record {record} is no preset", f"use {', '.join(FOUND)}, or the name of a .toml file")
    check_record(record, search.session.settings.value("train.model"))


def _record(search: Search, name: str, best: Run, point: Point, total: int) -> None:
    """Write the winner as a row of a preset, with the search that found it."""
    settings = search.settings(point)
    row = Row(settings.full_row(), search_of(best, total, search.command(point)))
    record_row(name, settings.form(search.dataset), settings.value("train.model"), row)
