"""Plans and pages: remarks that are true of a row, and reasons for what is missing."""

from typing import Any

import pytest

from cgnn_cli.experiments.findings import planned
from cgnn_cli.experiments.lab import Asked
from cgnn_cli.experiments.remarks import SYMMETRISED
from cgnn_cli.experiments.rows import ROWS, Chosen
from tests.experiments.test_lab import lab_with


@pytest.mark.parametrize(
    ("name", "settings", "directed"),
    [
        ("gcn", {}, True),
        ("gcn", {"train.direction": "undirected"}, False),
        ("gcn", {"graph.undirected": True}, False),
        ("appnp", {}, False),
        ("appnp", {"train.direction": "out"}, True),
    ],
)
def test_a_row_that_ignores_directions_is_not_said_to_have_them(
    name: str, settings: dict[str, Any], directed: bool
) -> None:
    row = ROWS[name]
    chosen = Chosen({"train.model": row.model, **settings}, "a test")
    plan = planned(lab_with(Asked(quick=True)), row, "am-photo", chosen)
    assert (SYMMETRISED in plan.notes) is directed
