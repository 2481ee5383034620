"""A reproduction that is killed at any moment and run again gives the tables of one that was left alone."""

import signal
from pathlib import Path

import pytest

from tests.faults.processes import artifacts_of, assert_nothing_half_written, killed_at, run

EXPERIMENT = ("reproduce", "weights", "--quick", "--models", "cgnn-paper,cgnn-paper-none", "--jobs", 2, "--quiet")
TABLES = ("page.md", "page.tex", "page.html", "results.csv", "results.json")


def tables_in(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tables of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run(*EXPERIMENT, "--store", folder / "store", "--output", folder / "out")
    assert done.code == 0, done
    return tables_in(folder / "out")


@pytest.mark.parametrize("number", [1, 4])
def test_killed_and_run_again(number: int, undisturbed: dict[str, bytes]) -> None:
    store = Path("store")
    killed = run(*EXPERIMENT, "--store", store, "--output", "out", patch=killed_at(number))
    assert killed.code == -signal.SIGKILL, killed
    assert not Path("out/page.md").exists() and artifacts_of(store)
    assert_nothing_half_written(store)

    again = run(*EXPERIMENT, "--store", store, "--output", "out")
    assert again.code == 0, again
    assert tables_in(Path("out")) == undisturbed
