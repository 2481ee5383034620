"""ppr, sym and rank: CGNN with one thing changed, a teleporting walk, a symmetric walk, or the rank of the SVD."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from cgnn_cli.experiments.cells import DASH, Measured, accuracy_table, beside_table
from cgnn_cli.experiments.findings import Findings, Planned, measure, planned, record_all
from cgnn_cli.experiments.lab import Lab
from cgnn_cli.experiments.pairs import Pair, compare_cells
from cgnn_cli.experiments.paper import PaperResult, find_result
from cgnn_cli.experiments.remarks import TIMES
from cgnn_cli.experiments.rows import ROWS, Chosen
from cgnn_cli.experiments.table import RANK, SMALL, SYM
from cgnn_cli.report.table import Table
from cgnn_cli.trials import TrialResult

ROW = ROWS["cgnn-paper"]
RANKS = (3, 5, 7, 10)
OWN_RANK = 5  # the paper's
PAIRED = (
    "Over the splits that both rows have: the mean of the differences of their test accuracies ± its standard error, "
    "above 0 where the first row is better. p values are corrected for all of the table."
)
Printed = Callable[[str], PaperResult | None]


def plans(lab: Lab, datasets: Sequence[str], title: str, changes: dict[str, Any], printed: Printed) -> list[Planned]:
    """CGNN with the paper's settings and some changes, on each dataset."""
    found = []
    for dataset in lab.datasets(datasets):
        base = ROW.on(dataset)
        chosen = Chosen({**base.settings, **changes}, base.origin)
        found.append(planned(lab, ROW, dataset, chosen, title=title, printed=printed(dataset)))
    return found


def printed_own(dataset: str) -> PaperResult | None:
    """CGNN's own figure, from the table that has its deviation."""
    return find_result("table1", "CGNN", dataset)


def run_ppr(lab: Lab) -> Findings:
    """CGNN against CGNN_ppr, whose walk teleports instead of being rewired: accuracy and time."""
    teleporting = {"rewire.method": "teleport"}
    measured = measure(
        lab,
        [
            *plans(lab, SMALL, "CGNN", {}, printed_own),
            *plans(lab, SMALL, "CGNN_ppr", teleporting, lambda name: find_result("ppr", "CGNN_ppr", name)),
        ],
    )
    findings = _findings(lab, measured, "CGNN", time=time_table(measured, "ppr"))
    for record, each in zip(findings.records, measured, strict=False):
        record["seconds"] = cold_seconds(each.result)
    return findings


def run_sym(lab: Lab) -> Findings:
    """CGNN against CGNN_sym, whose walk goes along A + A^T."""
    symmetric = {"rewire.walk": "symmetric"}
    measured = measure(
        lab,
        [
            *plans(lab, SYM, "CGNN", {}, printed_own),
            *plans(lab, SYM, "CGNN_sym", symmetric, lambda name: find_result("sym", "CGNN_sym", name)),
        ],
    )
    return _findings(lab, measured, "CGNN")


def run_rank(lab: Lab) -> Findings:
    """CGNN with the truncated SVD at several ranks."""
    found = []
    for rank in RANKS:
        setting = f"q={rank}"

        def printed(dataset: str, setting: str = setting) -> PaperResult | None:
            return find_result("rank", "CGNN", dataset, setting=setting)

        found += plans(lab, RANK, setting, {"commute.solver": "svd", "commute.rank": rank}, printed)
    return _findings(lab, measure(lab, found), f"q={OWN_RANK}", head="rank")


def _findings(
    lab: Lab, measured: Sequence[Measured], own: str, head: str = "model", time: Table | None = None
) -> Findings:
    """The sections and records of rows of which `own` is the paper's choice, which the others are compared with."""
    findings = Findings()
    findings.add("Accuracy", [accuracy_table(measured, head)])
    findings.add("Beside the paper", [beside_table(measured, (head, "dataset"))])
    compared = compare_cells(lab, pairs_of(measured, own))
    if blocks := compared.blocks():
        findings.add("Split by split", [PAIRED, *blocks])
    findings.add("Time", [time])
    record_all(findings, measured)
    findings.records += compared.records()
    return findings


def pairs_of(measured: Sequence[Measured], own: str) -> list[Pair]:
    """The row `own` with each other row, on each dataset."""
    first = {each.column: each for each in measured if each.row == own}
    return [(first[each.column], each) for each in measured if each.row != own]


def cold_seconds(result: TrialResult) -> float | None:
    """Seconds of the stages before training and of one split's training (mean), as recorded when they were made."""
    return result.preparation_seconds + statistics.fmean(result.seconds) if result.seconds else None


def time_table(measured: Sequence[Measured], experiment: str) -> Table:
    """Cold seconds, with those of the stages before training apart, and as a ratio to the first row's; both here and in
    the paper.
    """
    own = {each.column: each for each in reversed(measured)}
    rows = []
    for each in measured:
        seconds, printed = cold_seconds(each.result), _printed_seconds(each, experiment)
        first = own[each.column]
        rows.append(
            [
                each.row,
                f"{each.column} (stand-in)" if each.standin else each.column,
                f"{seconds:,.2f}" if seconds is not None else each.status,
                f"{each.result.preparation_seconds:,.2f}" if seconds is not None else DASH,
                f"{printed:,.2f}" if printed is not None else DASH,
                DASH if each is first else _ratio(seconds, cold_seconds(first.result)),
                DASH if each is first else _ratio(printed, _printed_seconds(first, experiment)),
            ]
        )
    ratio = f"ratio to {measured[0].row}"
    columns = ("model", "dataset", "seconds", "before training", "paper's seconds", ratio, "paper's ratio")
    caption = f"Cold seconds of one training with all stages before it, never those of a cache hit; {TIMES}"
    return Table(caption, columns, rows, heads=2)


def _printed_seconds(each: Measured, experiment: str) -> float | None:
    """The paper's, where these say something."""
    printed = find_result(experiment, each.row, each.column, metric="seconds") if each.comparable else None
    return printed.value if printed else None


def _ratio(seconds: float | None, first: float | None) -> str:
    return DASH if seconds is None or not first else f"{seconds / first:.2f}"
