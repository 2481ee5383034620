"""Shared fixtures, and the line of the summary that says how many real-data tests ran."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from cgnn_cli.execution.runner import SPINS
from tests import forks
from tests.front_door import FrontDoor

os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # as commands do: threads would wait by spinning
MakeStandIn = Callable[[str], dict[str, Path]]
QUESTIONS = {"git", "uname"}  # programs that say something for the provenance, and compute nothing
LONGEST = {"test_benchmarks.py", "test_resources.py"}  # begun first, so that no worker has one of them alone at the end
REAL_DATA = os.environ.get("CGNN_TEST_DATA", "")
# A machine that does other work beside the tests is slow for a moment; that is no fault of what they try.
settings.register_profile("cgnn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cgnn")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)
    if REAL_DATA and Path(REAL_DATA).is_dir():
        return
    reason = f"CGNN_TEST_DATA={REAL_DATA} is not a folder" if REAL_DATA else "CGNN_TEST_DATA is not set"
    for item in items:
        if item.get_closest_marker("realdata"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets; only for tests marked `realdata`."""
    return Path(REAL_DATA)


@pytest.fixture(scope="session")
def stand_in(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> MakeStandIn:
    """Makes the stand-in of a benchmark graph whose files are not among the real data, once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str) -> dict[str, Path]:
        folder = shared / f"stand-in-{name}"
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                unfinished = tmp_path_factory.mktemp(name)
                subprocess.run([sys.executable, real_data / "standins.py", name, unfinished], check=True)
                unfinished.rename(folder)
        return {path.name: path for path in folder.rglob("*.*")}

    return make


def pytest_sessionfinish() -> None:
    forks.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = {
        outcome: sum("realdata" in getattr(report, "keywords", {}) for report in terminalreporter.getreports(outcome))
        for outcome in ("passed", "failed", "skipped")
    }
    ran = counts["passed"] + counts["failed"]
    terminalreporter.write_line(f"real-data tests: {ran} ran, {counts['skipped']} skipped")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the developer's store or settings, and none writes into the working tree."""
    for name in [name for name in os.environ if name.startswith("CGNN_") and name != "CGNN_TEST_DATA"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that are started from this process."""
    started: list[str] = []

    class Noted(subprocess.Popen[Any]):
        def __init__(self, command: Sequence[str], *arguments: Any, **options: Any) -> None:
            started.append(command[0])
            super().__init__(command, *arguments, **options)

    monkeypatch.setattr("subprocess.Popen", Noted)
    return started


@pytest.fixture
def cgnn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> FrontDoor:
    """The command line, in this process."""
    return FrontDoor(monkeypatch, capsys)
