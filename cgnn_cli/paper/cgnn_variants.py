"""ppr, sym, rank and weights: CGNN with one thing changed, the walk, the rank of the SVD, or the weights left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgnn_cli.paper.cells import DASH, Cell, accuracy_table, beside_table
from cgnn_cli.paper.experiment_table import RANK, SMALL, SYM
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.paired_cells import Pair, compare_cells
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.remarks import TIMES
from cgnn_cli.paper.rows import ROWS
from cgnn_cli.report.table import Table, formatted
from cgnn_cli.solver_table import PAPER_RANK

ROW = ROWS["cgnn-paper"]
RANKS = (3, PAPER_RANK, 7, 10)
PAIRED = (
    "Over the splits that both rows have: the mean of the differences of their test accuracies ± its standard error, "
    "above 0 where the first row is better. p values are corrected for overlapping splits, and for all comparisons of "
    "the page."
)
FORMS, CONTROLS = ("cgnn", "cgnn-paper", "cgnn-extended"), ("none", "pi")
WEIGHED = (
    "Each pair has the same settings and seeds, but for the weights, and is compared split by split, over the splits "
    "that both have. Gains are those of the commute weights: above 0 they help. p values are corrected for overlapping "
    "splits, and for all comparisons of the page."
)


def run_ppr(lab: Lab) -> Findings:
    """CGNN against CGNN_ppr, whose walk teleports instead of being rewired: accuracy and time."""
    teleporting = plans(lab, SMALL, "CGNN_ppr", {"rewire.method": "teleport"}, "ppr", "CGNN_ppr")
    measured = lab.measure([*plans(lab, SMALL, "CGNN"), *teleporting])
    findings = _findings(lab, measured, pairs_of(measured, "CGNN"), time=time_table(measured, "ppr"))
    for record, each in zip(findings.records, measured, strict=False):
        record["seconds"] = each.run.seconds
    return findings


def run_sym(lab: Lab) -> Findings:
    """CGNN against CGNN_sym, whose walk goes along A + A^T."""
    symmetric = plans(lab, SYM, "CGNN_sym", {"rewire.walk": "symmetric"}, "sym", "CGNN_sym")
    measured = lab.measure([*plans(lab, SYM, "CGNN"), *symmetric])
    return _findings(lab, measured, pairs_of(measured, "CGNN"))


def run_rank(lab: Lab) -> Findings:
    """CGNN with the truncated SVD at several ranks."""
    found = []
    for rank in RANKS:
        changes = {"commute.solver": "svd", "commute.rank": rank}
        found += plans(lab, RANK, f"q={rank}", changes, "rank", setting=f"q={rank}")
    measured = lab.measure(found)
    return _findings(lab, measured, pairs_of(measured, f"q={PAPER_RANK}"), head="rank")


def run_weights(lab: Lab) -> Findings:
    """Three forms of CGNN with their weights and with both controls: all weights 1, and those of pi alone."""
    rows = lab.rows(row for form in FORMS for row in (form, *(f"{form}-{control}" for control in CONTROLS)))
    places = {(dataset, name): row.on(dataset) for dataset in lab.datasets(SMALL) for name, row in rows.items()}
    measured = dict(zip(places, lab.measure(list(places.values())), strict=True))
    pairs = [
        (measured[dataset, form], measured[dataset, f"{form}-{control}"])
        for dataset in dict.fromkeys(dataset for dataset, _ in measured)
        for form in FORMS
        for control in CONTROLS
        if {form, f"{form}-{control}"} <= rows.keys()
    ]
    return _findings(lab, list(measured.values()), pairs, title="Weights against no weights", opening=WEIGHED)


def plans(
    lab: Lab,
    datasets: Sequence[str],
    title: str,
    changes: dict[str, Any] | None = None,
    experiment: str = "table1",
    model: str = "CGNN",
    setting: str | None = None,
) -> list[Cell]:
    """CGNN with the paper's settings and some changes, on each dataset, beside what the paper prints for that.

    The paper's own CGNN stands beside the figure of table 1, the table that has its deviation.
    """
    found = []
    for dataset in lab.datasets(datasets):
        settings = {**ROW.on(dataset).settings, **(changes or {})}
        printed = find_result(experiment, model, dataset, setting=setting)
        found.append(ROW.on(dataset, settings, title=title, printed=printed))
    return found


def _findings(
    lab: Lab,
    measured: Sequence[Cell],
    pairs: Sequence[Pair],
    *,
    head: str = "model",
    title: str = "Split by split",
    opening: str = PAIRED,
    time: Table | None = None,
) -> Findings:
    """Accuracies, also beside the paper's, and the comparisons of pairs; with the records of both."""
    findings, compared = Findings(), compare_cells(lab, pairs)
    findings.add("Accuracy", [accuracy_table(measured, head)])
    findings.add("Beside the paper", [beside_table(measured, (head, "dataset"))])
    findings.add(title, [opening, *(compared.blocks() or ["There is no pair of rows to compare."])])
    findings.add("Time", [time])
    record_all(findings, measured)
    findings.records += compared.records()
    return findings


def pairs_of(measured: Sequence[Cell], own: str) -> list[Pair]:
    """The row `own` with each other row, on each dataset."""
    first = {each.column: each for each in measured if each.row == own}
    return [(first[each.column], each) for each in measured if each.row != own]


def time_table(measured: Sequence[Cell], experiment: str) -> Table:
    """Cold seconds, with those of the stages before training apart, and as a ratio to the first row's; both here and in
    the paper.
    """

    def paper(each: Cell) -> float | None:
        printed = find_result(experiment, each.row, each.column, metric="seconds") if each.comparable else None
        return printed.value if printed else None

    own = {each.column: each for each in reversed(measured)}
    rows = []
    for each in measured:
        seconds, first = each.run.seconds, own[each.column]
        taken = [each.status, DASH] if seconds is None else [f"{seconds:,.2f}", f"{each.run.seconds_before:,.2f}"]
        pairs = () if each is first else ((seconds, first.run.seconds), (paper(each), paper(first)))
        ratios = [DASH if one is None or not other else f"{one / other:.2f}" for one, other in pairs] or [DASH] * 2
        place = f"{each.column} (stand-in)" if each.standin else each.column
        rows.append([each.row, place, *taken, formatted(paper(each), ",.2f"), *ratios])
    heads = ("model", "dataset", "seconds", "before training", "paper's seconds")
    columns = (*heads, f"ratio to {measured[0].row}", "paper's ratio")
    caption = f"Cold seconds of one training with all stages before it, never those of a cache hit; {TIMES}"
    return Table(caption, columns, rows, heads=2)
