"""Calls from Python: Ctrl-C saves the state and reaches the caller, handlers stay, and progress shows where asked."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cgnn_cli import NodeClassifier
from cgnn_cli.errors import UsageError
from cgnn_cli.python.calling import Telling
from tests.faults.processes import DEADLINE


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """As Python has them: commands that ran in this process before may have left theirs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


LONG: dict[str, Any] = {"epochs": 30, "patience": 30, "hidden": 2, "splits": [0], "verbose": False}


def interrupt_at(monkeypatch: pytest.MonkeyPatch, epoch: int) -> None:
    """Ctrl-C while an epoch is told of, which goes on when the main thread has heard it."""
    before = Telling.progress

    def progress(self: Telling, done: int, total: int, message: str) -> None:
        before(self, done, total, message)
        if (done, total) == (epoch, LONG["epochs"]):
            os.kill(os.getpid(), signal.SIGINT)
            end = time.monotonic() + DEADLINE
            while not self.stopper.requested() and time.monotonic() < end:
                os.sched_yield()

    monkeypatch.setattr(Telling, "progress", progress)


def test_ctrl_c_saves_the_state_and_the_next_fit_goes_on_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    undisturbed = NodeClassifier("mlp", store="other", **LONG).fit("demo")
    with monkeypatch.context() as patched:
        interrupt_at(patched, 7)
        with pytest.raises(KeyboardInterrupt):
            NodeClassifier("mlp", store="store", **LONG).fit("demo")
    assert len(list(Path("store/partial").glob("*.h5"))) == 1
    with pytest.warns(UserWarning, match="going on with .* after epoch") as told:
        found = NodeClassifier("mlp", store="store", **LONG).fit("demo")
    assert found.scores_ == undisturbed.scores_
    assert {warning.filename for warning in told} == {__file__}
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    assert "cgnn" not in {thread.name for thread in threading.enumerate()}


def test_a_fit_in_another_thread_is_the_same() -> None:
    found: list[float] = []

    def work() -> None:
        fitted = NodeClassifier("mlp", **LONG).fit("demo")
        found.append(fitted.scores_["test_accuracy"]["mean"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [NodeClassifier("mlp", **LONG, store="other").fit("demo").scores_["test_accuracy"]["mean"]]


def test_progress_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    options = {**LONG, "epochs": 2}
    NodeClassifier("linear", **{**options, "verbose": None}).fit("demo")
    out, err = capsys.readouterr()
    assert out == err == ""
    NodeClassifier("linear", **{**options, "verbose": True, "lr": 0.5}).fit("demo")
    out, err = capsys.readouterr()
    assert out == "" and "fit split 0" in err and "\r" not in err


def test_a_notebook_has_one_line_that_is_written_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    NodeClassifier("linear", **{**LONG, "verbose": None}).fit("demo")
    out, err = capsys.readouterr()
    assert err == "" and "fit split 0" in out and "\r" in out
    assert out.endswith("\r")


def test_importing_the_package_loads_nothing() -> None:
    heavy = "{'numpy', 'torch', 'typer', 'cgnn_cli.python', 'cgnn_cli.api'}"
    check = f"import sys, cgnn_cli\nassert not {heavy} & set(sys.modules)\nassert callable(cgnn_cli.commute_times)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_what_fails_in_the_thread_is_raised_where_it_was_called() -> None:
    with pytest.raises(UsageError) as error:
        NodeClassifier("mlp", **{**LONG, "splits": [99]}).fit("demo")
    assert error.traceback[0].path == Path(__file__)
