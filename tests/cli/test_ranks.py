"""Commands over two ranks: the keys and the bits of one process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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


BATCHED = ("--hidden", 8, "--batch-nodes", 16, "--epochs", 6, *ON_DEMO, "--split", 0)
ALL_THERE = ("--dropout", 0, "--fanout", 1000)


def scores_in(cgnn: FrontDoor, store: str, *words: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `eval` finds, and the elements of the training behind it."""
    found = cgnn.ok("eval", *BATCHED, *words, "--store", store, "--json").json
    (key,) = [stage["key"] for stage in found["stages"] if stage["stage"] == "fit"]
    return found, files.read(Path(store, "fit", f"{key}.h5")).elements


@pytest.mark.parametrize("model", ["cgnn", "sage"])
def test_a_training_in_batches_is_shared_and_is_that_of_one_process(
    cgnn: FrontDoor, both: Group, stores: tuple[str, str], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*ALL_THERE, "--model", model, "--class-weights", "balanced")
    one, fit_of_one = scores_in(cgnn, stores[0], *words)
    monkeypatch.setattr(leading, "GROUP", both)
    two, fit_of_two = scores_in(cgnn, stores[1], *words)
    assert [stage["key"] for stage in two["stages"]] == [stage["key"] for stage in one["stages"]]
    assert not [warning for warning in two["warnings"] if "rank 0" in warning]
    for name, values in fit_of_one["history"].items():
        np.testing.assert_allclose(fit_of_two["history"][name], values, atol=1e-5, err_msg=name)
    for name, weights in fit_of_one["weights"].items():
        np.testing.assert_allclose(fit_of_two["weights"][name], weights, atol=1e-4, err_msg=name)
    assert two["summary"]["test_accuracy"] == pytest.approx(one["summary"]["test_accuracy"], abs=0.01)


def test_a_sweep_trains_one_model_after_another_over_the_ranks(
    cgnn: FrontDoor, both: Group, stores: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("widths.toml").write_text(
        '[sweep]\ndataset = "demo"\nsplits = [0]\n[train]\nmodel = "gcn"\nhidden = [2, 4]\nepochs = 2\n'
        "batch_nodes = 16\ndropout = 0.0\nfanout = 1000\n",
        encoding="utf-8",
    )
    found = []
    for store, group in zip(stores, (None, both), strict=True):
        monkeypatch.setattr(leading, "GROUP", group)
        summary = cgnn.ok("sweep", "widths.toml", "--store", store, "--json").json["summary"]
        found.append([(run["status"], run["keys"], run["validation_accuracy"]) for run in summary["configurations"]])
    assert found[1] == found[0] and [status for status, *_ in found[0]] == ["done", "done"]
    for _, keys, _ in found[0]:
        assert files.read(Path(stores[1], "fit", f"{keys['fit-0']}.h5")).header.provenance["ranks"] == 2


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
