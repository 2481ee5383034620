"""One call of a command: its store, its messages, and the one place that prints its result."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from cgnn_cli.commands.console import Talker, stdout_console
from cgnn_cli.commands.help_page import HELP_ALL, HelpCommand, HelpGroup, Page, add_page
from cgnn_cli.commands.options import COMMON, COMPUTE_PANEL, OUTPUT_PANEL, SETTINGS_PANEL
from cgnn_cli.configs import ComputeConfig, GraphConfig, SourceConfig, option_name
from cgnn_cli.errors import ResourceError
from cgnn_cli.presets.chosen import chosen_row
from cgnn_cli.presets.lookup import AUTO
from cgnn_cli.printable import printable, printable_json
from cgnn_cli.resources import ASKED_LIMIT, LEAST_SPACE, check_address_space
from cgnn_cli.settings import Settings
from cgnn_cli.signals import STOPPER
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from cgnn_cli.sweeps import Space, separate
from cgnn_cli.workspace import Workspace

SCHEMA = 1


@dataclass
class Outcome:
    """The result of a command: `text` (a line or a table) for people, `values` for `--json`.

    `table` is shown after it, on standard error.
    """

    text: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    table: Any = None

    @classmethod
    def of(
        cls,
        text: Any,
        summary: dict[str, Any],
        *,
        artifact: Path | None = None,
        key: str | None = None,
        cache: str | None = "hit",
        **more: Any,
    ) -> Outcome:
        """A result with the values that all commands have, and more."""
        path = None if artifact is None else str(artifact)
        return cls(text, {"artifact": path, "key": key, "cache": cache, "summary": summary, **more})

    @classmethod
    def of_artifact(cls, path: Path, header: Header, *, hit: bool, summary: dict[str, Any] | None = None) -> Outcome:
        """The result of a command that made or found an artifact: one line, its path."""
        found = header.summary if summary is None else summary
        return cls.of(str(path), found, artifact=path, key=header.key, cache="hit" if hit else "miss")


@dataclass(frozen=True)
class CommandLine:
    """What the command line said about settings."""

    flags: dict[str, Any]
    sets: tuple[str, ...] = ()
    file: Path | None = None
    preset: str | None = None

    def settings(self, **changes: Any) -> Settings:
        """The settings in force."""
        changes = {"preset": self.preset, **changes}
        if changes["preset"] == AUTO:
            known = Settings(self.flags, self.sets, self.file, point=changes.get("point"))
            form, source = known.config("graph"), known.config("source")
            assert isinstance(form, GraphConfig) and isinstance(source, SourceConfig)
            changes["row"] = chosen_row(Store(known.store_root()), known.value("dataset"), form, source)
        return Settings(self.flags, self.sets, self.file, **changes)

    def place(self) -> list[str]:
        """Where the command line has this call find its data and its store, as words of another command."""
        said, origins = Settings(self.flags, self.sets, self.file), ("--", *([f"{self.file}:"] if self.file else []))
        words: list[str] = []
        for name in ("data", "mirror", "offline", "accept_standin", "store"):
            found = said.values[name]
            value = found.value if found.origin.startswith(origins) else None
            words += [option_name(name)] if value is True else [option_name(name), str(value)] if value else []
        return words


class Session:
    """What every command has at hand."""

    def __init__(
        self,
        command: str,
        *,
        settings: Settings,
        given: CommandLine,
        space: Space | None = None,
        as_json: bool = False,
        quiet: bool = False,
        lock_timeout: float = -1,
    ) -> None:
        check_address_space(LEAST_SPACE, "the libraries that cgnn loads")
        self.command = command
        self.settings = settings
        self.given = given
        self.space = space or {}
        self.as_json = as_json
        self.talker = Talker(quiet=quiet, asked={*settings.given, *self.space})
        for note in settings.notes:
            self.talker.note(note)
        self.store = Store(settings.store_root(), warn=self.talker.warn, lock_timeout=lock_timeout)
        self._clock = time.perf_counter()

    @cached_property
    def workspace(self) -> Workspace:
        """What this call works in: it computes as the settings say and hears requests to stop."""
        compute, source = self.settings.config("compute"), self.settings.config("source")
        assert isinstance(compute, ComputeConfig) and isinstance(source, SourceConfig)
        return Workspace(self.store, source, compute, self.talker, STOPPER, self.talker)

    def close(self) -> None:
        """End what the call has started."""
        if "workspace" in self.__dict__:
            self.workspace.close()

    def configure(self, *, forced: Sequence[str] = (), restart: bool = False) -> None:
        """Compute some stages even if they are there, or begin unfinished work anew."""
        _ = self.workspace.tracker  # which may be missing
        self.workspace.runner.forced, self.workspace.runner.restart = frozenset(forced), restart

    def graph_config(self) -> GraphConfig:
        """Which form of a dataset is asked for."""
        config = self.settings.config("graph")
        assert isinstance(config, GraphConfig)
        return config

    def finish(self, outcome: Outcome) -> None:
        """Print the result, and nothing else, on standard output."""
        STOPPER.hear()  # later there is nothing left to stop
        if "workspace" in self.__dict__ and (tracker := self.workspace.tracker) and (told := tracker.said()):
            self.talker.say(told)
        self.talker.clear()
        try:
            self._print(outcome)
        except BrokenPipeError:
            raise
        except OSError as error:
            hint = "what was made is in the store; free some space"
            raise ResourceError(f"no room to write: {error.strerror}", hint) from error
        if outcome.table is not None:
            self.talker.show(outcome.table)

    def _print(self, outcome: Outcome) -> None:
        if self.as_json:
            values = {
                "schema": SCHEMA,
                "command": self.command,
                **outcome.values,
                "seconds": round(time.perf_counter() - self._clock, 4),
                "warnings": self.talker.warnings,
            }
            sys.stdout.write(printable_json(json.dumps(values, ensure_ascii=False)) + "\n")
        elif isinstance(outcome.text, str):
            # Paths and ids are exact for programs that read them, and harmless on a terminal.
            lines = map(printable, outcome.text.split("\n")) if sys.stdout.isatty() else [outcome.text]
            sys.stdout.write("\n".join(lines) + "\n")
        elif outcome.text is not None:
            stdout_console().print(outcome.text)
        sys.stdout.flush()


def _panel_order(parameter: inspect.Parameter) -> int:
    """Help shows what a command takes first, then its method, then how it computes, then its output."""
    panel = getattr(parameter.annotation.__metadata__[0], "rich_help_panel", None) or ""
    if panel.startswith(("Stage", "Model", "Most")):
        return 1
    return {COMPUTE_PANEL: 2, OUTPUT_PANEL: 3, SETTINGS_PANEL: 4}.get(panel, 0)


def command(
    app: typer.Typer,
    name: str,
    function: Callable[..., Outcome],
    *,
    help: str,
    brief: str | None = None,
    example: str = "",
    panel: str = "Commands",
    common: str | None = None,
    group: str = "",
    extra: Sequence[inspect.Parameter] = (),
    fields: Sequence[inspect.Parameter] = (),
    sweeps: bool = False,
) -> None:
    """Register a function `(session, ...) -> Outcome` as a command with the common options.

    `extra` parameters and `dataset` are settings: they reach the function through `session.settings`, which also knows
    the environment and the configuration file; `fields` reach it as keywords. A command that `sweeps` gets what spans
    several values as a space. `brief` stands in the list of commands, under the heading `panel`; `common` names the
    options that --help shows, in their order, where these are not all.
    """
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(function, eval_str=True).parameters.values()
        if parameter.name != "session" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ] + list(fields)
    full_name = f"{group} {name}".strip()
    settable = {parameter.name for parameter in extra} | {"dataset"}
    accepted = {parameter.name for parameter in own} - {"dataset"}

    @functools.wraps(function)
    def wrapper(**values: Any) -> None:
        common = {parameter.name: values.pop(parameter.name) for parameter in COMMON}
        flags = {name: values[name] for name in values if name in settable}
        preset = flags.pop("preset", None)
        own_values = {name: value for name, value in values.items() if name in accepted}
        sets, file = common.pop("sets") or (), common.pop("config")
        single, space = separate(sets) if sweeps else (sets, {})
        given = CommandLine({**flags, "store": common.pop("store")}, tuple(single), file, preset)
        settings = given.settings(preset=None) if sweeps else given.settings()
        before = ASKED_LIMIT.set(str(settings.value("compute.memory_limit")))
        try:
            session = Session(full_name, settings=settings, given=given, space=space, **common)
            with session.talker, closing(session):
                session.finish(function(session, **own_values))
        finally:
            ASKED_LIMIT.reset(before)

    parameters = sorted([*own, *extra, *COMMON], key=_panel_order)
    accepting = [*parameters, *[HELP_ALL] * (common is not None)]
    wrapper.__signature__ = inspect.Signature(accepting)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in accepting}
    del wrapper.__wrapped__
    add_page(Page(f"cgnn {full_name}", help, parameters, common, example=example, brief=brief, panel=panel))
    app.command(name, cls=HelpCommand, help=help, short_help=brief)(wrapper)


def command_group(app: typer.Typer, name: str, *, help: str, brief: str, example: str = "", panel: str) -> typer.Typer:
    """Register a group of commands, to be registered with it."""
    commands = typer.Typer(no_args_is_help=True, cls=HelpGroup, help=help)
    add_page(Page(f"cgnn {name}", help, example=example, brief=brief, panel=panel))
    app.add_typer(commands, name=name, short_help=brief)
    return commands
