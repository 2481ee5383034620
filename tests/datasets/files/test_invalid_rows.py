"""Rows that cannot be used: named together, or left out and counted."""

from tests.datasets.files.folder import SQUARE, Folder, dense, notes

PAYMENTS = "payer,payee,amount\na,b,5\nb,c,0\nc,a,\n,a,3\na,c,x\nb,a,-2\nc,b,nan\na,,\nc,a,1.5\n"


def test_several_lines_are_named_at_once(folder: Folder) -> None:
    message = (
        "edges.csv, line 3: the weight '0' is not a number between 1e-150 and 1e+150; 6 more row(s) cannot be used"
    )
    hint = folder.fails(message, PAYMENTS, weight_column="amount")
    assert "--drop-invalid" in hint
    folder.fails("either: line 4, 5, 6, 7, 8, ...", PAYMENTS, weight_column="amount")
    folder.fails("edges.csv, line 5: the node id in column 1 is empty; 1 more", PAYMENTS)


def test_dropped_rows_are_counted_and_said(folder: Folder) -> None:
    graph = folder.load(PAYMENTS, weight_column="amount", drop_invalid=True)
    assert dense(graph) == [[0, 5, 0], [0, 0, 0], [1.5, 0, 0]]
    assert graph.summary["dropped"] == 7
    said = "7 row(s) dropped: 2 without a node id, 6 without a usable weight (line 3, 4, 5, 6, 7, ...)"
    assert said in notes(graph)
    assert "edges: payer -> payee, weight amount; 9 rows, 2 without amount" in notes(graph)
    assert "dropped" not in folder.load("a b 1\nb a 2\n", weight_column="3", drop_invalid=True).summary
    folder.fails("all 2 rows are invalid", "a b 0\nb a 0\n", weight_column="3", drop_invalid=True)


def test_rows_of_nodes_without_an_id(folder: Folder) -> None:
    labels = "id,label\n0,x\n,y\n1,x\n2,x\n,x\n"
    folder.fails("line 3: the node id in column 1 is empty; 1 more row(s)", SQUARE, labels=labels)
    graph = folder.load(SQUARE, labels=labels, drop_invalid=True)
    assert graph.class_labels() == ["x"] and graph.summary["dropped"] == 2
    both = "id,label,age\n0,x,1\n,y,2\n1,x,3\n2,x,4\n3,,5\n"
    once = folder.load(SQUARE, labels=both, feature_columns="age", drop_invalid=True)
    assert once.summary["dropped"] == 1 and once.features is not None and once.features.tolist() == [[1], [3], [4], [5]]
