"""From the files of a benchmark graph to the graph: read, checked against what is known, marked where it is not it.

Two checks: the sha256 of upstream's files where it is known, and the checksum of the graph made from them. Files with
other bytes but the same content are accepted and noted. Where neither is known, the published figures must agree.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import SourceConfig
from cgnn_cli.datasets.catalogue import BENCHMARKS, Benchmark
from cgnn_cli.datasets.forms import with_protocol
from cgnn_cli.datasets.graph_statistics import homophily_of
from cgnn_cli.datasets.upstream.fetching import FetchOptions
from cgnn_cli.datasets.upstream.locating import (
    Listener,
    Nobody,
    bring_file,
    check_reachable,
    copy_file,
    fetched_files,
    find_files,
    lock_dataset,
    mirror_folder,
    place_of,
)
from cgnn_cli.errors import DataError, FetchError
from cgnn_cli.store.disk import file_sha256, replace

if TYPE_CHECKING:
    from cgnn_cli.graph import Graph

STANDIN_HINT = "`cgnn data fetch {name} --force` fetches upstream's; --accept-standin works with these as a stand-in"


@dataclass(frozen=True)
class FileCheck:
    """A file's checksum beside the one that upstream's file has, if that is known."""

    path: Path
    received: str
    expected: str | None

    @property
    def differs(self) -> bool:
        return self.expected is not None and self.received != self.expected

    @property
    def genuine(self) -> bool:
        return self.received == self.expected


@dataclass(frozen=True)
class Verification:
    """The checks of a benchmark graph's files, and by what they were verified: None for a stand-in."""

    files: list[FileCheck]
    verified: str | None
    notes: list[str]

    def moved(self, place: Path, names: Iterable[str]) -> Verification:
        """The same of files that have been brought to a folder, under these names."""
        files = [dataclasses.replace(check, path=place / name) for check, name in zip(self.files, names, strict=True)]
        return dataclasses.replace(self, files=files)


def read_benchmark(
    name: str, source: SourceConfig, listener: Listener | None = None, *, lock_timeout: float = -1
) -> Graph:
    """A benchmark graph from its files, which are brought into the data folder where they are missing."""
    benchmark, listener = BENCHMARKS[name], listener or Nobody()
    files = find_files(benchmark, source)
    if len(files) < len(benchmark.files):
        check_reachable(name, files, source)
        with lock_dataset(benchmark, source, lock_timeout, listener):
            files = find_files(benchmark, source)
            brought = _bring_missing(benchmark, files, source, FetchOptions(), listener)
            with _removed_if_wrong(benchmark, brought):
                return load_benchmark(name, {**files, **brought}, accept_standin=source.accept_standin)
    return load_benchmark(name, files, accept_standin=source.accept_standin)


def fetch_benchmark(
    name: str,
    source: SourceConfig,
    options: FetchOptions,
    listener: Listener,
    *,
    force: bool = False,
    lock_timeout: float = -1,
) -> Verification:
    """Bring the files of a benchmark graph into the data folder; `force` replaces those that are there."""
    benchmark = BENCHMARKS[name]
    if not force and len(files := fetched_files(benchmark, source)) == len(benchmark.files):
        return _judge(name, files, source)
    with lock_dataset(benchmark, source, lock_timeout, listener):
        files = {} if force else fetched_files(benchmark, source)
        if mirror_folder(source) is not None:
            return _fetch_copies(name, files, source)
        if force:
            return _fetch_again(name, source, options, listener)
        check_reachable(name, files, source)
        brought = _bring_missing(benchmark, files, source, options, listener)
        with _removed_if_wrong(benchmark, brought):
            return _judge(name, {**files, **brought}, source)


def _fetch_copies(name: str, fetched: dict[str, Path], source: SourceConfig) -> Verification:
    """Judge the files of a mirror folder in their place, then copy them. Upstream's own files are never replaced."""
    benchmark = BENCHMARKS[name]
    files = {**find_files(benchmark, source), **fetched}
    check_reachable(name, files, source)
    verification = _judge(name, files, source)
    genuine = {check.path.name for check in check_files(benchmark, fetched_files(benchmark, source)) if check.genuine}
    place = place_of(benchmark, source)
    for path in files.values():
        if path.parent != place and path.name not in genuine:
            copy_file(path, place / path.name)
    return verification.moved(place, files)


def _bring_missing(
    benchmark: Benchmark, present: dict[str, Path], source: SourceConfig, options: FetchOptions, listener: Listener
) -> dict[str, Path]:
    """The files that were missing. Whole files stay when a later one fails: the next command goes on from there."""
    place = place_of(benchmark, source)
    brought = {file.name: place / file.name for file in benchmark.files if file.name not in present}
    for file in benchmark.files:
        if file.name in brought:
            bring_file(benchmark, file, brought[file.name], source, options, listener)
    return brought


@contextlib.contextmanager
def _removed_if_wrong(benchmark: Benchmark, brought: dict[str, Path]) -> Iterator[None]:
    """Of files that were just brought and are refused, only those with upstream's checksum stay."""
    try:
        yield
    except DataError:
        wrong = [check.path for check in check_files(benchmark, brought) if not check.genuine]
        for path in wrong:
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in wrong}:
            with contextlib.suppress(OSError):
                folder.rmdir()  # if it is empty
        raise


def _fetch_again(name: str, source: SourceConfig, options: FetchOptions, listener: Listener) -> Verification:
    """Bring all files beside those that are there, and replace these only when the new ones have been judged."""
    benchmark = BENCHMARKS[name]
    place = place_of(benchmark, source)
    staged = {file.name: place / f".{file.name}.new" for file in benchmark.files}
    try:
        for file in benchmark.files:
            staged[file.name].unlink(missing_ok=True)
            bring_file(benchmark, file, staged[file.name], source, options, listener)
        verification = _judge(name, staged, source)
        for file_name, path in staged.items():
            replace(path, place / file_name)
    finally:
        for path in staged.values():
            path.unlink(missing_ok=True)
    return verification.moved(place, staged)


def _judge(name: str, files: dict[str, Path], source: SourceConfig, *, read: bool = False) -> Verification:
    """Judge files by their checksums; unless `read` says so, they are read only if these do not settle it."""
    checks = check_files(BENCHMARKS[name], files)
    if not read and all(check.genuine for check in checks):
        return Verification(checks, "checksum", [])
    summary = load_benchmark(name, files, accept_standin=source.accept_standin).summary
    return Verification(checks, summary["verified"], summary["notes"])


def verify_benchmark(name: str, source: SourceConfig) -> Verification:
    """Check the files of a benchmark graph that are on disk: their checksums, and the graph that they hold."""
    benchmark = BENCHMARKS[name]
    files = find_files(benchmark, source)
    if missing := [file.name for file in benchmark.files if file.name not in files]:
        raise FetchError(f"{name} is not on disk; missing: {', '.join(missing)}", f"run `cgnn data fetch {name}`")
    return _judge(name, files, source, read=True)


def check_files(benchmark: Benchmark, files: dict[str, Path]) -> list[FileCheck]:
    """The sha256 of each file."""
    expected = {file.name: file.sha256 for file in benchmark.files}
    try:
        return [FileCheck(path, file_sha256(path), expected[name]) for name, path in files.items()]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}", "check its permissions") from error


def load_benchmark(name: str, files: dict[str, Path], *, accept_standin: bool) -> Graph:
    """The graph in the files. `summary` tells how it was verified, or that it is a stand-in."""
    benchmark = BENCHMARKS[name]
    checks = check_files(benchmark, files)
    different = [
        f"{check.path} is not upstream's file: its sha256 is {check.received}, expected {check.expected}"
        for check in checks
        if check.differs
    ]
    if different and benchmark.content is None and not accept_standin:
        raise DataError(different[0], STANDIN_HINT.format(name=name))
    try:
        graph = import_module(benchmark.reader_module).read(files)
        graph = with_protocol(graph, benchmark.protocols[0])
    except DataError as error:
        if not different:
            raise
        raise DataError(f"{different[0]}; {error.message}", error.hint) from error
    verified, notes = _verify(name, graph, checks)
    if verified is None and not accept_standin:
        wrong = disagreements(name, graph).items()
        figures = ", ".join(f"{figure} {found:,} (expected {wanted:,})" for figure, (found, wanted) in wrong)
        other = f"the files of {name} do not hold the published graph: {figures or 'other content'}"
        raise DataError(different[0] if different else other, STANDIN_HINT.format(name=name))
    summary = {**graph.summary, "dataset": name, "protocol": benchmark.protocols[0], "verified": verified}
    summary["notes"] = [*graph.summary["notes"], *notes]
    if verified is None:
        summary["standin"] = name
    return dataclasses.replace(graph, summary=summary)


def _verify(name: str, graph: Graph, checks: list[FileCheck]) -> tuple[str | None, list[str]]:
    """By what the graph was found to be the genuine one, and what to note about it."""
    from cgnn_cli.store.elements import checksum

    content = BENCHMARKS[name].content
    different = [check.path.name for check in checks if check.differs]
    unknown = [check.path.name for check in checks if check.expected is None]
    if content is None:
        if different or disagreements(name, graph):
            return None, []
        if not unknown:
            return "checksum", []
        return "statistics", [f"no checksum of {name}'s files is known; the published figures agree"]
    if checksum(graph.to_elements()) != content:
        return None, []
    notes = [f"{file}: other bytes than upstream's file, the same content" for file in different]
    notes += [f"{file}: verified by its content; no checksum of it is known" for file in unknown]
    return "content" if notes else "checksum and content", notes


def disagreements(name: str, graph: Graph) -> dict[str, tuple[Any, Any]]:
    """Figures of the graph that are not as expected: what it has, what it should have."""
    benchmark = BENCHMARKS[name]
    found = {
        "nodes": graph.node_count,
        "edges": int(graph.adjacency.nnz),
        "features": 0 if graph.features is None else int(graph.features.shape[1]),
        "classes": graph.class_count,
        "splits": graph.split_count,
    }
    pairs: dict[str, tuple[Any, Any]] = {each: (value, benchmark.expected[each]) for each, value in found.items()}
    wrong = {figure: pair for figure, pair in pairs.items() if pair[0] != pair[1]}
    homophily = homophily_of(graph) or 0.0
    published = benchmark.paper.get("homophily", homophily)
    if not wrong and round(homophily, 2) != round(published, 2):
        wrong["homophily"] = (round(homophily, 3), published)
    return wrong
