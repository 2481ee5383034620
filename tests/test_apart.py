"""Long calls in a process of their own: the same bits, the same errors, and nothing left behind."""

import os
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy.sparse import csr_array, eye_array

from cgnn_cli.apart import Apart, Arrays, Telling
from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import exact
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Watch
from tests.faults.processes import finish, start, wait_for
from tests.graphs import exact_hitting

HERE = __name__
AMPLE = 1 << 30


def double(arrays: Arrays, telling: Telling) -> None:
    telling.progress(1, 2, "halves")
    arrays["x"] *= 2
    arrays["pid"][...] = os.getpid()


def refuse(arrays: Arrays, telling: Telling) -> None:
    raise NumericalError("it has no inverse")


def exhaust(arrays: Arrays, telling: Telling) -> None:
    raise MemoryError


def crash(arrays: Arrays, telling: Telling) -> None:
    os.abort()


def ring(count: int) -> Walk:
    """A ring with shortcuts."""
    nodes = np.arange(count)
    ends = np.concatenate([(nodes + 1) % count, (nodes * 7) % count])
    edges = csr_array((np.ones(2 * count), (np.tile(nodes, 2), ends)), shape=(count, count))
    edges.data[:] = 1
    return Walk(transition_matrix(csr_array(edges + eye_array(count))))


class Heard(Watch):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def progress(self, done: int, total: int, message: str) -> None:
        assert 0 <= done <= total
        self.messages.append(message)


def test_a_function_works_on_the_arrays_in_another_process() -> None:
    apart, told = Apart(x=("f8", (2, 3)), pid=("i8", (1,)), empty=("f8", (0, 3))), Heard()
    apart.arrays["x"][...] = np.arange(6).reshape(2, 3)
    arrays = apart.call(f"{HERE}:double", told.progress)
    assert arrays["x"].tolist() == [[0, 2, 4], [6, 8, 10]] and arrays["empty"].shape == (0, 3)
    assert arrays["pid"] != os.getpid() and not psutil.pid_exists(int(arrays["pid"][0]))
    assert set(told.messages) == {"halves"}


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [("refuse", NumericalError, "no inverse"), ("exhaust", MemoryError, "^$"), ("crash", RuntimeError, "code -6")],
)
def test_errors_of_the_process_are_those_of_the_caller(name: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Apart(x=("f8", (1,))).call(f"{HERE}:{name}", Watch().progress)


def test_what_a_watch_raises_ends_the_process() -> None:
    class Stops(Watch):
        def progress(self, done: int, total: int, message: str) -> None:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        Apart(x=("f8", (1,))).call("tests.faults.endless:spin", Stops().progress)
    assert not [child for child in psutil.Process().children() if "endless" in " ".join(child.cmdline())]


def test_f14_a_dense_inverse_has_the_same_bits_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, perron, told = ring(300), np.full(300, 1 / 300), Heard()
    here = exact.fundamental_matrix(walk, perron)
    monkeypatch.setattr(exact, "LONG_INVERSE", 0)
    np.testing.assert_array_equal(exact.fundamental_matrix(walk, perron, told), here)
    assert set(told.messages) == {"seconds, roughly, of a dense solve over 300 states"}


def test_f14_sparse_factors_have_the_same_bits_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, perron, told = ring(300), np.full(300, 1 / 300), Heard()
    source, target = np.arange(300), (np.arange(300) + 5) % 300
    monkeypatch.setattr(exact, "BLOCK_BYTES", 1 << 17)
    memory = exact.dense_bytes(300) - 1
    monkeypatch.setattr(exact, "FACTOR_ENTRY", 1)
    here = exact_hitting(walk, perron, source, target, memory=memory)
    monkeypatch.setattr(exact, "LONG_FACTORS", 0)
    there = exact_hitting(walk, perron, source, target, memory=memory, watch=told)
    np.testing.assert_array_equal(there, here)
    assert set(told.messages) == {"nodes solved by sparse factors"}


def test_processes_of_joblib_end_with_the_one_that_started_them() -> None:
    patch = """
import cgnn_cli.numerics.threads as threads, cgnn_cli.commands.console as console
threads.WORTH_PROCESSES = console.PLAIN_LINE_SECONDS = 0
"""
    options = ("--dataset", "demo", "--solver", "sketch", "--probes", 100_000, "--threads", 2, "--store", Path("store"))
    process = start("commute", *options, patch=patch)
    assert process.stderr is not None
    assert any("residual" in line for line in process.stderr)
    children = psutil.Process(process.pid).children()
    process.kill()
    finish(process)
    wait_for(lambda: not any(child.is_running() for child in children))
