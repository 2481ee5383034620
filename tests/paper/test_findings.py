"""What an experiment found: reasons for what is missing, and where each figure comes from."""

from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.report.page import Details
from tests.paper.test_cells import cell, run


def test_cells_that_were_not_run_have_a_reason_and_one_cell_is_one() -> None:
    findings = Findings()
    record_all(findings, [cell("CGNN", "demo", run(status="not run"), 2)])
    missing, provenance = findings.sections
    assert missing.blocks == ["1 cell: the time was up. The same command goes on from here."]
    (details,) = provenance.blocks
    assert isinstance(details, Details) and details.title == "Settings and artifacts of 1 cell"
    done = Findings()
    record_all(done, [cell("CGNN", "demo", run(0.5), 1)])
    assert [section.title for section in done.sections] == ["Provenance"]
