"""Commands over two ranks: the keys and the bits of one process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cgnn_cli.ranks import leading
from cgnn_cli.ranks.leading import Group
from cgnn_cli.store import artifact as files
from tests.faults.processes import payload_of
from tests.front_door import FrontDoor, run_process
from tests.ranked import torchrun, two_ranks

COMMUTE, ON_DEMO = ("commute", "--dataset", "demo"), ("--dataset", "demo")
TRAIN = ("train", *ON_DEMO, "--split", 0, "--epochs", 1, "--hidden", 4)
SHARED = [
    (*COMMUTE, "--solver", "svd"),
    (*COMMUTE, "--solver", "svd", "--form", "random-walk", "--method", "teleport"),
    (*COMMUTE, "--solver", "series", "--steps", 2),
    (*COMMUTE, "--solver", "series", "--steps", 3, "--method", "escape"),
    (*COMMUTE, "--solver", "sketch", "--probes", 4),
    (*TRAIN, "--model", "mlp", "--encoding", "laplacian", "--encoding-size", 2),
    (*TRAIN, "--model", "mlp", "--encoding", "head-start", "--encoding-size", 2),
    (*TRAIN, "--model", "mlp", "--encoding", "structural"),
    (*TRAIN, "--model", "absorption", "--walk-direction", "out", "--death-rate", 0.2),
    (*TRAIN, "--model", "digcn"),
]
ALONE = [(*COMMUTE, "--solver", "exact"), (*TRAIN, "--model", "mlp")]


@pytest.fixture(scope="module")
def both() -> Iterator[Group]:
    with two_ranks() as found:
        yield found


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The store of one process, and the store of two ranks."""
    return str(tmp_path_factory.mktemp("one")), str(tmp_path_factory.mktemp("two"))


def title(words: tuple[object, ...]) -> str:
    return "-".join(str(word).strip("-") for word in words if word not in (*ON_DEMO, "--split"))


@pytest.mark.parametrize("words", [*SHARED, *ALONE], ids=title)
def test_the_result_is_that_of_one_process(
    cgnn: FrontDoor,
    both: Group,
    stores: tuple[str, str],
    words: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = Path(cgnn.ok(*words, "--store", stores[0]).path)
    before = both.number()
    monkeypatch.setattr(leading, "GROUP", both)
    result = cgnn.ok(*words, "--store", stores[1])
    found = Path(result.path)
    assert found.name == expected.name
    assert payload_of(found) == payload_of(expected)
    assert files.read(found).header.provenance["ranks"] == 2
    if words in SHARED:
        assert both.number() > before + 1  # the other rank was given something to hold
    else:
        assert "rank 0 computes this alone, and the other ranks wait" in result.err


def test_times_to_sets_are_those_of_one_process(
    cgnn: FrontDoor, both: Group, stores: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("hitting", *ON_DEMO, "--to", "A=1,2", "--to", "B=17", "--output")
    cgnn.ok(*words, "one.csv", "--store", stores[0])
    monkeypatch.setattr(leading, "GROUP", both)
    cgnn.ok(*words, "two.csv", "--store", stores[1])
    assert Path("two.csv").read_text() == Path("one.csv").read_text()


def test_a_whole_run_under_torchrun_is_that_of_one_process() -> None:
    words = (
        "eval",
        *ON_DEMO,
        "--split",
        0,
        "--epochs",
        2,
        "--hidden",
        4,
        "--solver",
        "sketch",
        "--probes",
        2,
        "--json",
    )
    alone = run_process(*words, "--store", "one", fresh=True, OMP_NUM_THREADS="1")
    shared = torchrun(*words, "--store", "two")
    assert alone.returncode == shared.code == 0, shared
    expected, found = json.loads(alone.stdout), shared.json
    assert found["summary"] == expected["summary"]
    keys = [(stage["stage"], stage["key"]) for stage in expected["stages"]]
    assert [(stage["stage"], stage["key"]) for stage in found["stages"]] == keys
    for stage, key in keys:
        assert payload_of(f"two/{stage}/{key}.h5") == payload_of(f"one/{stage}/{key}.h5"), stage
    assert [warning for warning in found["warnings"] if "rank 0" in warning] == [
        "fit: rank 0 computes this alone, and the other ranks wait"
    ]
    assert shared.err.count("dilap ") == 1  # rank 0 alone speaks
