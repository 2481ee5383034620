"""The columns of the ends of edges: by their titles, by what they hold, or refused."""

import pytest

from cgnn_cli.datasets.files.titles import find_ends
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
    ring = {("a1", "a2"), ("a2", "a3"), ("a3", "a1")}
    assert edges_of(graph) == (ring if first == "a1" else {(target, source) for source, target in ring})
    assert "edges: " in notes(graph)


@pytest.mark.parametrize("header", ["userId,paymentAmount,merchantId", "clientId,transactionDate,shopId"])
def test_an_amount_or_a_date_in_camel_case_is_no_end(folder: Folder, header: str) -> None:
    rows = "1,20240105,7\n2,20240106,8\n3,20240107,9\n"
    folder.fails("an edge may be", f"{header}\n{rows}")
    folder.fails("an edge may be", f"userId,yearMonth,shopId\n{rows}")
    for pair in ("txId1,txId2", "txid1,txid2", "tx_id_1,tx_id_2"):
        assert edges_of(folder.load(f"{pair}\n1,2\n2,1\n")) == {("1", "2"), ("2", "1")}
    assert find_ends(["left", "right", "payment1", "payment2"]) == ([], [])


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
