"""Headers and columns of made tables: what is read is what they mean, or they are refused."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from cgnn_cli.datasets.files.ends import guess_ends
from cgnn_cli.datasets.files.headers import has_header
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.files.tables import Reading, parse_table
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from tests.datasets.files.folder import SQUARE, Folder, notes
from tests.datasets.files.made_tables import Made, make_edges, make_ids, make_labels

TABLES = 250  # of each kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Source,Target\na,b", True),
        ("node_id\tnode_id\n1\t2", True),
        ("paper id,Citing-Paper\n1,2", True),
        ("foo,bar\n1,2\n3,4", True),
        ("foo,bar\n1,2\nx,4", None),
        ("node1,node2\nnode2,node3", None),
        ("alice,bob\nbob,carol", False),
        ("1,2\n3,4", False),
        ("foo,1\n2,3", False),
        ("a,b", False),
        ("source,target", True),
        ("source,target\nsource,x\nx,target", True),
        ("user,page\nuser,item\nitem,page", None),
        ("debitor,kreditor\nann,bob\nbob,cat", None),
        ("debitor,kreditor\nA1,A2\nA2,A3\nA3,A1", True),
        ("C17,C21\nC3,C4\nC4,C3", False),
        ("a,b\nc,d", False),
        ("ann,ann\nbob,cat", False),
        ("ann,bob,EUR\ncat,dan,EUR", False),
        ("ann,bob,when\ncat,dan,2024-01-01", True),
        ("ann,bob,unknown\ncat,dan,5\nbob,cat,7", False),
        ("0,1\nann,bob", None),
    ],
)
def test_header_of_edges(text: str, expected: bool | None) -> None:
    table = parse_table(text.encode(), Path("t.csv"), Reading())
    if expected is None:
        with pytest.raises(
            DataError, match=r"t\.csv, line 1: it may be a header or data; with a header the first"
        ) as e:
            has_header(table, *guess_ends(table, None, None))
        assert "--header or --no-header" in e.value.hint
    else:
        assert has_header(table, *guess_ends(table, None, None)) is expected


def meaning_of(graph: Graph, kind: str) -> set[tuple[str, str]]:
    ids = graph.ids().tolist()
    if kind == "edges":
        return {(ids[one], ids[other]) for one, other in zip(*graph.adjacency.nonzero(), strict=True)}
    assert graph.labels is not None
    names = graph.class_labels()
    return {(ids[node], names[code]) for node, code in enumerate(graph.labels.tolist()) if code >= 0}


@pytest.mark.parametrize("kind", ["edges", "labels"])
def test_made_tables_are_read_right_or_refused(tmp_path: Path, kind: str) -> None:
    tally: Counter[str] = Counter()
    for seed in range(TABLES):
        draw = random.Random(seed)
        ids = make_ids(draw)
        made: Made = make_edges(draw, ids) if kind == "edges" else make_labels(draw, ids)
        file = made.write(tmp_path / f"{kind}.csv", draw)
        plain = tmp_path / "plain.csv"
        plain.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in pairwise(ids)))
        files = ImportOptions(file) if kind == "edges" else ImportOptions(plain, labels=file)
        refusal, found = None, None
        try:
            found = meaning_of(import_graph(files), kind)
        except DataError as error:
            refusal = error
        if refusal is None:
            assert found == made.meaning, (seed, made)
        else:
            assert not made.clear and refusal.hint and "\n" not in refusal.message, (seed, made, refusal)
        tally["right" if refusal is None else "refused"] += 1
    assert tally["right"] >= 0.6 * TABLES and tally["refused"] >= 0.05 * TABLES, tally


RINGS = "a1,a2,5.5\na2,a3,1\na3,a1,0.25\n"


@pytest.mark.parametrize(
    ("header", "first"),
    [
        ("from_account,to_account,amount", "a1"),
        ("payer,payee,amount", "a1"),
        ("Sender ID,Receiver ID,value", "a1"),
        ("nameOrig,nameDest,amount", "a1"),
        ("u,v,w", "a1"),
        ("node1,node2,x", "a1"),
        ("payee,payer,amount", "a2"),
        ("toNodeId,fromNodeId,w", "a2"),
    ],
)
def test_edges_are_found_by_their_titles(folder: Folder, header: str, first: str) -> None:
    graph = folder.load(f"{header}\n{RINGS}")
    assert meaning_of(graph, "edges") == {("a1", "a2"), ("a2", "a3"), ("a3", "a1")} or first == "a2"
    assert next(iter(meaning_of(graph, "edges") & {("a1", "a2"), ("a2", "a1")}))[0] == first
    assert "edges: " in notes(graph)


def test_columns_before_the_ends_are_not_taken_for_them(folder: Folder) -> None:
    rows = "t1,a,b,5\nt2,b,c,0.5\nt3,c,a,7\n"
    graph = folder.load("txid,payer,payee,amount\n" + rows, weight_column="amount")
    assert graph.ids().tolist() == ["a", "b", "c"]
    assert "edges: payer -> payee, weight amount; 3 rows" in notes(graph)
    for header in ("", "txid,left,right,amount\n", "id,left,right,amount\n", "payer,shop,country,amount\n"):
        hint = folder.fails("an edge may be", header + rows)
        assert "--source-column and --target-column" in hint
        chosen = folder.load(header + rows, source_column="2", target_column="3")
        assert chosen.ids().tolist() == ["a", "b", "c"]
    folder.fails("no title names the other", "txid,payer,amount\n1,a,2.5\n2,b,3.5\n")
    folder.fails("an edge may be", "from,to,target\na,b,0\nb,a,1\n")
    folder.fails("an edge may be", "txid,amount\n1,2.5\n2,3.5\n")
    folder.fails("no title names the other", "node,target\n1,1\n2,0\n")


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
    assert meaning_of(graph, "labels") == {("0", "ok"), ("1", "ok"), ("2", "ok"), ("3", "fraud")}
    assert graph.node_count == 4
