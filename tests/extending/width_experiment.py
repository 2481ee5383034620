"""widths: GCN with a narrow and with a wide hidden layer."""

from cgnn_cli.paper.cells import accuracy_table
from cgnn_cli.paper.experiment_table import EXPERIMENTS, Experiment
from cgnn_cli.paper.findings import Findings, record_all
from cgnn_cli.paper.lab import Lab
from cgnn_cli.paper.rows import ROWS

WIDTHS = (4, 8)


def run(lab: Lab) -> Findings:
    """Train GCN with each width on each dataset."""
    row = ROWS["gcn"]
    cells = lab.measure(
        [
            row.on(dataset, {**row.on(dataset).settings, "train.hidden": width}, title=f"width {width}")
            for dataset in lab.datasets(["cora-ml"])
            for width in WIDTHS
        ]
    )
    findings = Findings()
    findings.add("Accuracy", [accuracy_table(cells, "width")])
    record_all(findings, cells)
    return findings


EXPERIMENTS["widths"] = Experiment(
    "Narrow and wide", "Beyond the paper", ("cora-ml",), "2 widths, 10 splits each", 5, f"{__name__}:run"
)
