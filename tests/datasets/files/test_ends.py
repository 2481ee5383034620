"""The columns of the ends of edges: by their titles, by what they hold, or refused."""

import pytest

from cgnn_cli.graph import Graph
from tests.datasets.files.folder import Folder, notes


def edges_of(graph: Graph) -> set[tuple[str, str]]:
    ids = graph.ids().tolist()
    return {(ids[one], ids[other]) for one, other in zip(*graph.adjacency.nonzero(), strict=True)}


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
    assert edges_of(graph) == {("a1", "a2"), ("a2", "a3"), ("a3", "a1")} or first == "a2"
    assert next(iter(edges_of(graph) & {("a1", "a2"), ("a2", "a1")}))[0] == first
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
