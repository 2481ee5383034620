"""The columns of tables of nodes: those that the user names, those that are found, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.errors import DataError, UsageError
from tests.datasets.files.folder import SQUARE, Folder, notes

WIDE = "".join(
    f"{','.join(row)}\n"
    for row in [
        ["", "name", "left", "class1", "class2", "x", "y", "colour"],
        *([str(k), f"KC #{k}", "True", "ab"[k % 2], "unk" if k == 3 else "p", f"{k}.5", "1", "#fff"] for k in range(9)),
        ["77", "no edge", "False", "unk", "unk", "0.5", "2", "#000"],
    ]
)
RING = "".join(f"{k} {(k + 1) % 9} {k + 1}.0\n" for k in range(9))


def test_some_columns_of_a_wide_table(folder: Folder) -> None:
    hint = folder.fails(
        "the label may be column 4 (class1) ('a', ...) or 5 (class2)", RING, labels=WIDE.replace("y,", "z,")
    )
    assert hint == "choose with --label-column"
    graph = folder.load(RING, labels=WIDE, label_column="class1", unknown_label=["unk"], weight_column="3")
    assert (graph.node_count, graph.class_labels(), graph.summary["unlabelled"]) == (10, ["a", "b"], 1)
    assert graph.is_weighted and "labels: column 1, class1; 10 rows, 1 without a label" in notes(graph)
    assert "the label unk is a class like any other; --unknown-label unk" in notes(
        folder.load(RING, labels=WIDE, label_column="class1")
    )
    more = folder.load(RING, labels=WIDE, label_column="4", feature_columns="x,7")
    assert more.features is not None and more.features.shape == (10, 2) and more.features[3].tolist() == [3.5, 1]
    ranged = folder.load(RING, labels=WIDE, label_column="4", feature_columns="6-7")
    assert np.array_equal(np.asarray(ranged.features), np.asarray(more.features))
    assert "features: column 1 and 2 column(s), x, y; 10 rows" in notes(more)


def test_one_table_for_labels_and_features(folder: Folder) -> None:
    table = folder.save(
        "nodes.csv", "age,id,label\n" + "".join(f"{30 + k},{k},{'ab'[k > 1]}\n" for k in range(4)) + "9,4,a\n"
    )
    edges = folder.save("edges.csv", SQUARE)
    graph = import_graph(ImportOptions(edges, features=table, labels=table))
    assert np.asarray(graph.features).ravel().tolist() == [30, 31, 32, 33, 9]
    assert graph.labels is not None and graph.labels.tolist() == [0, 0, 1, 1, 0]


def test_what_is_refused(folder: Folder) -> None:
    rows = "".join(f"{k},a,{k}.5\n" for k in range(4))
    folder.fails(
        "no label is 'x', which --unknown-label names", SQUARE, labels=rows, label_column="2", unknown_label=["x"]
    )
    folder.fails("has 3 columns, and none is known as the label: 1, 2, 3", SQUARE, labels=rows)
    folder.fails(
        "no id in column 1 is that of a node of the edges; some are in column 2", SQUARE, labels="x,0\nz,1\nx,2\n"
    )
    folder.fails("no id in column 1 (id) is that", SQUARE, labels="id,label\nx,a\nz,a\nw,a\n")
    folder.fails("may be the label, which is no feature", SQUARE, features="id,label,x\n0,1,2\n1,1,2\n2,1,2\n3,0,1\n")
    folder.fails("the label may be column", SQUARE, labels="id,source,target\n0,a,1\n1,a,1\n2,b,0\n3,b,0\n")
    folder.fails("the label may be column 2 (when)", SQUARE, labels="id,when\n0,2024-01-01\n1,2024-01-02\n")
    folder.fails("ids and labels are both column 1", SQUARE, UsageError, labels=rows, label_column="1")
    folder.fails(
        "is there twice, or is the id", SQUARE, UsageError, labels=rows, label_column="2", feature_columns="3,3"
    )
    folder.fails("--label-column needs --labels", SQUARE, UsageError, label_column="x")
    folder.fails("--feature-columns is for tables", SQUARE, UsageError, features=np.eye(4), feature_columns="1")


def test_the_answer_is_no_feature(folder: Folder) -> None:
    for title in ("target", "y", "class_id", "class1"):
        table = f"id,x,{title}\n" + "".join(f"{node},{node}.5,{node % 2}\n" for node in range(4))
        hint = folder.fails(f"column 3 ({title}) may be the label, which is no feature", SQUARE, features=table)
        assert "--feature-columns" in hint
        chosen = folder.load(SQUARE, features=table, feature_columns="2-3").features
        assert chosen is not None and chosen.shape == (4, 2)
    edges = folder.save("edges.csv", SQUARE)
    coded = folder.save(
        "coded.csv", "id,class,class_id,x\n" + "".join(f"{k},{'ab'[k % 2]},{k % 2},1\n" for k in range(4))
    )
    with pytest.raises(DataError, match="class_id"):
        import_graph(ImportOptions(edges, features=coded, labels=coded))
    rows = "".join(f"{node},{'ab'[node % 2]},{node},{node + 7}\n" for node in range(4))
    dated = folder.save("dated.csv", "id,class,when,x\n" + rows)
    graph = import_graph(ImportOptions(edges, features=dated, labels=dated, time_column="when", train_before="2"))
    assert np.asarray(graph.features).ravel().tolist() == [7, 8, 9, 10]


@pytest.mark.parametrize("header", ["customer_id,state,churned", "account,type,is_laundering"])
def test_a_weak_title_does_not_win_over_an_unknown_one(folder: Folder, header: str) -> None:
    table = header + "\n" + "".join(f"{node},{'ab'[node > 2]},{node // 2}\n" for node in range(5))
    assert folder.fails("the label may be column 2", SQUARE, labels=table) == "choose with --label-column"
    told = folder.load(SQUARE, labels=table.replace(header, "account,type,amount"))
    assert told.class_labels() == ["a", "b"]


@pytest.mark.parametrize(
    ("combine", "weights"),
    [(None, [3, 4]), ("sum", [3, 4]), ("count", [2, 1]), ("max", [2, 4]), ("last", [1, 4])],
)
def test_repeated_edges(folder: Folder, combine: str | None, weights: list[float]) -> None:
    column = None if combine == "count" else "w"
    graph = folder.load("from,to,w\na,b,2\na,b,1\nb,a,4\n", weight_column=column, combine=combine)
    assert graph.adjacency.data.tolist() == weights
    assert "1 row(s) repeat an edge of another row: they " in notes(graph)
    assert ("--combine" in notes(graph)) == (combine is None)
    folder.fails("needs weights", "a b\nb a\n", UsageError, combine="max")
    folder.fails("takes no weights", "a b 1\nb a 1\n", UsageError, combine="count", weight_column="3")


def test_classes_too_small_for_a_split_are_named(folder: Folder) -> None:
    graph = folder.load(SQUARE, labels="0,a\n1,a\n2,a\n3,b\n")
    said = "class 'b' (1 labelled node(s)) has no val node in 10 of 10 split(s), no test node in 10 of 10 split(s)"
    assert graph.summary["warnings"] == [said]
    assert "warnings" not in folder.load(SQUARE, labels="0,a\n1,a\n2,a\n3,\n").summary


@pytest.mark.parametrize(
    "labels",
    [
        "account,status\n0,ok\n1,ok\n2,ok\n3,fraud\n",
        "status,account\nok,0\nok,1\nok,2\nfraud,3\n",
        "country,account,label\nDE,0,ok\nFR,1,ok\nDE,2,ok\nIT,3,fraud\n",
        ",account,label\n0,0,ok\n1,1,ok\n2,2,ok\n3,3,fraud\n",
        ",name,label\n0,Zoe,ok\n1,Yan,ok\n2,Xia,ok\n3,Will,fraud\n",
        "0,ok\n1,ok\n2,ok\n3,fraud\n",
        "id,target\n0,ok\n1,ok\n2,ok\n3,fraud\n",
    ],
)
def test_labels_are_found_by_their_titles(folder: Folder, labels: str) -> None:
    graph = folder.load(SQUARE, labels=labels)
    assert graph.labels is not None and graph.class_labels() == ["fraud", "ok"]
    assert graph.labels.tolist() == [1, 1, 1, 0]
    assert graph.node_count == 4


@pytest.mark.realdata
def test_real_brain_and_wiki_come_in_at_the_first_try(real_data: Path) -> None:
    larva, wiki = real_data / "drosophila_larva", real_data / "wiki"
    brain = import_graph(
        ImportOptions(
            larva / "G_edgelist.txt",
            labels=larva / "meta_data.csv",
            label_column="class1",
            unknown_label=["unk"],
            weight_column="3",
        )
    )
    assert (brain.node_count, brain.adjacency.nnz, brain.summary["unlabelled"]) == (3591, 119010, 1670)
    touched = np.union1d(*brain.adjacency.nonzero())
    assert brain.node_count - len(touched) == 37
    pages = import_graph(ImportOptions(wiki / "Wiki_edgelist.txt", labels=wiki / "Wiki_category.txt"))
    assert (pages.node_count, pages.class_count, pages.summary["edge_lines"]) == (2405, 17, 17981)


def test_numbers_of_rows_are_not_taken_for_ids(folder: Folder) -> None:
    """Where ids are 0..N-1 a first column that counts the rows fits as well: no title says which it is."""
    square = "0,1\n1,2\n2,3\n3,0\n"
    rows = "0,2,5.5\n1,0,4\n2,3,3\n3,1,7\n"
    for header in ("rank,debitor,balance\n", "rank,posts,balance\n", ""):
        hint = folder.fails("the node id may be column 1", square, features=header + rows)
        assert "--id-column" in hint
    folder.fails("the node id may be column 1", square, features="rank,age\n0,39\n1,72\n2,49\n3,18\n")
    for header in ("rank,debitor,balance\n", ""):
        chosen = folder.load(square, features=header + rows, id_column="2", feature_columns="3")
        assert np.asarray(chosen.features).ravel().tolist() == [4, 7, 5.5, 3]
    assert folder.load(square, features="0,9,5.5\n1,8,4\n2,7,3\n3,6,7\n").features is not None
    assert folder.load(square, features="id,posts,balance\n" + rows).features is not None
