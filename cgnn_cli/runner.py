"""The runner: carries out plans over a store. What is there is found, what is missing is computed and published."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cgnn_cli.configs import CONFIGS, ComputeConfig, TrainConfig
from cgnn_cli.errors import CorruptError, UpstreamError
from cgnn_cli.pipeline import (
    OPERATOR_ROLE,
    STAGES,
    FitConfig,
    Inputs,
    Step,
    TrainingOf,
    operator_steps,
    operators_in,
)
from cgnn_cli.resources import check_disk, check_memory, memory_limit, thread_count
from cgnn_cli.runs import RunWatch
from cgnn_cli.signals import Stopper
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.provenance import Recorder
from cgnn_cli.store.store import Store

if TYPE_CHECKING:
    from cgnn_cli.engines.sharing import SharedArrays
    from cgnn_cli.graph import Operators, StageData


NOT_STARTED_FROM = {
    "fit": ("the training of a single split", "name the artifact that `cgnn train` prints"),
    "operators": ("the operators of a model", "name the artifact that `cgnn commute` or `cgnn rewire` prints"),
}


class Reporter(Protocol):
    """Who is told what happens."""

    def stage_done(self, header: Header, *, hit: bool) -> None: ...

    def progress(self, done: int, total: int, message: str) -> None: ...


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
    _data: dict[str, StageData] = field(default_factory=dict)

    def obtain(self, step: Step) -> tuple[Header, bool]:
        """The header of a step's artifact and whether it was a cache hit; computed where it is missing."""
        if step.key not in self._done:
            header, hit = self._find_or_compute(step)
            self._done[step.key] = header, hit
            self.reporter.stage_done(header, hit=hit)
        return self._done[step.key]

    def obtain_all(self, steps: Iterable[Step]) -> None:
        """Obtain steps in order; the trainings among them together, in parallel processes, where `--jobs` says so."""
        steps = list(steps)
        fits = [step for step in steps if step.stage.name == "fit" and step.key not in self._done]
        for step in steps:
            if step.stage.name == "fit" and fits:
                self._fit_together(fits)
                fits = []
            self.obtain(step)

    def _fit_together(self, fits: list[Step]) -> None:
        jobs = thread_count(self.compute.jobs, 1)
        if jobs == 1:
            return
        missing = [fit for fit in fits if "fit" in self.forced or not self.store.find("fit", fit.key)]
        if len(missing) < 2:
            return
        from cgnn_cli.engines.local import obtain_together

        for done in obtain_together(self, missing, jobs):
            self._done[done.step.key] = done.header, done.hit
            self.reporter.stage_done(done.header, hit=done.hit)

    def keep_only(self, keys: set[str]) -> None:
        """Forget all artifacts but these, for the sake of memory."""
        self._done = {key: done for key, done in self._done.items() if key in keys}
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
                # It was there a moment ago: a purge of the disk, or another process that put it into quarantine.
                del self._done[step.key]
                header, _ = self.obtain(step)
                self._data.setdefault(step.key, self._load(step, header))
        return self._data[step.key]

    def operators(self, trained: Step) -> Operators:
        """The operators that a training reads, as one."""
        steps = operator_steps(trained.config.train, trained.inputs)
        return operators_in({role: self.data(step) for role, step in steps.items()})

    def _find_or_compute(self, step: Step) -> tuple[Header, bool]:
        name = step.stage.name
        if step.file is not None:
            return files.read(step.file).header, True
        forced = name in self.forced
        if not forced and (header := self.store.find(name, step.key)):
            return header, True
        if not step.can_be_made():
            raise UpstreamError(
                f"the {name} artifact {step.key[:12]} is not in the store {self.store.root}",
                "name the store that has it with --store, or the file itself with another --input, or make it again",
            )
        self.store.check_writable()
        self.obtain_all(step.inputs.values())
        inputs = {role: self.data(needed) for role, needed in step.inputs.items()}
        with self.store.lock(name, step.key):
            if not forced and (header := self.store.find(name, step.key)):
                return header, True
            return self._compute(step, inputs), False

    def _compute(self, step: Step, inputs: Inputs) -> Header:
        self._check_resources(step, inputs)
        for module in step.stage.modules:
            import_module(module)
        watch = RunWatch(self.store, step, self.compute, self.restart, self.stopper, self.reporter.progress)
        recorder = Recorder()
        if step.make is not None:
            data = step.make()
        else:
            with self.stopper.hold() if step.stage.resumable(step.config) else nullcontext():
                data = step.stage.compute(inputs, step.config, self.compute, watch)
        data.summary.update(_standin_mark(inputs))
        header = Header(
            stage=step.stage.name,
            key=step.key,
            algorithm=step.stage.algorithm,
            config=step.config.to_dict(),
            inputs={role: needed.key for role, needed in step.inputs.items()},
            summary=data.summary,
            provenance=recorder.provenance(),
        )
        self._data[step.key] = data
        published = self.store.publish(Artifact(header, data.to_elements()))
        watch.finished()
        return published

    def _check_resources(self, step: Step, inputs: Inputs) -> None:
        """Refuse a computation that would not fit into memory or onto the disk, before it starts."""
        stage = step.stage
        if stage.memory is not None:
            limit = memory_limit(self.compute.memory_limit)
            check_memory(stage.name, stage.memory(inputs, step.config), limit, stage.relief_for(step.config))
        if stage.disk is not None:
            check_disk(stage.name, stage.disk(inputs, step.config), self.store.root)

    def _load(self, step: Step, header: Header) -> StageData:
        from cgnn_cli import graph

        def read() -> tuple[dict[str, Any], dict[str, Any]]:
            path = step.file or self.store.path(step.stage.name, step.key)
            artifact = files.read(path)
            if artifact.header.key != header.key:
                raise UpstreamError(f"{path} changed while it was being read", "run the command again")
            return artifact.elements, artifact.header.summary

        kind: type[StageData] = getattr(graph, step.stage.makes)
        if self.shared is not None and self.shared.shares(step.stage.name):
            return self.shared.get(step.key, kind, read)
        return kind.from_elements(*read())

    def split_count(self, graph: Step) -> int:
        """How many splits a graph has; nothing is written."""
        return self.graph_figure(graph, "splits")

    def graph_figure(self, graph: Step, name: str) -> int:
        """A figure of a graph's summary; nothing is written."""
        header = files.read(graph.file).header if graph.file else self.store.find("graph", graph.key)
        if header is not None:
            return int(header.summary[name])
        assert graph.make is not None
        return int(graph.make().summary[name])

    def forecast(self, step: Step) -> list[dict[str, Any]]:
        """What would be found and what computed, in order, for `--dry-run`."""
        rows: list[dict[str, Any]] = []
        for needed in step.upstream():
            if needed.config is None and needed.make is None and needed.stage.name != "graph":
                continue  # upstream of a named file, and not needed
            name = needed.stage.name
            found = needed.file is not None or (
                name not in self.forced and self.store.find(name, needed.key) is not None
            )
            row: dict[str, Any] = {"stage": name, "key": needed.key, "cache": "hit" if found else "miss"}
            if isinstance(needed.config, FitConfig):
                row["split"] = needed.config.split
            if not found:
                row["reason"] = "--force" if name in self.forced else self._miss_reason(needed)
            rows.append(row)
        return rows

    def _miss_reason(self, step: Step) -> str:
        """Why there is no hit: what differs from the nearest artifact that is there."""
        wanted = header_of(step)
        candidates = [differences(header, wanted) for header in self.store.headers(step.stage.name)]
        if not candidates:
            return "never made in this store"
        nearest = min(candidates, key=len)
        return "differs from the nearest cached one in " + ", ".join(sorted(nearest)) if nearest else "damaged"


def _standin_mark(inputs: Inputs) -> dict[str, str]:
    """What is made from a stand-in is marked with the name of the dataset that it stands for."""
    names = {data.summary["standin"] for data in inputs.values() if "standin" in data.summary}
    return {"standin": names.pop()} if names else {}


def header_of(step: Step) -> Header:
    """The header that a step's artifact would have, without results."""
    keys = {role: needed.key for role, needed in step.inputs.items()}
    return Header(step.stage.name, step.key, step.stage.algorithm, step.config.to_dict(), keys, summary={})


def differences(a: Header, b: Header) -> dict[str, tuple[Any, Any]]:
    """What two headers of one stage disagree in, of all that goes into a key."""
    left = {"algorithm": a.algorithm, **a.config, **{f"input {role}": key for role, key in a.inputs.items()}}
    right = {"algorithm": b.algorithm, **b.config, **{f"input {role}": key for role, key in b.inputs.items()}}
    names = [*left, *(name for name in right if name not in left)]
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def given_step(store: Store, header: Header, named: dict[str, Path]) -> Step:
    """A step whose artifact exists, with all it was made from: in named files, or in the store."""
    inputs: dict[str, Step] = {}
    for role, key in header.inputs.items():
        if role.startswith(("fit-", OPERATOR_ROLE)):
            continue  # the results of a training, and what its plan makes again
        path = named.get(key)
        upstream = files.read(path).header if path else store.find(role, key)
        if upstream is None:
            if role == "graph":
                raise UpstreamError(
                    f"{header.stage} {header.key[:12]} was made from the graph {key[:12]}, which is not in the store "
                    f"{store.root}",
                    "name the store that has it with --store, or the graph's file with another --input",
                )
            inputs[role] = Step(STAGES[role], None, {}, key)
        else:
            inputs[role] = given_step(store, upstream, named)
    return Step(STAGES[header.stage], _config_of(header), inputs, header.key, file=named.get(header.key))


def _config_of(header: Header) -> Any:
    """The configuration of an artifact, as its stage takes it."""
    if header.stage == "graph":
        return None
    config = CONFIGS[header.stage].from_dict(header.config)
    return TrainingOf(config, tuple(header.config["splits"])) if isinstance(config, TrainConfig) else config


def named_steps(store: Store, paths: Iterable[Path]) -> list[Step]:
    """The artifacts in files that the user named; they must belong together."""
    headers: dict[str, Header] = {}
    named: dict[str, Path] = {}
    for path in paths:
        header = files.read(path).header
        if header.stage in NOT_STARTED_FROM:
            what, hint = NOT_STARTED_FROM[header.stage]
            raise UpstreamError(f"{path} holds {what}, from which no stage goes on", hint)
        headers[header.key], named[header.key] = header, path
    steps = [given_step(store, header, named) for header in headers.values()]
    graphs = {graph.key for step in steps if (graph := step.find("graph"))}
    if len(graphs) > 1:
        raise UpstreamError(
            "the artifacts named by --input belong to different graphs: " + ", ".join(sorted(k[:12] for k in graphs))
        )
    order = list(STAGES)
    steps.sort(key=lambda step: order.index(step.stage.name))
    for step in steps:
        used = steps[-1].find(step.stage.name)
        if used and used.key != step.key:
            raise UpstreamError(
                f"--input names {step.stage.name} {step.key[:12]}, but {steps[-1].stage.name} "
                f"{steps[-1].key[:12]} comes from {used.stage.name} {used.key[:12]}",
                "name files that were made from each other",
            )
    return steps
