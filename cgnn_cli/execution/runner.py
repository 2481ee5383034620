"""The runner: carries out plans over a store. What is there is found, what is missing is computed and published."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import CorruptError, ResourceError, UpstreamError
from cgnn_cli.estimates import PILED_UP
from cgnn_cli.execution.snapshots import Show, SnapshotWatch, check_tensorboard
from cgnn_cli.freed_memory import keeping_blocks
from cgnn_cli.operators.operator_table import OPERATORS
from cgnn_cli.pipeline import Inputs, Step, merge_operators, operator_steps, parts_in
from cgnn_cli.ranks import leading
from cgnn_cli.resources import (
    LEAST_TORCH_SPACE,
    check_address_space,
    check_disk,
    check_memory,
    lacks_memory,
    memory_limit,
    on_device,
)
from cgnn_cli.signals import Stopper
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.provenance import Recorder
from cgnn_cli.store.store import Store

SPINS = "1000"  # looks at what it waits for, before a thread sleeps; read when torch is loaded

if TYPE_CHECKING:
    from cgnn_cli.execution.lending import Lender
    from cgnn_cli.execution.sharing import SharedArrays
    from cgnn_cli.graph import Operators, StageData


class Reporter(Protocol):
    """Who is told what happens."""

    def stage_done(self, header: Header, *, hit: bool) -> None: ...

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None: ...

    def progress(self, done: int, total: int, message: str) -> None: ...


class Silence:
    """A reporter that tells nobody."""

    def stage_done(self, header: Header, *, hit: bool) -> None:
        """An artifact is there."""

    def begins(self, what: str, key: str = "", *, passing: bool = False) -> None:
        """Something is about to be done."""

    def progress(self, done: int, total: int, message: str) -> None:
        """A computation goes on."""


LOADS = 10  # of an artifact that others make and remove all the time


@dataclass
class Runner:
    """Carries out plans over a store: what is there is found, what is missing is computed and published.

    A worker of a pool has `shared` arrays, which its neighbours use too.
    """

    store: Store
    reporter: Reporter
    compute: ComputeConfig = field(default_factory=ComputeConfig)
    restart: bool = False
    forced: frozenset[str] = frozenset()
    stopper: Stopper = field(default_factory=Stopper)
    shared: SharedArrays | None = None
    _done: dict[str, tuple[Header, bool]] = field(default_factory=dict)
    _found: dict[str, Header] = field(default_factory=dict)
    _data: dict[str, StageData] = field(default_factory=dict)
    _lender: Lender | None = None

    def obtain(self, step: Step, progress: Show | None = None) -> tuple[Header, bool]:
        """The header of a step's artifact and whether it was a cache hit; computed where it is missing."""
        if step.key not in self._done:
            self.note(step, *self._find_or_compute(step, progress or self._shown(step)))
        return self._done[step.key]

    def _shown(self, step: Step) -> Show:
        """Progress of a step as it is told where it is the only one: a training's with its split."""
        place = "" if step.split is None else f"split {step.split}  "
        return lambda done, total, message: self.reporter.progress(done, total, f"{place}{message}")

    def note(self, step: Step, header: Header, hit: bool) -> None:
        """Remember an artifact that was obtained, here or elsewhere, and tell of it once."""
        if step.key not in self._done:
            self._done[step.key] = header, hit
            self.reporter.stage_done(header, hit=hit)

    def find(self, step: Step) -> Header | None:
        """The header of a step's artifact, if it need not be computed."""
        if step.key in self._done:
            return self._done[step.key][0]
        if step.stage.name in self.forced:
            return None
        if header := self._found.get(step.key) or self.store.find(step.stage.name, step.key):
            self._found[step.key] = header
        return header

    def check_compute(self, *targets: Step) -> None:
        """Refuse a device, a log or a class that is not there before anything is computed, where a model is missing."""
        learning = [step for target in targets for step in target.lineage if step.stage.sent and step.config]
        # torch is imported only where its answer is needed; of a device elsewhere its worker knows
        on_cuda = self.compute.device.startswith("cuda") and self.compute.cluster is None
        named = any(step.config.train.named_classes() for step in learning)
        if not (on_cuda or self.compute.for_tensorboard or named):
            return
        missing = {step.key: step for step in learning if step.file is None and not self.find(step)}.values()
        for step in missing:
            if graph := step.find("graph"):
                for name in step.config.train.named_classes():
                    self.data(graph).class_number(name)
        if not any(step.stage.in_workers for step in missing):
            return
        check_tensorboard(self.compute)
        if on_cuda:
            self.load_torch()
            from cgnn_cli.stages.task import choose_device

            choose_device(self.compute.device)

    def load_torch(self) -> None:
        """Import torch, which may take many seconds the first time: not without a word.

        A thread that waits for others does so asleep after some 20 microseconds, where OpenMP would spin for
        milliseconds: on a busy machine two threads took 15 times the CPU time of one.
        """
        if "torch" not in sys.modules:
            if "OMP_WAIT_POLICY" not in os.environ:
                os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
            self.reporter.begins("loading torch")
            import_module("torch")

    def keep_only(self, keys: set[str]) -> None:
        """Forget the contents of all artifacts but these, for the sake of memory."""
        self._data = {key: data for key, data in self._data.items() if key in keys}

    def data(self, step: Step) -> Any:
        """The content of a step's artifact."""
        header, _ = self.obtain(step)
        if step.key not in self._data:
            try:
                self._data[step.key] = self._load(step, header)
            except (UpstreamError, CorruptError):
                if step.file is not None:
                    raise
                self._load_again(step)
        return self._data[step.key]

    def _load_again(self, step: Step) -> None:
        """Load what was there a moment ago: a clean-up, a purge, or another process's quarantine was faster.

        It is read under its lock, where no clean-up can come between; what is not there is made again.
        """
        for _ in range(LOADS):
            del self._done[step.key]
            self._found.pop(step.key, None)
            with self.store.lock(step.stage.name, step.key):
                if header := self.find(step):
                    self._data[step.key] = self._load(step, header)
                    self._done[step.key] = header, True
                    return
            self.obtain(step)
            if step.key in self._data:  # computed here
                return
        raise UpstreamError(
            f"{step.stage.name} {step.key[:12]} vanishes from the store again and again", "stop what removes it there"
        )

    def operators(self, trained: Step) -> Operators:
        """The operators that a training reads, as one."""
        steps = operator_steps(trained.config.train, trained.inputs)
        return merge_operators({role: self.data(step) for role, step in steps.items()})

    def _find_or_compute(self, step: Step, progress: Show) -> tuple[Header, bool]:
        name = step.stage.name
        self.stopper.hear()
        if step.file is not None:
            return files.read(step.file).header, True
        if header := self.find(step):
            return header, True
        if not step.can_be_made():
            raise UpstreamError(
                f"the {name} artifact {step.key[:12]} is not in the store {self.store.root}",
                "name the store that has it with --store, or the file itself with another --input, or make it again",
            )
        from cgnn_cli.scratch import lying_in

        self.store.check_writable(name)
        if name in self.forced:
            self.store.find(name, step.key)  # refuses what may not be replaced, before anything is computed
        for needed in step.inputs.values():
            self.obtain(needed)
        inputs = {role: self.data(needed) for role, needed in step.inputs.items()}
        with self.store.lock(name, step.key):
            if header := self.find(step):
                return header, True
            try:
                with lying_in(self.store.root, memory_limit(self.compute.memory_limit)):
                    return self._compute(step, inputs, progress), False
            except Exception as error:
                if not lacks_memory(error) or on_device(error):
                    raise
                split = "" if step.split is None else f" of split {step.split}"
                hint = f"{self._relief(step)}; fewer --jobs or other programs leave more"
                raise ResourceError(f"not enough memory for {name}{split}", hint) from error

    @staticmethod
    def _relief(step: Step) -> str:
        """What makes a step need less memory."""
        return OPERATORS[step.config.kind].relief if step.stage.name == "operators" else step.stage.relief

    def _compute(self, step: Step, inputs: Inputs, progress: Show) -> Header:
        stage = step.stage
        if stage.sent is not None:  # those of models, which load torch
            check_address_space(LEAST_TORCH_SPACE, "the libraries of models")
        roomy = False
        if stage.memory is not None:
            needed, limit = stage.memory(inputs, step.config, self.compute), memory_limit(self.compute.memory_limit)
            check_memory(stage.name, needed, limit, self._relief(step))
            roomy = stage.sent is not None and PILED_UP * needed <= limit
        if stage.disk is not None:
            check_disk(stage.name, stage.disk(inputs, step.config), self.store.root)
        if leading.size() > 1 and not stage.over_ranks(step.config):
            self.store.warn(f"{stage.name}: rank 0 computes this alone, and the other ranks wait")
        if stage.sent is not None:
            self.load_torch()
        self.reporter.begins(step.title, step.key)
        module = import_module(stage.module) if stage.module else None
        lend = partial(self._lend, step)
        watch = SnapshotWatch(self.store, step, self.compute, self.restart, self.stopper, progress, lend)
        self.stopper.hear()
        recorder = Recorder()
        if step.make is not None:
            data = step.make()
        else:
            assert stage.compute is not None
            with self.stopper.hold() if stage.resumable(step.config) else nullcontext(), keeping_blocks(roomy):
                data = stage.compute(module, inputs, step.config, self.compute, watch)
        if not (self.stopper.holding or stage.resumable(step.config)):
            self.stopper.hear()
        # What is made from a stand-in is marked with the name of the dataset that it stands for.
        if names := {made.summary["standin"] for made in inputs.values() if "standin" in made.summary}:
            data.summary["standin"] = names.pop()
        keys = {role: needed.key for role, needed in step.inputs.items()}
        provenance = recorder.provenance()
        header = Header(stage.name, step.key, stage.algorithm, step.config.to_dict(), keys, data.summary, provenance)
        self._data[step.key] = data
        published = self.store.publish(Artifact(header, data.to_elements()))
        watch.finished()
        return published

    def _lend(self, step: Step) -> list[int] | None:
        """Let the other ranks of torchrun hold the graph and the operators that a step reads."""
        if (group := leading.GROUP) is None:
            return None
        from cgnn_cli.execution.lending import Lender

        if self._lender is None:
            self._lender = Lender(group)

        def lent(needed: Step) -> int:
            assert self._lender is not None
            stage, path = needed.stage, needed.file or self.store.path(needed.stage.name, needed.key)
            return self._lender.lend(path, needed.key, stage.makes)

        needed = [step.inputs["graph"], *parts_in(step.inputs, "operators").values()]
        self._lender.keep_only({each.key for each in needed})
        return [lent(each) for each in needed]

    def _load(self, step: Step, header: Header) -> StageData:
        from cgnn_cli import graph

        def read() -> tuple[dict[str, Any], dict[str, Any]]:
            self.reporter.begins(f"reading {step.stage.name} {step.key[:12]}", passing=True)
            path = step.file or self.store.path(step.stage.name, step.key)
            artifact = files.read(path)
            if artifact.header.key != header.key:
                raise UpstreamError(f"{path} changed while it was being read", "run the command again")
            return artifact.elements, artifact.header.summary

        kind: type[StageData] = getattr(graph, step.stage.makes)
        if self.shared is not None and step.stage.shared:
            return self.shared.get(step.key, kind, read)
        return kind.from_elements(*read())

    def graph_figure(self, graph: Step, name: str) -> int:
        """A figure of a graph's summary; nothing is written."""
        header = files.read(graph.file).header if graph.file else self.store.find("graph", graph.key)
        if header is not None:
            return int(header.summary[name])
        assert graph.make is not None
        return int(graph.make().summary[name])
