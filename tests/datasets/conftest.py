"""A toy among the benchmark graphs, with a mirror and a data folder of its own."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from cgnn_cli.datasets.catalogue import BENCHMARKS, UpstreamFile
from cgnn_cli.datasets.upstream import fetching
from tests.datasets.toy_benchmark import FILE, TOY, content_of, sha256_of, write_toy
from tests.loopback import Server, serve


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CGNN_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(fetching, "_wait", lambda seconds: None)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, mirror: Path) -> Path:
    """A benchmark graph `toy` whose checksum and content are known; its file on the mirror."""
    path = write_toy(mirror)
    known = dataclasses.replace(TOY, files=(UpstreamFile(FILE, sha256=sha256_of(path)),), content=content_of(path))
    monkeypatch.setitem(BENCHMARKS, "toy", known)
    return path


@pytest.fixture
def served(toy: Path, mirror: Path) -> Iterator[Server]:
    with serve(mirror) as server:
        yield server
