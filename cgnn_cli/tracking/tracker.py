"""Trackers of experiments: results are told to one by the process that was called, when they are done.

So it makes no difference which process or machine trained, and a result that was found is told as one that was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, Protocol

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.datasets.wording import one_line
from cgnn_cli.errors import UsageError
from cgnn_cli.execution.results import Run
from cgnn_cli.redaction import redacted
from cgnn_cli.report.table import counted
from cgnn_cli.store.store import Store
from cgnn_cli.tracking.tracked import Tracked, tracked


class Kind(NamedTuple):
    """A tracker by its name for people, the package that it needs, and the module and class behind it."""

    title: str
    package: str
    module: str
    name: str


KINDS = {
    "mlflow": Kind("MLflow", "mlflow", "cgnn_cli.tracking.mlflow_runs", "MlflowRuns"),
    "wandb": Kind("W&B", "wandb", "cgnn_cli.tracking.wandb_runs", "WandbRuns"),
}
INSTALL = 'pip install "cgnn[track]"'


class Told(Protocol):
    """What stands behind a tracker."""

    def has(self, key: str) -> bool: ...

    def log(self, result: Tracked) -> None: ...


@dataclass
class Tracker:
    """Tells one tracker of runs, each once. One that fails is told nothing more; that is a warning, no failure."""

    store: Store
    kind: Kind
    logged: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    failed: bool = False

    @classmethod
    def of(cls, compute: ComputeConfig, store: Store) -> Tracker | None:
        """The tracker that is asked for, if it can be had."""
        kind = KINDS.get(compute.track)
        if kind is not None and find_spec(kind.package) is None:
            raise UsageError(f"--track {compute.track} needs {kind.title}, which is not installed", INSTALL)
        return kind and cls(store, kind)

    @cached_property
    def _told(self) -> Told:
        told: Told = getattr(import_module(self.kind.module), self.kind.name)()
        return told

    def log(self, run: Run, name: str) -> None:
        """Tell of a run that is done, unless the tracker has it."""
        key = run.key or run.checkpoint
        if self.failed or run.status != "done" or key in self.logged | self.known:
            return
        try:
            if self._told.has(key):
                self.known.add(key)
            else:
                self._told.log(tracked(run, self.store, name))
                self.logged.add(key)
        except Exception as error:  # of any library behind it; the result itself is safe in the store
            self.failed = True
            self.store.warn(f"{self.kind.title} could not be told of {name}: {redacted(one_line(error))}")

    def said(self) -> str:
        """What was logged, in a line."""
        parts = [counted(len(self.logged), "result") + " logged"] if self.logged else []
        parts += [counted(len(self.known), "result") + " there already"] if self.known else []
        return f"{self.kind.title}: {', '.join(parts)}" if parts else ""
