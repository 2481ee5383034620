"""cgnn doctor: what it checks, what it ends with, and that it leaves nothing behind."""

from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.analysis import device_check
from cgnn_cli.requirements import Need
from cgnn_cli.store import probe
from tests.front_door import FrontDoor


def states_of(checks: list[dict[str, str]]) -> dict[tuple[str, str], dict[str, str]]:
    return {(check["about"], check["name"]): check for check in checks}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the trainings, which have tests of their own."""
    monkeypatch.setattr(device_check, "compare_devices", lambda cores: [])


def test_all_is_well_and_nothing_is_left(cgnn: FrontDoor, tmp_path: Path) -> None:
    result = cgnn.ok("doctor", "--json")
    checks = states_of(result.json["summary"]["checks"])
    for place in [
        ("machine", "memory"),
        ("versions", "torch"),
        ("extras", "plot"),
        ("store", "locking"),
        ("settings", "file"),
        ("devices", "cpu"),
    ]:
        assert checks[place]["state"] == "ok", checks[place]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("quick")
def test_it_says_what_holds(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cgnn.toml").write_text('[compute]\nmemory_limit = "1500M"\nthreads = 2\n', encoding="utf-8")
    monkeypatch.setenv("CGNN_STORE", "here")
    Path("here").mkdir()
    checks = states_of(cgnn.ok("doctor", "--json").json["summary"]["checks"])
    assert checks["machine", "memory"]["found"] == "1.5 GiB may be used, by --memory-limit"
    assert checks["machine", "memory"]["state"] == "note"
    assert checks["machine", "threads"]["found"].startswith("2 a training, 2 for")
    assert checks["settings", "file"]["found"] == "cgnn.toml, 2 setting(s)"
    assert "CGNN_STORE" in checks["settings", "environment"]["found"]
    assert checks["store", "folder"]["found"] == str(tmp_path / "here")
    assert not list(Path("here").iterdir())


def test_devices_that_disagree_end_it(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    true = device_check.train_on

    def lie(problem: Any, device: str, threads: int = 1) -> device_check.Trained:
        found = true(problem, "cpu", 1)
        return found if device == "cpu" else device_check.replace(found, device=device, scores=found.scores * 1.5)

    monkeypatch.setattr(device_check, "train_on", lie)
    monkeypatch.setattr(device_check, "devices_here", lambda: ["cpu", "mps"])
    message = cgnn.fails(10, "doctor")
    assert "1 check fails: devices mps: class scores differ by 5.0e-01" in message


@pytest.mark.usefixtures("quick")
def test_a_store_that_cannot_be_written_ends_it(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    message = cgnn.fails(10, "doctor", "--store", "/proc/none")
    assert "store writing: /proc: " in message
    monkeypatch.setattr(probe, "TRY_LOCK", "pass")
    assert states_of(cgnn.ok("doctor", "--json").json["summary"]["checks"])["store", "locking"]["state"] == "note"


@pytest.mark.usefixtures("quick")
def test_versions_out_of_range_end_it_and_missing_extras_do_not(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Need("numpy", ">=1.26", None, "2.0"), Need("matplotlib", ">=3.8", "plot", None)]
    monkeypatch.setattr("cgnn_cli.commands.doctor.needs", lambda: iter(found))
    checks = states_of(cgnn.ok("doctor", "--json").json["summary"]["checks"])
    assert checks["extras", "plot"] == {
        "about": "extras",
        "name": "plot",
        "found": "not there: matplotlib; pip install 'cgnn[plot]'",
        "state": "note",
    }
    found[0] = Need("numpy", ">=1.26", None, "1.25.2")
    assert "versions numpy: 1.25.2 (>=1.26)" in cgnn.fails(10, "doctor")
