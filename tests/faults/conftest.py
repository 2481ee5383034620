"""Stores of a tiny graph, made once: tests work on copies."""

import shutil
import sys
from pathlib import Path

import pytest

from cgnn_cli.commands.main import main
from cgnn_cli.pipeline import STAGES
from tests.faults.imports import LABELS, RING
from tests.faults.processes import artifacts_of, payload_of
from tests.graphs import random_edges

NODES = 40
LEARNING = ("--epochs", "1", "--hidden", "2", "--split", "0")


def call(*arguments: object) -> None:
    """Run a command that must succeed, outside of any test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cgnn", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
    assert stop.value.code == 0, arguments


def write_graph(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """Edges and labels of a random graph, as files."""
    edges, labels = folder / f"edges{seed}.csv", folder / f"labels{seed}.csv"
    edges.write_text("\n".join(f"{i},{j}" for i, j in random_edges(NODES, 4, seed)))
    labels.write_text("\n".join(f"{i},{'ab'[i % 2]}" for i in range(NODES)))
    return edges, labels


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an artifact of every stage, of the dataset `tiny`; never changed."""
    folder = tmp_path_factory.mktemp("template")
    store = folder / "store"
    edges, labels = write_graph(folder)
    call("data", "import", "tiny", "--edges", edges, "--labels", labels, "--store", store, "-q")
    call("eval", "--dataset", "tiny", "--solver", "exact", *LEARNING, "--store", store, "-q")
    return store


@pytest.fixture
def payloads(template: Path) -> dict[str, str]:
    """The true payload checksum of each stage."""
    return {path.parent.name: payload_of(path) for path in artifacts_of(template)}


@pytest.fixture
def full(template: Path) -> Path:
    """A store with an artifact of every stage, in the working folder."""
    shutil.copytree(template, "store")
    return Path("store").absolute()


@pytest.fixture
def upstream(full: Path) -> Path:
    """A store that lacks the commute artifact and what comes after it."""
    for stage in ("commute", "fit", "train", "eval"):
        shutil.rmtree(full / stage)
    return full


@pytest.fixture
def fresh(upstream: Path) -> Path:
    """A store that has only the graph."""
    for stage in set(STAGES) - {"graph"}:
        shutil.rmtree(upstream / stage, ignore_errors=True)
    return upstream


@pytest.fixture
def ring() -> None:
    """Files of a ring of six nodes with two classes, in the working folder."""
    Path("edges.csv").write_text(RING)
    Path("labels.csv").write_text(LABELS)
