"""What an earlier graph has stays when files add to it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph
from tests.datasets.files.folder import Folder, dense, notes


def test_nodes_without_anything_stay(folder: Folder) -> None:
    more = folder.save("more.csv", "a,c\n")
    named = folder.load("a,b\nb,a\n", labels="id,label\na,x\nb,x\nd,x\nz,\n")
    assert import_graph(ImportOptions(more), named).ids().tolist() == ["a", "b", "c", "d", "z"]
    numbered = folder.load(csr_array(np.eye(5, k=1)[:, :] * (np.arange(5) < 2)))
    added = import_graph(ImportOptions(folder.save("new.csv", "1,0\n")), numbered)
    assert (numbered.node_count, added.node_count, added.node_ids) == (5, 5, None)


def test_new_rows_are_counted_onto_the_earlier_weights(folder: Folder) -> None:
    more = ImportOptions(folder.save("more.csv", "a,b\na,b\nb,a\n"), combine="count")
    counted = import_graph(more, folder.load("a,b\nb,a\n"))
    assert dense(counted) == [[0, 3], [2, 0]]


def test_times_of_new_labels_split_the_nodes(folder: Folder) -> None:
    ring = "".join(f"{node},{(node + 1) % 60}\n" for node in range(60))
    before = folder.load(ring, labels="id,label\n" + "".join(f"{node},{'ab'[node % 2]}\n" for node in range(50)))
    table = "id,label,when\n" + "".join(
        f"{node},{'ab'[node % 2] if node > 9 else ''},{node}\n" for node in range(5, 60)
    )
    dated = ImportOptions(
        None, labels=folder.save("t.csv", table), time_column="when", train_before="20", test_from="40"
    )
    graph = import_graph(dated, before)
    assert graph.splits is not None and graph.class_labels() == ["a", "b"]
    where = [int(name) for name in graph.ids()]
    parts = {part: {node for node, own in zip(where, graph.splits[0], strict=True) if own == part} for part in range(4)}
    assert set(range(5)) in parts.values(), "nodes without a time are in no split"
    assert set(range(40, 60)) in parts.values(), "the last ones test"
    assert any("5 labelled node(s) have no time" in warning for warning in graph.summary["warnings"])


RING = "".join(f"n{node},n{(node + 1) % 60}\n" for node in range(60))


def labels_of(nodes: Iterable[int], classes: str = "ab") -> str:
    return "id,label\n" + "".join(f"n{node},{classes[node % len(classes)]}\n" for node in nodes)


def updated(folder: Folder, before: Graph, **files: str) -> Graph:
    paths: dict[str, Any] = {role: folder.save(f"new-{role}.csv", text) for role, text in files.items()}
    return import_graph(ImportOptions(paths.pop("edges", None), **paths), before)


def parts_of(graph: Graph, nodes: Iterable[int]) -> np.ndarray:
    assert graph.splits is not None
    places = {name: place for place, name in enumerate(graph.ids().tolist())}
    return graph.splits[:, [places[f"n{node}"] for node in nodes]]


RULES: dict[str, dict[str, Any]] = {
    "shares": {"split_ratio": "50/25/25", "split_count": 4, "split_seed": 7},
    "as usual": {},
    "of each class": {"per_class": 5, "val": 10, "split_count": 2},
}


@pytest.mark.parametrize("name", RULES)
def test_every_node_keeps_its_part_and_new_ones_get_theirs_by_the_same_rule(folder: Folder, name: str) -> None:
    before = folder.load(RING, labels=labels_of(range(0, 60, 3)) + labels_of(range(1, 60, 3))[9:], **RULES[name])
    known = [node for node in range(60) if node % 3 < 2]
    grown = updated(folder, before, edges="n0,n70\nn70,n5\n")
    assert (parts_of(grown, range(60)) == parts_of(before, range(60))).all() and not parts_of(grown, [70]).any()
    more = updated(folder, grown, edges="n71,n1\nn72,n1\n", labels=labels_of([*range(2, 60, 3), 70, 71]))
    assert (parts_of(more, known) == parts_of(before, known)).all()
    fresh = parts_of(more, [*range(2, 60, 3), 70, 71])
    assert (fresh > 0).all() and not parts_of(more, [72]).any() and more.split_count == before.split_count
    assert "22 newly labelled node(s) get parts" in notes(more)
    for split in more.splits if more.splits is not None else ():
        for label in range(2):
            members = split[more.labels == label]
            counts = np.bincount(members, minlength=4)[1:]
            if name == "of each class":
                assert counts[0] == 5 and np.bincount(split)[2] == 10
            else:
                shares = (0.5, 0.25, 0.25) if name == "shares" else (0.48, 0.32, 0.2)
                assert np.abs(counts - np.array(shares) * len(members)).max() <= 1
    again = updated(folder, before, edges="n0,n70\nn70,n5\n")
    assert again.splits is not None and np.array_equal(again.splits, parts_of(grown, [int(n[1:]) for n in again.ids()]))


def test_a_node_whose_label_changes_keeps_its_part_and_a_new_class_is_in_every_one(folder: Folder) -> None:
    before = folder.load(RING, labels=labels_of(range(40)))
    changed = updated(folder, before, labels=labels_of([0, *range(50, 56)], "c"))
    assert (parts_of(changed, range(40)) == parts_of(before, range(40))).all()
    for split in parts_of(changed, [0, *range(50, 56)]):
        assert (np.bincount(split, minlength=4)[1:] >= [2, 1, 1]).all()


def test_splits_of_a_file_are_no_rule_and_options_draw_anew(folder: Folder) -> None:
    splits = "id,s\n" + "".join(f"n{node},{('train', 'val', 'test')[node % 3]}\n" for node in range(40))
    before = folder.load(RING, labels=labels_of(range(40)), splits=splits)
    more = updated(folder, before, labels=labels_of(range(40, 60)))
    assert (parts_of(more, range(40)) == parts_of(before, range(40))).all()
    assert not parts_of(more, range(40, 60)).any()
    assert "20 newly labelled node(s) are in no split, since the splits came from a file" in more.summary["warnings"][0]
    asked = ImportOptions(None, labels=folder.save("l.csv", labels_of([0])), split_count=3)
    anew = import_graph(asked, more)
    assert anew.split_count == 3 and "made anew" in notes(anew)
    same = ImportOptions(None, labels=folder.save("l.csv", labels_of([0])))
    assert import_graph(same, before, keep_parts=False).split_count == 10


@pytest.mark.parametrize("last", ["2024-03-01", None])
def test_dates_are_remembered(folder: Folder, last: str | None) -> None:
    def dated(nodes: Iterable[int], month: int) -> str:
        return "payer,payee,day\n" + "".join(f"n{node},n{(node + 1) % 60},2024-{month:02d}-05\n" for node in nodes)

    def labelled(first: int) -> str:
        return labels_of([*range(first, 20, 2), *range(20 + first, 40, 2)])

    table = dated(range(10), 1) + "".join(
        dated(nodes, month).partition("\n")[2] for nodes, month in ((range(10, 20), 2), (range(21, 40), 3))
    )
    options = {"time_column": "day", "train_before": "2024-02-01", "test_from": last, "split_count": 3}
    before = folder.load(table, labels=labelled(0), **options)
    known = [*range(0, 20, 2), *range(20, 40, 2)]
    more = updated(folder, before, labels=labelled(1))
    assert (parts_of(more, known) == parts_of(before, known)).all(), "each keeps its part"
    assert np.isin(parts_of(more, range(1, 10, 2)), [1, 2] if last is None else [1]).all(), "seen in January"
    assert (parts_of(more, range(11, 20, 2)) == (3 if last is None else 2)).all(), "seen in February"
    assert (parts_of(more, range(23, 40, 2)) == 3).all(), "seen in March"
    grown = updated(folder, more, edges=dated([50], 2), labels=labels_of([50, 51]))
    assert (parts_of(grown, [50, 51]) == (3 if last is None else 2)).all(), "seen in February, after the first date"
    bare = updated(folder, grown, edges="payer,payee\nn77,n78\n", labels=labels_of([77]))
    assert "1 newly labelled node(s) have no time" in bare.summary["warnings"][0]
    assert not parts_of(bare, [77]).any() and (parts_of(bare, known) == parts_of(before, known)).all()
    seen = updated(folder, bare, edges=dated([77], 3))
    assert (parts_of(seen, [77]) == 3).all(), "its time is known now"
    assert "warnings" not in updated(folder, bare, edges=dated([1], 3)).summary, "it was told of before"


def test_weights_that_are_all_one_are_weights(folder: Folder) -> None:
    before = folder.load("payer,payee,amount\na,b,1\nb,a,1\n", weight_column="amount")
    more = folder.save("more.csv", "payer,payee,amount\na,b,1\n")
    with pytest.raises(UsageError, match="have weights"):
        import_graph(ImportOptions(more), before)
    assert dense(import_graph(ImportOptions(more, weight_column="amount"), before)) == [[0, 2], [1, 0]]
    labelled = import_graph(ImportOptions(None, labels=folder.save("l.csv", "id,label\na,x\nb,x\nc,x\n")), before)
    assert labelled.summary["weighted"] is True
    assert "weighted" not in updated(folder, folder.load("a,b\nb,a\n"), edges="a,c\n").summary


def test_features_are_added_by_their_titles(folder: Folder) -> None:
    before = folder.load("a,b\nb,a\n", features="id,age,posts\na,1,2\nb,3,4\n")
    turned = updated(folder, before, edges="a,c\n", features="posts,id,age\n6,c,5\n")
    assert turned.features is not None and turned.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert turned.summary["feature_names"] == ["age", "posts"] and "matched by their titles" in notes(turned)
    with pytest.raises(DataError, match=r"new-features\.csv has no column of features 'posts'"):
        updated(folder, before, edges="a,c\n", features="id,age,likes\nc,5,6\n")
    untitled = folder.load("a,b\nb,a\n", features="a,1,2\nb,3,4\n", header=False)
    assert "feature_names" not in untitled.summary
