"""Times of edges and nodes, and splits before and after a date."""

from typing import Any

import numpy as np
import pytest

from cgnn_cli.errors import UsageError
from cgnn_cli.graph import TEST, TRAIN, UNUSED, VALIDATION
from tests.datasets.files.folder import Folder, dense, notes

EDGES = "from,to,when\n" + "".join(f"n{k},n{k + 1},2024-0{1 + k // 4}-1{k % 4}\n" for k in range(12))
LABELS = "id,label\n" + "".join(f"n{k},{'xy'[k % 2]}\n" for k in range(13)) + "lonely,x\n"
TIMES: dict[str, Any] = {"time_column": "when", "labels": LABELS}


def test_a_nodes_time_is_that_of_its_first_edge(folder: Folder) -> None:
    graph = folder.load(EDGES, train_before="2024-02-01", test_from="2024-03-01", **TIMES)
    assert graph.splits is not None and len(graph.splits) == 1
    parts = dict(zip(graph.ids().tolist(), graph.splits[0].tolist(), strict=True))
    assert [parts[f"n{k}"] for k in range(13)] == [TRAIN] * 5 + [VALIDATION] * 4 + [TEST] * 4
    assert parts["lonely"] == UNUSED
    assert "1 labelled node(s) have no time, and are in no split" in graph.summary["warnings"]
    assert "edges: from -> to, time when; 12 rows" in notes(graph)


def test_one_date_leaves_validation_to_chance(folder: Folder) -> None:
    graph = folder.load(EDGES, train_before="2024-02-01T00:00:00+01:00", split_count=3, **TIMES)
    assert graph.splits is not None and len(graph.splits) == 3
    tests = graph.splits == TEST
    assert (tests == tests[0]).all() and tests[0].sum() == 8
    assert all(np.bincount(split, minlength=4)[[TRAIN, VALIDATION]].tolist() == [3, 2] for split in graph.splits)
    again = folder.load(EDGES, train_before="2024-02-01", split_count=3, **TIMES)
    assert again.splits is not None and np.array_equal(graph.splits, again.splits)


def test_times_may_be_numbers_and_stand_with_the_labels(folder: Folder) -> None:
    labels = "id,label,since\n" + "".join(f"n{k},{'xy'[k % 2]},{k}\n" for k in range(12)) + "n12,x,\n"
    plain = EDGES.replace(",when", ",note")
    graph = folder.load(plain, labels=labels, time_column="since", train_before="6", test_from="9")
    assert graph.splits is not None and graph.splits[0, graph.ids().tolist().index("n7")] == VALIDATION
    assert "labels: id, label, time since" in notes(graph)
    both: dict[str, Any] = {"labels": labels.replace("since", "when"), "time_column": "when", "train_before": "6"}
    assert "number" in folder.fails("both have such a column", EDGES.replace("2024-0", "").replace("-1", ""), **both)


def test_the_last_weight_is_the_latest(folder: Folder) -> None:
    rows = "from,to,amount,when\na,b,1,2024-03-01\na,b,2,2024-05-01\na,b,3,2024-04-01\nb,a,7,2024-01-01\n"
    found = folder.load(rows, weight_column="amount", time_column="when", combine="last")
    assert dense(found) == [[0, 2], [7, 0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"train_before": "2023-01-01"},
            "the dates leave a part of the split without labelled nodes: train 0, val 0, test 13",
        ),
        ({"train_before": "5"}, "line 2: the time '2024-01-10' is no number; 11 more row(s)"),
    ],
)
def test_dates_that_do_not_fit(folder: Folder, options: dict[str, Any], message: str) -> None:
    folder.fails(message, EDGES, **TIMES, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_before": "soon"}, "neither a date nor a number"),
        ({"train_before": "2024-02-01", "test_from": "2024-01-01"}, "is before --train-before"),
        ({"test_from": "2024-01-01"}, "--test-from needs --train-before"),
        ({"train_before": "2024-02-01", "per_class": 1}, "contradict each other"),
        ({}, "--time-column is for"),
        ({"train_before": "2024-02-01", "time_column": "date"}, "has no such column"),
    ],
)
def test_options_of_times_that_do_not_fit(folder: Folder, options: dict[str, Any], message: str) -> None:
    folder.fails(message, EDGES, UsageError, **{**TIMES, **options})
