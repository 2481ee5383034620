"""Plans and pages: remarks that are true of a row, and reasons for what is missing."""

from typing import Any

import pytest

from cgnn_cli.experiments.cells import Measured
from cgnn_cli.experiments.findings import Findings, planned, record_all
from cgnn_cli.experiments.lab import Asked
from cgnn_cli.experiments.remarks import SYMMETRISED
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.report.page import Details
from tests.experiments.test_cells import result
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


def test_cells_that_were_not_run_have_a_reason_and_one_cell_is_one() -> None:
    findings = Findings()
    record_all(findings, [Measured("CGNN", "demo", result(status="not run"), 2)])
    missing, provenance = findings.sections
    assert missing.blocks == ["1 cell: the time was up. The same command goes on from here."]
    (details,) = provenance.blocks
    assert isinstance(details, Details) and details.title == "Settings and artifacts of 1 cell"
    done = Findings()
    record_all(done, [Measured("CGNN", "demo", result(0.5), 1)])
    assert [section.title for section in done.sections] == ["Provenance"]
