"""What an earlier graph has stays when files add to it."""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from tests.datasets.files.folder import Folder, dense


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
