"""kill -9 at every step of publishing: nothing half-written is ever taken for an artifact."""

import signal
from pathlib import Path

import pytest

from cgnn_cli.store.crashpoints import POINTS
from cgnn_cli.store.store import Store
from tests.faults.conftest import write_graph
from tests.faults.processes import (
    COMMUTE,
    artifacts_of,
    assert_nothing_half_written,
    payload_of,
    run,
    temporaries_of,
)
from tests.front_door import FrontDoor

AFTER_THE_RENAME = POINTS[POINTS.index("renamed") :]
BEFORE_THE_RENAME = POINTS[: POINTS.index("renamed")]
KILLS = len(POINTS) + 2 + 1  # kills at crash points, over the tests of this file


def test_the_points_are_the_steps_of_publishing() -> None:
    assert POINTS == (
        "temporary-opened",
        "half-written",
        "written",
        "verified",
        "synced",
        "renamed",
        "protected",
        "recorded",
    )


@pytest.mark.parametrize("point", BEFORE_THE_RENAME)
def test_case_01_killed_while_writing(
    point: str, template: Path, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    kill_and_go_on(point, template, upstream, payloads, cgnn)


@pytest.mark.parametrize("point", AFTER_THE_RENAME)
def test_case_02_killed_between_rename_and_record(
    point: str, template: Path, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    kill_and_go_on(point, template, upstream, payloads, cgnn)


def kill_and_go_on(point: str, template: Path, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor) -> None:
    """Kill a real process at a point; what it left is whole or not there, and the next run ends as if undisturbed."""
    killed = run(*COMMUTE, CGNN_CRASH_AT=point)
    assert killed.code == -signal.SIGKILL and killed.out == ""
    assert_nothing_half_written(upstream)
    published = point in AFTER_THE_RENAME
    assert len(artifacts_of(upstream, "commute")) == published
    remnants = temporaries_of(upstream)
    assert len(remnants) == (not published)
    if point == "half-written":
        (whole,) = artifacts_of(template, "commute")
        assert 0 < remnants[0].stat().st_size < whole.stat().st_size

    again = cgnn.ok(*COMMUTE).json
    assert again["cache"] == ("hit" if published else "miss")
    assert again["warnings"] == []
    assert payload_of(again["artifact"]) == payloads["commute"]
    assert cgnn.ok(*COMMUTE).json["cache"] == "hit"


@pytest.mark.parametrize("point", ["half-written", "renamed"])
def test_case_01_killed_while_publishing_the_first_artifact_of_a_store(
    point: str, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    edges, labels = write_graph(Path())
    command = ("data", "import", "tiny", "--edges", edges, "--labels", labels, "--store", "store", "--json")
    assert run(*command, CGNN_CRASH_AT=point).code == -signal.SIGKILL
    assert_nothing_half_written(Path("store"))
    assert Store(Path("store")).dataset("tiny") == {}

    again = cgnn.ok(*command).json
    assert again["cache"] == ("hit" if point in AFTER_THE_RENAME else "miss")
    assert payload_of(again["artifact"]) == payloads["graph"]


def test_an_artifact_that_was_there_before_outlives_a_kill(full: Path, payloads: dict[str, str]) -> None:
    assert run(*COMMUTE, "--force", CGNN_CRASH_AT="half-written").code == -signal.SIGKILL
    header = Store(full).find("commute", artifacts_of(full, "commute")[0].stem)
    assert header is not None and header.payload == payloads["commute"]
