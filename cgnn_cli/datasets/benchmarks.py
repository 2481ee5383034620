"""From the files of a benchmark graph to the graph: read, checked against what is known, marked where it is not it.

Two checks: the sha256 of upstream's files where it is known, and the checksum of the graph made from them. Files with
other bytes but the same content are accepted and noted. Where neither is known, the published figures must agree.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import SourceConfig
from cgnn_cli.datasets.catalogue import BENCHMARKS, Benchmark
from cgnn_cli.datasets.fetching import FetchOptions
from cgnn_cli.datasets.locating import Listener, Nobody, copy_files, find_files, obtain_files, remove_files
from cgnn_cli.datasets.variants import with_protocol
from cgnn_cli.errors import DataError, FetchError

if TYPE_CHECKING:
    from cgnn_cli.graph import Graph

READER_VERSION = 1
STANDIN_HINT = "fetch the genuine files, or add --accept-standin to work with these as a stand-in"


@dataclass(frozen=True)
class FileCheck:
    """A file's checksum beside the one that upstream's file has, if that is known."""

    path: Path
    received: str
    expected: str | None

    @property
    def differs(self) -> bool:
        return self.expected is not None and self.received != self.expected


@dataclass(frozen=True)
class Checked:
    """The files of a benchmark graph after a check: by what they were verified, None for a stand-in."""

    files: list[FileCheck]
    verified: str | None
    notes: list[str]


def fetch_benchmark(
    name: str, source: SourceConfig, options: FetchOptions, listener: Listener, *, force: bool = False
) -> Checked:
    """Bring the files of a benchmark graph into the data folder. They are read only if checksums do not settle it."""
    benchmark = BENCHMARKS[name]
    files, new = obtain_files(name, benchmark, source, options, listener, again=force)
    try:
        checks = check_files(benchmark, files)
        if all(check.expected == check.received for check in checks):
            verified, notes = "checksum", list[str]()
        else:
            summary = load_benchmark(name, files, accept_standin=source.accept_standin).summary
            verified, notes = summary["verified"], summary["notes"]
    except DataError:
        remove_files(new)
        raise
    copy_files(benchmark, files, source)
    return Checked(checks, verified, notes)


def verify_benchmark(name: str, source: SourceConfig) -> Checked:
    """Check the files of a benchmark graph that are on disk: their checksums, and the graph that they hold."""
    benchmark = BENCHMARKS[name]
    files = find_files(benchmark, source)
    if missing := [file.name for file in benchmark.files if file.name not in files]:
        raise FetchError(f"{name} is not on disk; missing: {', '.join(missing)}", f"run `cgnn data fetch {name}`")
    summary = load_benchmark(name, files, accept_standin=source.accept_standin).summary
    return Checked(check_files(benchmark, files), summary["verified"], summary["notes"])


def check_files(benchmark: Benchmark, files: dict[str, Path]) -> list[FileCheck]:
    """The sha256 of each file."""
    from cgnn_cli.store.disk import file_sha256

    expected = {file.name: file.sha256 for file in benchmark.files}
    try:
        return [FileCheck(path, file_sha256(path), expected[name]) for name, path in files.items()]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}", "check its permissions") from error


def read_benchmark(name: str, source: SourceConfig, listener: Listener | None = None) -> Graph:
    """A benchmark graph from its files, which are downloaded where they are missing."""
    files, new = obtain_files(name, BENCHMARKS[name], source, FetchOptions(), listener or Nobody())
    try:
        return load_benchmark(name, files, accept_standin=source.accept_standin)
    except DataError:
        remove_files(new)
        raise


def load_benchmark(name: str, files: dict[str, Path], *, accept_standin: bool) -> Graph:
    """The graph in the files. `summary` tells how it was verified, or that it is a stand-in."""
    benchmark = BENCHMARKS[name]
    checks = check_files(benchmark, files)
    different = [check for check in checks if check.differs]
    if different and benchmark.content is None and not accept_standin:
        raise _refusal(name, different)
    try:
        graph = import_module(f"cgnn_cli.datasets.readers.{benchmark.reader}").read(files)
        graph = with_protocol(graph, benchmark.protocols[0])
    except DataError as error:
        if different:
            raise DataError(f"{_difference(different[0])}; {error.message}", error.hint) from error
        raise
    verified, notes = _verify(name, graph, checks)
    if verified is None and not accept_standin:
        raise _refusal(name, different, graph)
    summary = {**graph.summary, "dataset": name, "protocol": benchmark.protocols[0], "verified": verified}
    summary["notes"] = [*graph.summary["notes"], *notes]
    if verified is None:
        summary["standin"] = name
    return dataclasses.replace(graph, summary=summary)


def _verify(name: str, graph: Graph, checks: list[FileCheck]) -> tuple[str | None, list[str]]:
    """By what the graph was found to be the genuine one, and what to note about it."""
    from cgnn_cli.store.elements import checksum

    benchmark = BENCHMARKS[name]
    different = [check for check in checks if check.differs]
    if benchmark.content is not None:
        if checksum(graph.to_elements()) != benchmark.content:
            return None, []
        if not different and all(check.expected for check in checks):
            return "checksum and content", []
        other = [f"{check.path.name}: other bytes than upstream's file, the same content" for check in different]
        unknown = [check.path.name for check in checks if check.expected is None]
        return "content", [
            *other,
            *(f"{name}: verified by its content; no checksum of it is known" for name in unknown),
        ]
    if different or disagreements(name, graph):
        return None, []
    if all(check.expected for check in checks):
        return "checksum", []
    return "statistics", [f"no checksum of {name}'s files is known; the published figures agree"]


def disagreements(name: str, graph: Graph) -> dict[str, tuple[Any, Any]]:
    """Figures of the graph that are not as expected: what it has, what it should have."""
    expected = BENCHMARKS[name].expected
    found = {
        "nodes": graph.node_count,
        "edges": int(graph.adjacency.nnz),
        "features": 0 if graph.features is None else int(graph.features.shape[1]),
        "classes": graph.class_count,
        "splits": graph.split_count,
    }
    return {figure: (value, expected[figure]) for figure, value in found.items() if value != expected[figure]}


def _difference(check: FileCheck) -> str:
    return f"{check.path} is not upstream's file: its sha256 is {check.received}, expected {check.expected}"


def _refusal(name: str, different: list[FileCheck], graph: Graph | None = None) -> DataError:
    if different:
        return DataError(_difference(different[0]), STANDIN_HINT)
    wrong = disagreements(name, graph) if graph is not None else {}
    figures = ", ".join(f"{figure} {found:,} (expected {wanted:,})" for figure, (found, wanted) in wrong.items())
    return DataError(f"the files of {name} do not hold the published graph: {figures or 'other content'}", STANDIN_HINT)
