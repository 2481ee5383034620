"""The table of solvers: keys stay what they were, and a solver from outside the package is as good as its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.settings import Settings
from cgnn_cli.solver_table import SOLVERS, Solver, WalkSize, describe_solvers, exact_or_series, register
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution
from tests.front_door import FrontDoor

CONFIGURATIONS = json.loads((Path(__file__).parent / "solvers" / "configurations.json").read_text())


def test_what_goes_into_a_key_is_what_went_into_it_in_0_1_0() -> None:
    for options, expected in CONFIGURATIONS:
        try:
            found: Any = CommuteConfig(**options).to_dict()
        except UsageError as error:
            found = error.message
        assert found == expected, options


def test_a_configuration_is_read_back_from_its_key() -> None:
    for _, values in CONFIGURATIONS:
        if isinstance(values, dict):
            assert CommuteConfig.from_dict(values).to_dict() == values


def test_the_options_of_solvers_are_options_of_the_stage() -> None:
    assert {name for solver in SOLVERS.values() for name in solver.options} <= vars(CommuteConfig()).keys()


@pytest.mark.parametrize(("nodes", "solver", "quick"), [(5500, "exact", "exact"), (20_000, "exact", "series")])
def test_true_times_are_exact_on_small_graphs(nodes: int, solver: str, quick: str) -> None:
    assert (exact_or_series(nodes), exact_or_series(nodes, quickly=True)) == (solver, quick)
    assert exact_or_series(20_001) == exact_or_series(5501, quickly=True) == "series"


def test_memory_grows_with_the_walk() -> None:
    small, large = WalkSize(10, 50, 40), WalkSize(1000, 5000, 4000)
    for name, solver in SOLVERS.items():
        config = CommuteConfig(solver=name)
        factor = 10_000 if name == "exact" else 100  # which is dense
        assert solver.memory(large, config) == factor * solver.memory(small, config)


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    """The toy: every hitting time is the rank."""
    ones = np.full(len(pairs.source), float(config.rank))
    return Solution(ones, ones, 2 * ones, {"toys": len(ones)}, ["toys were counted"])


@pytest.fixture
def toy() -> Iterator[None]:
    register("toy", Solver("all pairs alike", __name__, ("rank",)))
    yield
    del SOLVERS["toy"]


@pytest.mark.usefixtures("toy")
def test_a_solver_from_outside_is_used_like_the_others(cgnn: FrontDoor) -> None:
    options = ("commute", "--dataset", "demo", "--solver", "toy", "--rank", 7, "--json")
    found = cgnn.ok(*options, "--format", "npz").json
    assert found["cache"] == "miss" and found["summary"]["toys"] == found["summary"]["edges"]
    assert cgnn.ok(*options, "--solver-seed", 9).json["key"] == found["key"]
    assert cgnn.ok(*options, "--rank", 8).json["key"] != found["key"]
    with np.load(Path(found["artifact"]).with_suffix(".npz")) as exported:
        assert (exported["commute"] == 14).all() and (exported["weight_out"] == 1).all()
    cgnn.ok("export", found["key"], "--to", "csv", "--output", "times.csv")
    header, first, *rows = Path("times.csv").read_text().splitlines()
    assert dict(zip(header.split(","), first.split(","), strict=True))["commute"] == "14.0"
    assert 1 + len(rows) == found["summary"]["edges"]
    assert '"solver": "toy"' in cgnn.ok("show", found["key"], "--json").out


@pytest.mark.usefixtures("toy")
def test_a_solver_from_outside_can_be_set_described(cgnn: FrontDoor) -> None:
    assert "toy: all pairs alike." in describe_solvers()
    assert Settings({}, ["commute.solver=toy"], environment={}).config("commute").to_dict()["solver"] == "toy"
    assert "'pi-only', 'toy'" in cgnn.fails(2, "commute", "--dataset", "demo", "--solver", "toi")
    assert "did you mean toy?" in cgnn.fails(2, "commute", "--dataset", "demo", "--set", "commute.solver=toi")


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="a solver svd already"):
        register("svd", Solver("another", __name__))


def test_an_unknown_solver_is_refused_also_in_python() -> None:
    with pytest.raises(UsageError, match="must be one of svd, exact, series, sketch, pi-only, got magic"):
        CommuteConfig(solver="magic")


def test_the_table_needs_no_numbers() -> None:
    code = "import sys, cgnn_cli.configs; sys.exit(len({'numpy', 'scipy', 'torch'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
