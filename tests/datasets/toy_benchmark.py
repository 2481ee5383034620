"""A small benchmark graph, its files on a mirror, and what they leave behind."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.datasets import catalogue
from cgnn_cli.datasets.catalogue import BENCHMARKS, Benchmark, UpstreamFile
from cgnn_cli.errors import DataError, FetchError
from tests.graphs import toy_arrays
from tests.loopback import Fault

FILE = "toy.npz"


BAD_DATA, NOT_HAD = DataError.exit_code, FetchError.exit_code


def write_toy(folder: Path, *, compressed: bool = False, shift: int = 0) -> Path:
    """The toy graph as a mirror has it; `compressed` changes the bytes and not the content."""
    path = folder / "toy" / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    save: Any = np.savez_compressed if compressed else np.savez
    save(path, **toy_arrays(shift=shift))
    return path


TOY = Benchmark(
    "a toy",
    "toy",
    (UpstreamFile(FILE),),
    "heterophilous",
    catalogue.PUBLISHED_FIRST,
    {"nodes": 60, "edges": 194, "features": 4, "classes": 3, "splits": 2},
    "nobody, 2026",
    "none",
)


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def content_of(path: Path) -> str:
    from cgnn_cli.datasets.upstream.readers import heterophilous
    from cgnn_cli.store.elements import checksum

    return checksum(heterophilous.read({FILE: path}).to_elements())


def know_less(monkeypatch: pytest.MonkeyPatch, *, sha256: bool = False, content: bool = False, **more: Any) -> None:
    """Forget the checksum or the content checksum of the toy."""
    known = BENCHMARKS["toy"]
    if sha256:
        known = dataclasses.replace(known, files=(UpstreamFile(FILE),))
    if content:
        known = dataclasses.replace(known, content=None)
    monkeypatch.setitem(BENCHMARKS, "toy", dataclasses.replace(known, **more))


def left_behind(tmp_path: Path) -> list[str]:
    """All files in the data folder, and all graphs and records in the store."""
    folders = (tmp_path / "data", tmp_path / ".cgnn" / "graph", tmp_path / ".cgnn" / "datasets")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in found if path.parent.name != ".locks"]


HTML = Fault(body=b"<!DOCTYPE html><html>Quota exceeded</html>", headers={"Content-Type": "text/html"})
