"""Estimates of memory against measured peaks: every stage, each in a process of its own, from 10^4 to 10^7 edges.

    python benchmarks/memory.py --edges 10000 100000 --store FOLDER

A peak is what the process of a stage holds at most, from reading its inputs to the published artifact, above what it
held before: all that is imported, and warm from the same stage on a tiny graph. Peaks below the least estimate count as
that: what a process holds by itself varies by so much. Where arrays lie in mapped files, which are no memory of the
process, its peak is the largest of many looks at what is not.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli import estimates
from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig, StageConfig
from cgnn_cli.datasets.files import importing
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.registry import GraphContent, graph_step
from cgnn_cli.execution import runner as runners
from cgnn_cli.graph import Graph
from cgnn_cli.keys import artifact_key
from cgnn_cli.models.model_table import train_config
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.pipeline import STAGES, Step, plan
from cgnn_cli.resources import MAPPED_FROM
from cgnn_cli.store.store import Store
from cgnn_cli.workspace import Silence

THRESHOLD = "MALLOC_MMAP_THRESHOLD_"
OWN = Path("/proc/self/cmdline").read_bytes()
STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
EDGES = (10_000, 100_000, 1_000_000, 10_000_000)
TINY = 400
DEGREE = 8  # edges a node
SHAPES = ("even", "skewed", "bare")
FEATURES, FILLED, CLASSES = 64, 0.1, 5
IMPORTED_FEATURES = 16


@dataclass(frozen=True)
class Case:
    """A stage with some settings, and the most edges that it is measured with."""

    stage: str
    rewire: dict[str, Any] = field(default_factory=dict)
    dilap: dict[str, Any] = field(default_factory=dict)
    commute: dict[str, Any] = field(default_factory=dict)
    train: dict[str, Any] = field(default_factory=dict)
    most: int = EDGES[-1]

    @property
    def configs(self) -> dict[str, StageConfig]:
        return {
            "rewire": RewireConfig(**self.rewire),
            "dilap": DilapConfig(**self.dilap),
            "commute": CommuteConfig(**{"solver": "pi-only", "proximity": "none", **self.commute}),
            "train": train_config(**{"model": "gcn", "epochs": 3, **self.train}),
        }

    @property
    def name(self) -> str:
        """The stage and what is not as always, as options of the command line."""
        given = {**self.rewire, **self.dilap, **self.commute, **self.train}
        words = [name.replace("_", "-") + ("" if value is True else f" {value}") for name, value in given.items()]
        return " --".join([self.stage, *words])


def solver(name: str, **options: Any) -> dict[str, Any]:
    return {"solver": name, "proximity": "exp", **options}


@dataclass(frozen=True)
class Import:
    """The import of a graph from files of one kind."""

    kind: str
    features: bool = False

    @property
    def name(self) -> str:
        return f"graph --edges edges.{self.kind}" + f" --features features.{self.kind}" * self.features


DEEP = {"layers": 5, "jumping_knowledge": "cat", "l2_norm": True, "batch_norm": True}
DEEP_MODEL = {"model": "dirgnn", **DEEP}
MODELS: tuple[dict[str, Any], ...] = (
    {"model": "cgnn"},
    {"model": "cgnn", "direction": "undirected"},
    {"model": "cgnn", "hidden": 128, **DEEP},
    {"model": "cgnn", "propagation": "ppr"},
    {"model": "cgnn", "batch_nodes": 1024},
    DEEP_MODEL,
    {"model": "gcn"},
    {"model": "gcn", "hidden": 256},
    {"model": "gcn", "batch_nodes": 1024},
    {"model": "sage", "layers": 3},
    {"model": "mlp"},
    {"model": "linear"},
    {"model": "appnp"},
    {"model": "gprgnn"},
    {"model": "gcnii", "layers": 8},
    {"model": "mixhop"},
    {"model": "digcn"},
    {"model": "magnet"},
    {"model": "dgcn"},
    {"model": "duplex"},
    {"model": "gat"},
    {"model": "gat", "heads": 4},
    {"model": "dirgnn", "variant": "gat"},
    {"model": "gcn", "degree_features": True},
    *({"model": "gcn", "encoding": name} for name in ("structural", "degrees", "adjacency", "head-start", "laplacian")),
    {"model": "gcn", "encoding": "laplacian", "input_dropout": 0.5},
    {"model": "mlp", "encoding": "laplacian", "encoding_size": 128},
    {"model": "gcn", "feature_scaling": "standard", "input_dropout": 0.5},
    {"model": "gcn", "metric": "average-precision", "class_weights": "balanced"},
    {"model": "gcn", "label_walk": True},
    {"model": "gcn", "label_walk": True, "encoding": "laplacian"},
    {"model": "gcn", "label_walk": True, "batch_nodes": 1024},
    {"model": "gcn", "calibrate": True},
    {"model": "absorption"},
    {"model": "absorption", "walk_direction": "out", "death_rate": 0.05},
)
LARGEST = ({"model": "cgnn"}, {"model": "gcn"}, {"model": "gcn", "batch_nodes": 1024})
CASES = (
    Case("rewire"),
    Case("rewire", rewire={"method": "none"}),
    Case("rewire", rewire={"method": "teleport"}),
    Case("rewire", rewire={"method": "escape"}),
    Case("rewire", rewire={"walk": "symmetric"}),
    Case("rewire", rewire={"method": "path"}),
    Case("rewire", rewire={"method": "escape", "walk": "symmetric"}),
    Case("dilap"),
    Case("dilap", dilap={"form": "random-walk"}),
    Case("dilap", rewire={"method": "teleport"}),
    Case("dilap", rewire={"method": "escape"}),
    Case("commute", commute=solver("pi-only")),
    Case("commute", commute=solver("series")),
    Case("commute", commute=solver("series", steps=3), most=1_000_000),
    Case("commute", commute=solver("sketch", probes=8)),
    Case("commute", commute=solver("svd", rank=5)),
    Case("commute", commute=solver("svd", rank=20), most=1_000_000),
    Case("commute", commute=solver("exact"), most=40_000),
    Case("commute", commute={"solver": "series", "proximity": "affinity"}),
    Case("commute", commute={"solver": "exact", "proximity": "affinity"}, most=40_000),
    Case("commute", commute={"proximity": "neighbours"}),
    Case("commute", commute={"solver": "series", "proximity": "ratio", "scale": "median"}),
    Case("commute", commute=solver("series", tolerance=0.001)),
    Case("commute", commute=solver("series", verify=8)),
    Case("commute", rewire={"method": "teleport"}, commute=solver("series")),
    Case("commute", rewire={"method": "escape"}, commute={"solver": "series", "proximity": "affinity"}),
    Case("commute", rewire={"method": "escape"}, commute=solver("sketch", probes=8)),
    *(Case("eval", train=model, most=EDGES[-1 if model in LARGEST else -2]) for model in MODELS),
    Case("eval", train={"model": "digcn-ib"}, most=100_000),
    Case("eval", train={"model": "digcl", "pretrain_epochs": 2, "anchors": 500}, most=100_000),
    Case("eval", train={"model": "gcn", "knn": 5}, most=100_000),
    Case("eval", train={"model": "gcn", "label_input": True}, most=100_000),
)
IMPORTS = tuple(Import(kind, features) for kind, features in product(("csv", "csv.gz", "parquet"), (False, True)))
QUICK = tuple(
    case
    for case in CASES
    if case.train == {"model": "cgnn"} or (case.stage != "eval" and not case.rewire and case.commute.get("rank") != 20)
)

WARM: set[str] = set()  # cases that this process has run


def random_graph(edges: int, shape: str) -> Graph:
    """A random graph with features, labels and a split; skewed: hubs, and dense features; bare: hubs, and none."""
    generator = np.random.default_rng(edges)
    nodes = max(edges // DEGREE, 10)
    source, target = generator.integers(nodes, size=(2, edges))
    features: Any
    if shape in ("skewed", "bare"):
        target = (nodes * generator.random(edges) ** 3).astype(np.int64)
        features = generator.random((nodes, FEATURES), dtype=np.float32) if shape == "skewed" else None
    else:
        filled = int(FILLED * FEATURES * nodes)
        places = generator.integers(nodes, size=filled), generator.integers(FEATURES, size=filled)
        features = canonical_csr(csr_array((np.ones(filled), places), shape=(nodes, FEATURES))).astype(np.float32)
    adjacency = canonical_csr(csr_array((np.ones(edges), (source, target)), shape=(nodes, nodes)))
    adjacency.data[:] = 1
    names = np.array([f"class {number}".encode() for number in range(CLASSES)])
    splits = generator.integers(1, 4, size=(1, nodes)).astype(np.uint8)
    labels = np.arange(nodes) % CLASSES
    splits[0, : 3 * CLASSES] = np.repeat([1, 2, 3], CLASSES)
    return Graph(adjacency=adjacency, features=features, labels=labels, class_names=names, splits=splits)


def steps_of(case: Case, graph: Step) -> list[Step]:
    """The steps of a case that need an estimate, each once: operators and trainings stand before the evaluation."""
    wanted = plan(case.stage, graph, case.configs, [0])
    return [step for step in wanted.lineage if step.stage.memory is not None]


def stored_graph(store: Store, edges: int, shape: str) -> Step:
    """The step of a graph in the store; it is made where it is missing."""
    note = store.root / f"{shape}-{edges}.txt"
    if not note.exists():
        step = graph_step(random_graph(edges, shape))
        runners.Runner(store, Silence()).obtain(step)
        note.write_text(step.config.content)
    content = GraphContent(note.read_text())
    key = artifact_key("graph", STAGES["graph"].algorithm, content.to_dict(), {})
    return Step(STAGES["graph"], content, {}, key, features="none" if shape == "bare" else "own")


@dataclass(frozen=True)
class Measured:
    """What a stage was thought to need and what it held, in bytes."""

    name: str
    estimate: int
    peak: int

    @property
    def ratio(self) -> float:
        """Peaks below the least estimate count as that."""
        return self.estimate / max(self.peak, estimates.LEAST)

    def row(self, edges: int, shape: str) -> str:
        """A line for people, in MiB."""
        sizes = f"{self.estimate / 2**20:8,.0f} {self.peak / 2**20:8,.0f}"
        return f"{edges:>10,} {shape:7} {self.ratio:5.2f} {sizes}  {self.name}"


def measure(name: str, work: Callable[[], tuple[object, bool]]) -> Measured:
    """Do work that obtains one artifact, and look at what the process held."""
    found: list[int] = []
    for module in (runners, importing):
        setattr(module, "check_memory", lambda stage, needed, limit, hint: found.append(needed))  # noqa: B010
    gc.collect()
    before = _status("VmRSS")
    FORGET.write_text("5")
    with Helpers() as helpers:
        _, hit = work()
    if hit or len(found) != 1:
        raise RuntimeError(f"{name} was to be measured, but it or its inputs were there or missing")
    own = max(_status("VmHWM"), helpers.peak) if helpers.files < MAPPED_FROM else helpers.private
    return Measured(name, found[0], own - before)


def obtain(store: Store, step: Step) -> tuple[object, bool]:
    """A step whose inputs are there."""
    return runners.Runner(store, Silence()).obtain(step)


def import_files(store: Store, options: ImportOptions) -> tuple[object, bool]:
    """What `cgnn data import` does."""
    return obtain(store, graph_step(importing.import_graph(options)))


def written_files(case: Import, folder: Path, edges: int, shape: str) -> ImportOptions:
    """The files of a random graph: even ones have numbers as ids, skewed ones names, and hubs."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    graph = random_graph(edges, shape)
    written = f"user_{{:0{len(str(graph.node_count))}d}}" if shape == "skewed" else "{}"
    ids = pa.array([written.format(node) for node in range(graph.node_count)])
    source, target = (ids.take(pa.array(ends)) for ends in graph.adjacency.tocoo().coords)
    values = np.random.default_rng(0).random((IMPORTED_FEATURES, graph.node_count)).round(5)
    columns = {f"x{number}": column for number, column in enumerate(values)}
    tables = {"edges": pa.table({"source": source, "target": target})}
    if case.features:
        tables["features"] = pa.table({"id": ids, **columns})
    for role, table in tables.items():
        path = str(folder / f"{role}.{case.kind}")
        if case.kind == "parquet":
            parquet.write_table(table, path)
            continue
        with pa.output_stream(path, compression="detect") as stream:
            csv.write_csv(table, stream, csv.WriteOptions(quoting_style="none"))
    features = folder / f"features.{case.kind}" if case.features else None
    return ImportOptions(edges=folder / f"edges.{case.kind}", features=features)


class Helpers:
    """The most that this process holds with those that it started: what is shared counts once.

    files: by how much the pages of files have grown; private: the same without these.
    """

    def __init__(self) -> None:
        self.peak = self.files = self.private = 0
        self._mapped = _status("RssFile")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Helpers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            held = 0
            for task in Path("/proc/self/task").iterdir():
                with suppress(OSError, StopIteration):  # it is over
                    for child in (task / "children").read_text().split():
                        status = Path("/proc") / child / "status"
                        if status.with_name("cmdline").read_bytes() != OWN:  # still this memory
                            held += _status("VmHWM", status) - _status("RssShmem", status)
            whole, grown = _status("VmRSS"), _status("RssFile") - self._mapped
            self.peak, self.files = max(self.peak, whole + held), max(self.files, grown)
            self.private = max(self.private, whole - max(grown, 0) + held)


def _status(name: str, status: Path = STATUS) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])


def label(case: Case, step: Step) -> str:
    """How a step is called in the table."""
    kind = f" {step.config.kind}" if step.stage.name == "operators" else ""
    return case.name.replace(case.stage, step.stage.name + kind, 1)


def warm_up(case: Case, shape: str) -> None:
    """Run a case on a tiny graph: what is loaded at first use is not measured."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        runner = runners.Runner(store, Silence())
        for step in steps_of(case, stored_graph(store, TINY, shape)):
            runner.obtain(step)


def missing(store: Store, edges: int, shape: str, cases: tuple[Case, ...] = CASES) -> Iterator[tuple[Case, int, str]]:
    """The steps that are not in the store yet: the case, the number of the step in it, and its name."""
    graph = stored_graph(store, edges, shape)
    seen = set()
    for case in cases:
        if edges <= case.most:
            for number, step in enumerate(steps_of(case, graph)):
                if step.key not in seen and store.find(step.stage.name, step.key) is None:
                    seen.add(step.key)
                    yield case, number, label(case, step)


def in_this_process(store: Store, edges: int, shape: str, cases: tuple[Case, ...] = CASES) -> Iterator[Measured]:
    """All cases one after another: right where malloc gives back at once what is freed."""
    graph = stored_graph(store, edges, shape)
    for case, number, name in list(missing(store, edges, shape, cases)):
        if case.name not in WARM:
            WARM.add(case.name)
            warm_up(case, shape)
        step = steps_of(case, graph)[number]
        obtain_inputs(store, step)
        yield measure(name, partial(obtain, store, step))


def in_own_processes(store: Store, edges: int, shape: str, cases: tuple[Case, ...] = CASES) -> Iterator[Measured]:
    """Each case in a process of its own, as a user runs it."""
    for case, number, _ in list(missing(store, edges, shape, cases)):
        place = json.dumps([str(store.root), edges, shape, CASES.index(case), number])
        yield measured_elsewhere("--one", place)


def imports(edges: int, shape: str, cases: Iterable[Import], here: bool) -> Iterator[Measured]:
    """Imports of files, in this process or each in one of its own."""
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            options = written_files(case, Path(folder), edges, shape)
            gc.collect()
            if here:
                yield measured_import(case, options)
                continue
            place = json.dumps([case.kind, *(str(path) for path in (options.edges, options.features) if path)])
            yield measured_elsewhere("--one-import", place)


def measured_import(case: Import, options: ImportOptions) -> Measured:
    """An import into a store of its own, after a tiny one: what is loaded at first use is not measured."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tiny:
        if case.name not in WARM:
            WARM.add(case.name)
            import_files(Store(Path(tiny)), written_files(case, Path(tiny), TINY, "skewed"))
        return measure(case.name, partial(import_files, Store(Path(folder)), options))


def measured_elsewhere(*arguments: str) -> Measured:
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


def obtain_inputs(store: Store, step: Step) -> None:
    """What it was made from is not measured with it."""
    for needed in step.inputs.values():
        runners.Runner(store, Silence()).obtain(needed)


def one(place: str) -> None:
    root, edges, shape, case, number = json.loads(place)
    store, chosen = Store(Path(root)), CASES[case]
    step = steps_of(chosen, stored_graph(store, edges, shape))[number]
    obtain_inputs(store, step)
    warm_up(chosen, shape)
    found = measure(label(chosen, step), partial(obtain, store, step))
    print(json.dumps([found.name, found.estimate, found.peak]))


def one_import(place: str) -> None:
    kind, edges, *features = json.loads(place)
    options = ImportOptions(edges=Path(edges), features=Path(features[0]) if features else None)
    found = measured_import(Import(kind, bool(features)), options)
    print(json.dumps([found.name, found.estimate, found.peak]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, nargs="+", default=EDGES)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--store", type=Path, help="where inputs are kept; what is there already is not measured again")
    parser.add_argument("--together", action="store_true", help="what lives: in one process that returns what is freed")
    parser.add_argument("--quick", action="store_true", help="a few cases of each stage")
    parser.add_argument("--only", default="", help="the cases whose names begin like this")
    parser.add_argument("--json", action="store_true", help="lines of JSON: name, estimate, and peak or least estimate")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--one-import", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(options.one)
    if options.one_import:
        return one_import(options.one_import)
    if options.together:
        forget_what_is_freed()
    cases = tuple(case for case in CASES if case.name.startswith(options.only) and (case in QUICK or not options.quick))
    read = [case for case in IMPORTS[:: len(IMPORTS) - 1 if options.quick else 1] if case.name.startswith(options.only)]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(options.store or Path(folder))
        store.root.mkdir(parents=True, exist_ok=True)
        run = in_this_process if options.together else in_own_processes
        for edges, shape in product(options.edges, options.shapes):
            for found in chain(imports(edges, shape, read, options.together), run(store, edges, shape, cases)):
                shown = [found.name, found.estimate, max(found.peak, estimates.LEAST)]
                print(json.dumps(shown) if options.json else found.row(edges, shape), flush=True)


def forget_what_is_freed() -> None:
    """Start again with a fixed threshold of malloc; smaller peaks count too then, and nothing piles up."""
    if os.environ.get(THRESHOLD) != str(1 << 16):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, THRESHOLD: str(1 << 16)})
    estimates.LEAST, estimates.PILED_UP = 24 << 20, 1.0


if __name__ == "__main__":
    main()
