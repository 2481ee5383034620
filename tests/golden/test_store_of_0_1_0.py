"""What version 0.1.0 wrote is read by every later version, and is found under the same keys.

tests/golden/0.1.0/store is what `cgnn run --split 0 --no-compare --hidden 8` wrote, tests/golden/0.1.0/npz has an
export of each of its artifacts. They are never written again. A stage whose numbers change raises its algorithm number
and is named in CHANGED; an option that came later enters a key only where it differs from what 0.1.0 did.
"""

import shutil
from pathlib import Path

import pytest

from cgnn_cli.pipeline import STAGES
from cgnn_cli.report.table import DASH
from cgnn_cli.store import artifact as files
from cgnn_cli.store.store import Store
from tests.front_door import FrontDoor

GOLDEN = Path(__file__).with_name("0.1.0")
COMMAND = ("run", "--split", 0, "--no-compare", "--hidden", 8)
CHANGED: tuple[str, ...] = ()  # stages whose algorithm number has been raised since, and so those after them


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy that may be written to."""
    return Path(shutil.copytree(GOLDEN / "store", tmp_path / "store"))


def test_the_golden_files_are_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 4 << 20


@pytest.mark.parametrize("stage", STAGES)
def test_case_20_both_formats_of_every_stage_are_read_and_hold_the_same(store: Path, stage: str) -> None:
    (stored,) = (store / stage).glob("*.h5")
    one, other = files.read(stored), files.read(GOLDEN / "npz" / f"{stage}.npz")
    assert one.header == other.header
    assert Store(store).find(stage, one.header.key) == one.header


def test_case_20_the_same_command_finds_everything(cgnn: FrontDoor, store: Path) -> None:
    result = cgnn.ok(*COMMAND, "--store", store, "--json").json
    missed = [row["stage"] for row in result["stages"] if row["cache"] != "hit"]
    first = min((list(STAGES).index(stage) for stage in CHANGED), default=len(STAGES))
    assert missed == [stage for stage in STAGES if list(STAGES).index(stage) >= first]
    if not CHANGED:
        assert result["key"] == next((GOLDEN / "store" / "eval").glob("*.h5")).stem


def test_case_20_every_command_of_the_store_takes_it(cgnn: FrontDoor, store: Path) -> None:
    before = {path: path.read_bytes() for path in store.rglob("*.h5")}
    where = ("--store", store, "--json")
    assert {row["result"] for row in cgnn.ok("cache", "verify", *where).json["summary"]["verified"]} == {"ok"}
    assert cgnn.ok("cache", "gc", *where).json["summary"]["kept"] == len(STAGES)
    assert len(cgnn.ok("cache", "ls", *where).json["summary"]["artifacts"]) == len(STAGES)
    cgnn.ok("cache", "pack", next((store / "eval").glob("*.h5")).stem, "-o", "old.tar", *where)
    cgnn.ok("cache", "unpack", "old.tar", "--store", "new")
    assert cgnn.ok(*COMMAND, "--store", "new", "--json").json["cache"] == "hit" or CHANGED
    assert {path: path.read_bytes() for path in store.rglob("*.h5")} == before


def test_case_20_scores_are_shown_with_what_they_have(cgnn: FrontDoor, store: Path) -> None:
    scored = ("eval", *COMMAND[1:3], *COMMAND[4:], "--dataset", "demo", "--store", store)
    told = cgnn.ok(*scored)
    assert "cached" in told.err and "`cgnn eval --force` adds" in told.err and "±" not in told.err
    (line,) = [
        line
        for line in told.err.splitlines()
        if "average precision" in line and "base" not in line and "av." not in line
    ]
    assert DASH in line and "macro-F1" in told.err
    cgnn.ok("report", "--store", store, "--output", "report")
    assert "no average-precision" in cgnn.fails(4, "report", "--store", store, "--metric", "average-precision")
    again = cgnn.ok(*scored, "--force", "--json").json
    assert again["key"] == Path(told.path).stem and again["summary"]["metrics"]["auc"]["runs"] == 1
    assert (
        cgnn.ok("report", "--store", store, "--metric", "auc", "--output", "report", "--json").json["summary"]["runs"]
        == 1
    )


def test_case_20_a_dry_run_says_the_same(cgnn: FrontDoor, store: Path) -> None:
    rows = cgnn.ok(*COMMAND, "--store", store, "--dry-run", "--json").json["stages"]
    assert [row["stage"] for row in rows] == list(STAGES)
    assert CHANGED or {row["cache"] for row in rows} == {"hit"}
