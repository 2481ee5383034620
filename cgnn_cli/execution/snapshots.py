"""Runs in progress: snapshots to go on from, and metrics line by line.

STORE/partial/<key>.h5            the last snapshot of an unfinished computation
STORE/runs/<key>/metrics.jsonl    one JSON object an epoch, appended and flushed
STORE/runs/<key>/events.*         the same for TensorBoard, if `--tensorboard` or `--track tensorboard` asks
"""

import json
import time
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import CorruptError, ForeignError, UsageError
from cgnn_cli.pipeline import Step
from cgnn_cli.ranks import leading
from cgnn_cli.resources import thread_count
from cgnn_cli.signals import Stopper
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.disk import open_plain, patiently, unreadable, write_atomically
from cgnn_cli.store.housekeeping import are_metrics
from cgnn_cli.store.provenance import library_versions
from cgnn_cli.store.store import Store
from cgnn_cli.watch import Snapshot, Watch

PARTIAL = "partial"
Show = Callable[[int, int, str], None]


def check_tensorboard(compute: ComputeConfig) -> None:
    if compute.for_tensorboard and find_spec("tensorboard") is None:
        raise UsageError("--tensorboard needs the package tensorboard", "pip install tensorboard, or leave it out")


class SnapshotWatch(Watch):
    """Watches one computation for the store."""

    def __init__(
        self,
        store: Store,
        step: Step,
        compute: ComputeConfig,
        restart: bool,
        stopper: Stopper,
        show: Show,
        lend: Callable[[], list[int] | None] = lambda: None,
    ) -> None:
        self.store, self.key, self.algorithm = store, step.key, step.stage.algorithm
        self.resumable = step.config is not None and step.stage.resumable(step.config)
        self.compute, self.restart, self.stopper, self.show, self._lend = compute, restart, stopper, show, lend
        self.path = store.root / PARTIAL / f"{step.key}.h5"
        self.metrics = store.root / "runs" / step.key / "metrics.jsonl"
        self._saved = time.monotonic()
        self._kept = 0
        check_tensorboard(compute)

    def progress(self, done: int, total: int, message: str) -> None:
        if not self.resumable:  # others save their state first
            self.stopper.hear()
        self.show(done, total, message)

    def resume(self) -> Snapshot | None:
        self._check_own()
        snapshot = None if self.restart else self._read()
        self._kept = 0 if snapshot is None else int(snapshot.values["epoch"])
        self._trim_metrics(self._kept)
        return snapshot

    def _read(self) -> Snapshot | None:
        if not self.path.exists():
            return None
        try:
            artifact = files.read(self.path)
        except (CorruptError, ForeignError) as error:  # one that cannot be read now, or is newer, is not lost
            self.store.warn(f"the saved state of an unfinished run is not used: {error.message}")
            return None
        header = artifact.header
        if header.key != self.key or header.algorithm != self.algorithm:
            self.store.warn(f"the saved state {self.path} is not used: it belongs to another run, {header.key[:12]}")
            return None
        self._say_differences(header)
        return Snapshot(artifact.elements, header.summary)

    def _is_own(self) -> bool:
        """Whether what lies in the place of the saved state says that it is this run's, or nothing could be lost."""
        try:
            if not self.path.exists() or (self.path.is_file() and not self.path.stat().st_size):
                return True
            return self.path.is_file() and patiently(lambda: files.says_it_is(self.path, PARTIAL, self.key))
        except FileNotFoundError:  # another process has just finished the same
            return True
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _check_own(self) -> None:
        """Refuse to work where the state or the metrics would replace what is not this run's."""
        foreign = None if self._is_own() else self.path
        try:
            if self.metrics.exists() and not (self.metrics.is_file() and are_metrics(self.metrics)):
                foreign = self.metrics
        except OSError as error:
            raise self.store.storage_error(error, 0) from error
        if foreign is not None:
            what = f"{foreign} is in the place of what this run saves, is not its own, and stays as it is"
            raise ForeignError(what, "move it away, or name another --store")

    def _say_differences(self, header: Header) -> None:
        values = header.summary
        self.store.warn(f"going on with {self.key[:12]} after {values.get('unit', 'epoch')} {values['epoch'] - 1}")
        threads = thread_count(self.compute.threads, 1)
        if values.get("threads", threads) != threads:
            self.store.warn(
                f"the run was begun with {values['threads']} threads and goes on with {threads}: "
                "its last digits may differ from an undisturbed run"
            )
        ranks = leading.size()
        if values.get("ranks", ranks) != ranks:
            self.store.warn(
                f"the run was begun with {values['ranks']} ranks and goes on with {ranks}: "
                "what it draws at random is not what an undisturbed run draws"
            )
        versions = library_versions()
        changed = {name for name in ("cgnn", "numpy", "torch") if header.config.get(name) != versions[name]}
        if changed:
            self.store.warn(f"the run was begun with other versions of {', '.join(sorted(changed))}")

    def snapshot_due(self) -> bool:
        return time.monotonic() - self._saved >= self.compute.snapshot_seconds

    def save(self, snapshot: Snapshot) -> None:
        self._check_own()
        header = Header(PARTIAL, self.key, self.algorithm, library_versions(), {}, snapshot.values)
        self.store.write_partial(self.path, Artifact(header, snapshot.elements))
        self._saved = time.monotonic()
        if "board" in self.__dict__:
            self.board.flush()

    @cached_property
    def board(self) -> Any:
        """TensorBoard's writer; the epochs of an earlier attempt that are done again are purged."""
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(str(self.metrics.parent), purge_step=self._kept, flush_secs=10)

    def record(self, metrics: dict[str, Any]) -> None:
        try:
            if self.compute.for_tensorboard:
                for name in metrics.keys() - {"epoch"}:
                    self.board.add_scalar(name, metrics[name], metrics["epoch"])
            self.metrics.parent.mkdir(parents=True, exist_ok=True)
            with open(self.metrics, "a", encoding="utf-8", opener=open_plain) as file:
                file.write(json.dumps(metrics) + "\n")
        except OSError as error:
            raise self.store.storage_error(error, 0) from error

    def _trim_metrics(self, kept: int) -> None:
        """Drop the lines of epochs that will be done again."""
        if not self.metrics.exists():
            return
        try:
            with open(self.metrics, "rb", opener=open_plain) as file:
                lines = file.read().splitlines(keepends=True)
            write_atomically(self.metrics, b"".join(lines[:kept]))
        except OSError as error:
            raise self.store.storage_error(error, 0) from error

    def stop_requested(self) -> bool:
        return self.stopper.requested()

    def lend(self) -> list[int] | None:
        return self._lend()

    def finished(self) -> None:
        """The result is published: the snapshot has done its service."""
        if self.resumable and self._is_own():
            self.path.unlink(missing_ok=True)
        if "board" in self.__dict__:
            self.board.close()
