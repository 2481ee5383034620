"""The tables that train and eval end with, from summaries, also from those of 0.1.0."""

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from cgnn_cli.commands.score_tables import MOST_CLASSES, class_table, scored_table, trained_table
from cgnn_cli.report.table import DASH

ONE, TWO = {"mean": 0.5, "std": 0.0, "runs": 1}, {"mean": 0.75, "std": 0.25, "runs": 2}
UNKNOWN = {"mean": None, "std": None, "runs": 0}


def rows_of(table: Table) -> list[str]:
    """The rows as a reader sees them, with single spaces."""
    console = Console(width=160)
    with console.capture() as capture:
        console.print(table)
    return [" ".join(line.split()) for line in capture.get().splitlines() if line.strip()]


def test_what_a_training_reached() -> None:
    plain = trained_table({"validation_accuracy": ONE, "epochs": [7]})
    assert rows_of(plain)[2:] == ["accuracy 50.00", "epochs 7"]
    threshold = {"class": "fraud", "value": TWO, "validation_precision": TWO, "validation_recall": ONE}
    told = {"metric": "auc", "metric_class": "fraud", "validation_score": TWO, "base_rate": TWO, "temperature": TWO}
    full = trained_table({"validation_accuracy": TWO, "epochs": [7, 9], "threshold": threshold, **told})
    assert rows_of(full)[2:] == [
        "AUC of fraud 75.00 ± 25.00",
        "accuracy 75.00 ± 25.00",
        "base rate of AUC 75.00 ± 25.00",
        "temperature (no %) 0.75 ± 0.25",
        "threshold of fraud 75.00 ± 25.00",
        "its precision 75.00 ± 25.00",
        "its recall 50.00",
        "epochs 7 to 9",
    ]
    assert rows_of(trained_table({"validation_accuracy": ONE, "epochs": [0]}))[-1] == "accuracy 50.00"  # trains nothing


def test_scores_of_0_1_0_have_dashes() -> None:
    rows = rows_of(scored_table({"test_accuracy": ONE, "macro_f1": TWO}))
    assert rows[2:5] == [f"accuracy 50.00 {DASH}", f"macro-F1 75.00 ± 25.00 {DASH}", f"balanced accuracy {DASH} {DASH}"]
    (row,) = rows_of(class_table({"a": {"precision": ONE, "recall": ONE, "f1": ONE}}))[2:]
    assert row == f"a {DASH} 50.00 50.00 50.00 {DASH} {DASH}"


@pytest.mark.parametrize("count", [MOST_CLASSES, MOST_CLASSES + 1])
def test_many_classes_are_cut_to_the_largest(count: int) -> None:
    figures: dict[str, Any] = {"precision": ONE, "recall": ONE, "f1": ONE, "auc": UNKNOWN, "average_precision": UNKNOWN}
    classes = {f"c{k}": {**figures, "support": {"mean": k, "std": 0, "runs": 1}} for k in range(count)}
    table = class_table(classes)
    assert table.row_count == MOST_CLASSES and rows_of(table)[2].startswith(f"c{count - 1} {count - 1} ")
    assert (table.caption is None) == (count == MOST_CLASSES)
