"""Names and numbers of nodes, and edges in any order: kept as they are written, or refused."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgnn_cli.artifact_tables import edge_columns, write_csv
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.registry import graph_step
from cgnn_cli.store.store import Store
from tests.faults.imports import RING, refused
from tests.front_door import FrontDoor


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([[0, 1], [-1, 2]]), "-1"),
        (np.array([[0.5, 1.0], [1.0, 2.0]]), "0.5"),
        (np.array([[np.nan, 1.0], [1.0, 2.0]]), "nan"),
        (np.array([[0, 2**64 - 1], [1, 2]], dtype=np.uint64), str(2**64 - 1)),
        (np.array([[0, 1], [1, 2**40]]), "0..N-1"),
        (np.array([[0, 1, 2], [1, 2, 3]]), "shape"),
        (np.array([["a", "b"]]), "type"),
    ],
)
def test_case_32_node_numbers(cgnn: FrontDoor, array: np.ndarray, said: str) -> None:
    if array.shape == (2, 3):
        array = np.hstack([array, array]).reshape(4, 3)
    np.save("edges.npy", array)
    line = refused(cgnn, "--edges", "edges.npy")
    assert "edges.npy" in line and said in line


@pytest.mark.parametrize("ids", [["-1", "0.5", str(2**70)], ["07", "7", "1e3"], ["5", "900", str(10**30)]])
def test_case_32_ids_of_text_are_kept_as_they_are_written(cgnn: FrontDoor, ids: list[str]) -> None:
    Path("edges.csv").write_text("".join(f"{one},{other}\n" for one, other in itertools.permutations(ids, 2)))
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "out.csv")
    assert {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]} == set(ids)
    assert cgnn.ok("data", "import", "again", "--edges", "out.csv", "--json").json["key"] == made["key"]


@pytest.mark.parametrize("text", ["a,b\n,c\n", "a,a\n" + "x" * 1001 + ",c\n"])
def test_case_32_ids_of_text_that_are_refused_name_their_line(cgnn: FrontDoor, text: str) -> None:
    Path("edges.csv").write_text(text)
    assert "edges.csv, line 2" in refused(cgnn, "--edges", "edges.csv")


def test_case_32_relabel_keeps_the_users_numbers(cgnn: FrontDoor) -> None:
    np.save("edges.npy", np.array([[10, 2**40], [2**40, 77], [77, 10]]))
    assert "--relabel" in refused(cgnn, "--edges", "edges.npy")
    cgnn.ok("data", "import", "mine", "--edges", "edges.npy", "--relabel")
    assert cgnn.ok("data", "show", "mine", "--json").json["summary"]["nodes"] == 3
    cgnn.ok("export", cgnn.ok("commute", "--dataset", "mine").path, "--to", "csv", "--output", "out.csv")
    assert {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]} == {"10", "77", str(2**40)}


def test_case_33_repeats_and_order_do_not_matter(cgnn: FrontDoor, ring: None) -> None:
    key = cgnn.ok("data", "import", "one", "--edges", "edges.csv", "--json").json["key"]
    Path("shuffled.csv").write_text("f,a\nb,a\na,b\na,b\ne,f\nc,d\nb,c\nd,e\nb,c\n")
    shuffled = cgnn.ok("data", "import", "two", "--edges", "shuffled.csv", "--json").json
    assert shuffled["key"] == key and shuffled["summary"]["repeats"] == 2
    Path("loop.csv").write_text(RING + "a,a\n")
    assert cgnn.ok("data", "import", "three", "--edges", "loop.csv", "--json").json["summary"]["self_loops"] == 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edges=st.lists(st.tuples(st.sampled_from("abc#"), st.sampled_from("ab7%")), min_size=1, max_size=9),
    draw=st.randoms(use_true_random=False),
)
def test_case_33_any_order_and_repeats_give_the_key_that_an_export_comes_back_with(
    tmp_path: Path, edges: list[tuple[str, str]], draw: random.Random
) -> None:
    store, keys = Store(tmp_path / "store"), set()
    for repeats in (0, 3):
        rows = edges + draw.choices(edges, k=repeats)
        draw.shuffle(rows)
        (tmp_path / "edges.csv").write_bytes(
            write_csv({"source": [a for a, _ in rows], "target": [b for _, b in rows]})
        )
        graph = import_graph(ImportOptions(tmp_path / "edges.csv"))
        assert graph.summary["repeats"] == len(rows) - len(set(edges))
        keys.add(graph_step(graph).key)
    (tmp_path / "out.csv").write_bytes(write_csv(edge_columns(graph.to_elements(), graph)))
    assert {graph_step(import_graph(ImportOptions(tmp_path / "out.csv"))).key} == keys
    assert not store.root.exists()


def test_case_33_an_export_comes_back_as_the_same_graph(cgnn: FrontDoor) -> None:
    rows = (
        'source,target,weight\n#a,"b, c",2\n"b, c",#a,0.1\n" x",#a,1e-3\n%,"b, c",7\n#a,"b, c",1\n"=1+1",%,1\n%,%,1\n'
    )
    Path("edges.csv").write_text(rows)
    weighted = ("--weight-column", "weight", "--json")
    made = cgnn.ok("data", "import", "one", "--edges", "edges.csv", *weighted).json
    assert (made["summary"]["nodes"], made["summary"]["edges"], made["summary"]["repeats"]) == (5, 6, 1)
    for kind in ("csv", "parquet"):
        cgnn.ok("export", made["artifact"], "--to", kind, "--output", f"out.{kind}")
        assert cgnn.ok("data", "import", kind, "--edges", f"out.{kind}", *weighted).json["key"] == made["key"]
    times = cgnn.ok("commute", "--dataset", "one").path
    cgnn.ok("export", times, "--to", "csv", "--output", "times.csv")
    back = cgnn.ok("data", "import", "back", "--edges", "times.csv", "--json").json
    assert back["summary"]["nodes"] == 5 and back["summary"]["edges"] == 5  # the self-loop has no times
    pairs = cgnn.ok("commute", "--dataset", "one", "--pairs", "times.csv").out
    Path("pairs.csv").write_text(pairs)
    assert cgnn.ok("commute", "--dataset", "one", "--pairs", "pairs.csv").out == pairs
