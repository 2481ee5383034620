"""Made graphs: each design has what its name says, and nothing else tells its ties from its casual links."""

import numpy as np
import pytest

from cgnn_cli.api import load_dataset
from cgnn_cli.datasets.generated import MADE, TITLES
from cgnn_cli.datasets.graph_statistics import homophily_of, reciprocity_of
from cgnn_cli.datasets.made import CASUAL, COMMUNITIES, PEOPLE_EACH, TIES, made_graph
from cgnn_cli.graph import TEST, TRAIN, VALIDATION, Graph
from cgnn_cli.store.elements import checksum

GRAPHS = {name: made_graph(design) for name, design in MADE.items()}


def triangles(graph: Graph) -> float:
    """Triangles through an edge, on average, whatever the directions."""
    links = (graph.adjacency + graph.adjacency.T).astype(bool).astype(np.float64)
    return float((links @ links).multiply(links).sum() / links.sum())


@pytest.mark.parametrize("name", MADE)
def test_a_name_always_stands_for_the_same_graph(name: str) -> None:
    assert checksum(load_dataset(name).to_elements()) == checksum(GRAPHS[name].to_elements())
    assert name in TITLES and MADE[name].name == name


@pytest.mark.parametrize("name", MADE)
def test_every_design_has_the_same_size(name: str) -> None:
    graph = GRAPHS[name]
    assert graph.node_count == COMMUNITIES * PEOPLE_EACH and graph.class_count == COMMUNITIES
    assert graph.adjacency.nnz / graph.node_count == pytest.approx(TIES + CASUAL, rel=0.02)
    assert not graph.adjacency.diagonal().any()
    assert graph.splits is not None and graph.splits.shape == (10, graph.node_count)
    sizes = [int((graph.splits[0] == part).sum()) for part in (TRAIN, VALIDATION, TEST)]
    assert sizes == [480, 320, 200]


def test_ties_differ_from_casual_links_by_what_the_name_says_alone() -> None:
    for name, design in MADE.items():
        reciprocity = reciprocity_of(GRAPHS[name].adjacency)
        assert (reciprocity > 0.18) is design.mutual and (reciprocity < 0.03) is not design.mutual, name
        if design.circles:
            scattered = triangles(GRAPHS[name.replace("circles", "scattered")])
            assert triangles(GRAPHS[name]) > 1.15 * scattered, name


def test_communities_are_the_classes_or_have_nothing_to_do_with_them() -> None:
    for name, design in MADE.items():
        homophily = homophily_of(GRAPHS[name])
        assert homophily == pytest.approx(0.36 if design.told else 0.2, abs=0.02), name
