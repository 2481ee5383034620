"""One call of a command: its store, its messages, and the one place that prints its result."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from cgnn_cli.commands.console import Talker, stdout_console
from cgnn_cli.configs import ComputeConfig, GraphConfig, SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import UsageError
from cgnn_cli.runner import Runner
from cgnn_cli.settings import Settings
from cgnn_cli.signals import Stopper
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.store import Store
from cgnn_cli.sweeps import Space, separate

SCHEMA = 1
OUTPUT_PANEL = "Output"
SETTINGS_PANEL = "Settings"
STOPPER = Stopper()


@dataclass
class Outcome:
    """The result of a command: `text` (a line or a table) for people, `values` for `--json`.

    `table` is shown after it, on standard error.
    """

    text: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    table: Any = None

    @classmethod
    def of_artifact(cls, path: Path, header: Header, *, hit: bool, summary: dict[str, Any] | None = None) -> Outcome:
        """The result of a command that made or found an artifact: one line, its path."""
        values = {
            "artifact": str(path),
            "key": header.key,
            "cache": "hit" if hit else "miss",
            "summary": header.summary if summary is None else summary,
        }
        return cls(text=str(path), values=values)


@dataclass(frozen=True)
class Given:
    """What the command line said about settings."""

    flags: dict[str, Any]
    sets: tuple[str, ...] = ()
    file: Path | None = None
    preset: str | None = None

    def settings(self, **changes: Any) -> Settings:
        """The settings in force."""
        return Settings(self.flags, self.sets, self.file, **{"preset": self.preset, **changes})


class Session:
    """What every command has at hand."""

    def __init__(
        self,
        command: str,
        *,
        settings: Settings,
        given: Given,
        space: Space | None = None,
        as_json: bool = False,
        quiet: bool = False,
        lock_timeout: float = -1,
    ) -> None:
        self.command = command
        self.settings = settings
        self.given = given
        self.space = space or {}
        self.as_json = as_json
        self.talker = Talker(quiet=quiet)
        root = Path(settings.value("store"))
        try:
            root = root.expanduser().absolute()
        except (RuntimeError, FileNotFoundError) as error:
            raise UsageError(f"the store {root} cannot be located: {error}", "give an absolute --store") from error
        self.store = Store(root, warn=self.talker.warn, lock_timeout=lock_timeout)
        self._clock = time.perf_counter()

    def runner(self, *, forced: Iterable[str] = (), restart: bool = False) -> Runner:
        """A runner over this session's store that computes as the settings say and hears requests to stop."""
        compute = self.settings.config("compute")
        assert isinstance(compute, ComputeConfig)
        if compute.deterministic:  # CUDA reads this when torch is first used
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        return Runner(self.store, self.talker, compute, restart, frozenset(forced), STOPPER)

    def source_config(self) -> SourceConfig:
        """Where the files of datasets come from."""
        config = self.settings.config("source")
        assert isinstance(config, SourceConfig)
        return config

    def datasets(self, *, dry_run: bool = False) -> Datasets:
        """The datasets that can be named here; a dry run reads what is on disk and writes nothing."""
        obtain = None if dry_run else self.runner().data
        return Datasets(self.store, self.source_config(), self.talker, obtain)

    def graph_config(self) -> GraphConfig:
        """Which form of a dataset is asked for."""
        config = self.settings.config("graph")
        assert isinstance(config, GraphConfig)
        return config

    def finish(self, outcome: Outcome) -> None:
        """Print the result, and nothing else, on standard output."""
        if self.as_json:
            values = {
                "schema": SCHEMA,
                "command": self.command,
                **outcome.values,
                "seconds": round(time.perf_counter() - self._clock, 4),
                "warnings": self.talker.warnings,
            }
            sys.stdout.write(json.dumps(values, ensure_ascii=False) + "\n")
        elif isinstance(outcome.text, str):
            sys.stdout.write(outcome.text + "\n")
        elif outcome.text is not None:
            stdout_console().print(outcome.text)
        sys.stdout.flush()
        if outcome.table is not None:
            self.talker.show(outcome.table)


COMMON: tuple[inspect.Parameter, ...] = tuple(
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        (
            "store",
            None,
            Annotated[
                Path | None,
                typer.Option(
                    "--store",
                    help="Folder of cached artifacts. Default: CGNN_STORE, or .cgnn in the working folder.",
                    show_default=False,
                    rich_help_panel=OUTPUT_PANEL,
                ),
            ],
        ),
        (
            "as_json",
            False,
            Annotated[bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT_PANEL)],
        ),
        (
            "quiet",
            False,
            Annotated[
                bool, typer.Option("--quiet", "-q", help="Only warnings and errors.", rich_help_panel=OUTPUT_PANEL)
            ],
        ),
        (
            "config",
            None,
            Annotated[
                Path | None,
                typer.Option(
                    "--config",
                    metavar="FILE",
                    help="Settings in TOML. Default: CGNN_CONFIG, or cgnn.toml in the working folder if it is there.",
                    show_default=False,
                    rich_help_panel=SETTINGS_PANEL,
                ),
            ],
        ),
        (
            "sets",
            None,
            Annotated[
                list[str] | None,
                typer.Option(
                    "--set",
                    metavar="SECTION.KEY=VALUE",
                    help="One setting; repeat it for more. `cgnn config show` lists them.",
                    show_default=False,
                    rich_help_panel=SETTINGS_PANEL,
                ),
            ],
        ),
        (
            "lock_timeout",
            -1.0,
            Annotated[
                float,
                typer.Option(
                    "--lock-timeout",
                    help="Seconds to wait for another process that computes the same; negative: for ever.",
                    rich_help_panel=OUTPUT_PANEL,
                ),
            ],
        ),
    )
)


def _panel_order(parameter: inspect.Parameter) -> int:
    """Help shows what a command takes first, then its method, then how it computes, then its output."""
    panel = getattr(parameter.annotation.__metadata__[0], "rich_help_panel", None) or ""
    if panel.startswith("Stage"):
        return 1
    return {"Compute": 2, OUTPUT_PANEL: 3, SETTINGS_PANEL: 4}.get(panel, 0)


def command(
    app: typer.Typer,
    name: str,
    *,
    group: str = "",
    extra: Sequence[inspect.Parameter] = (),
    sweeps: bool = False,
    **settings: Any,
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Register a function `(session, ...) -> Outcome` as a command with the common options.

    `extra` parameters and `dataset` are settings: they reach the function through `session.settings`, which also knows
    the environment and the configuration file. A command that `sweeps` gets what spans several values as a space.
    """

    def register(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        declared = inspect.signature(function, eval_str=True).parameters.values()
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in declared
            if parameter.name != "session" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
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
            given = Given({**flags, "store": common.pop("store")}, tuple(single), file, preset)
            settings = given.settings(preset=None) if sweeps else given.settings()
            session = Session(full_name, settings=settings, given=given, space=space, **common)
            session.finish(function(session, **own_values))

        parameters = sorted([*own, *extra, *COMMON], key=_panel_order)
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del wrapper.__wrapped__
        app.command(name, **settings)(wrapper)
        return function

    return register
