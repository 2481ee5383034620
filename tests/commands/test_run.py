"""What `run --compare` trains beside what was asked for."""

import pytest

from cgnn_cli.commands.run import compared


@pytest.mark.parametrize(
    ("nodes", "solver"), [(1_500, "exact"), (5_500, "exact"), (5_501, "series"), (19_998, "series")]
)
def test_a_comparison_does_not_wait_for_the_dense_solver(nodes: int, solver: str) -> None:
    assert [config.solver for config in compared(nodes)] == ["pi-only", "svd", solver, "pi-only"]
