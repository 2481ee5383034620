"""A reproduction that is killed at any moment and run again gives the tables of one that was left alone."""

import random
import subprocess
from pathlib import Path

import pytest

from tests.faults.processes import artifacts_of, assert_nothing_half_written, run, start, wait_for

EXPERIMENT = ("reproduce", "weights", "--quick", "--models", "cgnn-paper,cgnn-paper-none", "--jobs", 2, "--quiet")
TABLES = ("page.md", "page.tex", "page.html", "results.csv", "results.json")


def tables_in(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The tables of a run that nothing disturbs, and how many artifacts it publishes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run(*EXPERIMENT, "--store", folder / "store", "--output", folder / "out")
    assert done.code == 0, done
    return tables_in(folder / "out"), len(artifacts_of(folder / "store"))


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_and_run_again(seed: int, undisturbed: tuple[dict[str, bytes], int]) -> None:
    expected, published = undisturbed
    moment = random.Random(seed).randrange(1, published)
    store = Path("store")
    process = start(*EXPERIMENT, "--store", store, "--output", "out", stdout=subprocess.DEVNULL)
    wait_for(lambda: len(artifacts_of(store)) >= moment or process.poll() is not None)
    process.kill()
    process.communicate()
    assert not Path("out/page.md").exists() and len(artifacts_of(store)) < published
    assert_nothing_half_written(store)

    again = run(*EXPERIMENT, "--store", store, "--output", "out")
    assert again.code == 0, again
    assert tables_in(Path("out")) == expected
