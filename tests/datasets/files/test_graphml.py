"""GraphML as networkx writes it: the same graph as the rows would make, and nothing that could grow out of hand."""

import gzip
from pathlib import Path

import networkx as nx
import pytest

from cgnn_cli.store.store import Store
from tests.databases.tables import COLUMNS, accounts, payments, write_files
from tests.front_door import FrontDoor

HEAD = '<?xml version="1.0"?>\n'
GRAPH = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}<graph edgedefault="{}">{}</graph></graphml>'


def edges_of(cgnn: FrontDoor, *options: object) -> set[tuple[str, str, float]]:
    from cgnn_cli.graph import Graph

    key = cgnn.ok("data", "import", "mine", *options, "--json").json["key"]
    artifact = Store(Path(".cgnn").absolute()).load("graph", key)
    graph = Graph.from_elements(artifact.elements, artifact.header.summary)
    ids, (source, target) = graph.ids(), graph.adjacency.nonzero()
    return set(zip(ids[source].tolist(), ids[target].tolist(), graph.adjacency.data.tolist(), strict=True))


@pytest.mark.parametrize("name", ["g.graphml", "g.graphml.gz", "g.xml"])
def test_attributes_are_the_columns_of_a_table(cgnn: FrontDoor, tmp_path: Path, name: str) -> None:
    graph = nx.MultiDiGraph()
    for node, label, age, posts in accounts():
        graph.add_node(node, age=age, posts=posts, **({} if label is None else {"label": label}))
    for source, target, amount in payments():
        graph.add_edge(source, target, amount=amount)
    nx.write_graphml(graph, name)
    by_files = cgnn.ok("data", "import", "files", *write_files(tmp_path), *COLUMNS, "--json").json["key"]
    done = cgnn.ok("data", "import", "mine", "--edges", name, "--labels", name, *COLUMNS, "--json")
    assert done.json["key"] == by_files


def test_an_undirected_graph_is_taken_both_ways(cgnn: FrontDoor) -> None:
    graph = nx.karate_club_graph()
    nx.write_graphml(graph, "karate.graphml")
    found = edges_of(cgnn, "--edges", "karate.graphml", "--weight-column", "weight")
    both = [(a, b, w) for a, b, w in graph.edges(data="weight")] + [(b, a, w) for a, b, w in graph.edges(data="weight")]
    assert found == {(str(a), str(b), float(w)) for a, b, w in both}
    said = cgnn.ok("data", "import", "again", "--edges", "karate.graphml").err
    assert "78 edge(s) are undirected, and taken both ways" in said


def test_directions_defaults_and_what_stands_between(cgnn: FrontDoor) -> None:
    keys = '<key id="d0" for="edge" attr.name="w" attr.type="int"><default>3</default></key>'
    edges = '<!-- x --><node id="n"><data key="d9">&lt;</data></node><edge source="&lt;a" target="b"/>'
    edges += '<edge source="b" target="c" directed="false"><data key="d0"> 5 </data><desc>no</desc></edge>'
    edges += '<edge source="c" target="c" directed="false"/>'
    Path("g.graphml").write_text(HEAD + GRAPH.format(keys, "directed", edges))
    assert edges_of(cgnn, "--edges", "g.graphml", "--weight-column", "w") == {
        ("<a", "b", 3.0),
        ("b", "c", 5.0),
        ("c", "b", 5.0),
        ("c", "c", 3.0),
    }


BOMB = '<!DOCTYPE graphml [<!ENTITY a "aaaaaaaaaa">{}]>'.format(
    "".join(f'<!ENTITY {new} "{10 * f"&{old};"}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("document type", HEAD + BOMB + GRAPH.format("", "directed", '<edge source="&i;" target="b"/>')),
        ("document type", HEAD + '<!DOCTYPE graphml SYSTEM "file:///etc/passwd">' + GRAPH.format("", "directed", "")),
        ("no well-formed XML", HEAD + GRAPH.format("", "directed", '<edge source="a" target="b"/>')[:-20]),
        ("no well-formed XML", HEAD + GRAPH.format("", "directed", '<edge source="&nix;" target="b"/>')),
        ("<edge> has no target", HEAD + GRAPH.format("", "directed", '<edge source="a"/>')),
        ("several graphs", HEAD + GRAPH.format("", "directed", '<node id="a"><graph edgedefault="directed"/></node>')),
        ("hyperedges", HEAD + GRAPH.format("", "directed", "<hyperedge/>")),
        ("holds no rows", HEAD + GRAPH.format("", "directed", '<node id="a"/>')),
        (
            "several attributes of edges called 'w'",
            HEAD + GRAPH.format('<key id="a" attr.name="w"/><key id="b" attr.name="w"/>', "directed", ""),
        ),
    ],
)
def test_what_cannot_be_read_is_refused(cgnn: FrontDoor, said: str, text: str) -> None:
    Path("g.graphml").write_text(text)
    message = cgnn.fails(3, "data", "import", "mine", "--edges", "g.graphml")
    assert said in message and "root:" not in message
    assert not Path(".cgnn/datasets").exists()


def test_a_file_that_unpacks_beyond_the_memory_is_refused(cgnn: FrontDoor) -> None:
    text = HEAD + GRAPH.format("", "directed", f"<!--{' ' * (40 << 20)}-->")
    Path("g.graphml.gz").write_bytes(gzip.compress(text.encode()))
    cgnn.fails(7, "data", "import", "mine", "--edges", "g.graphml.gz", "--memory-limit", "30M")
