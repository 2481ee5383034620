"""Models whose papers ran out of memory on graphs with hubs: refused before it happens, or not a problem at all."""

from pathlib import Path

import pytest

from tests.front_door import FrontDoor

LEAVES = 20000
SHORT = ("--hidden", 4, "--epochs", 2, "--split", 0, "--memory-limit", "2G")


@pytest.fixture
def star(cgnn: FrontDoor) -> str:
    """A hub with edges from and to 20,000 leaves: a product of its adjacency has 4e8 entries."""
    edges = (f"hub,{leaf}\n{leaf},hub\n" for leaf in range(LEAVES))
    Path("edges.csv").write_text("source,target\n" + "".join(edges))
    Path("labels.csv").write_text("id,label\n" + "".join(f"{leaf},{'ab'[leaf % 2]}\n" for leaf in range(200)))
    cgnn.ok("data", "import", "star", "--edges", "edges.csv", "--labels", "labels.csv", "--split-count", 1)
    return "star"


def test_inception_is_refused_with_a_way_out(cgnn: FrontDoor, star: str) -> None:
    message = cgnn.fails(7, "train", "--dataset", star, "--model", "digcn-ib", *SHORT)
    assert "operators" in message and "of memory" in message
    assert "--model digcn has no products" in message
    cgnn.ok("train", "--dataset", star, "--model", "digcn", *SHORT)


def test_dgcn_never_multiplies_its_products_out(cgnn: FrontDoor, star: str) -> None:
    summary = cgnn.ok("eval", "--dataset", star, "--model", "dgcn", *SHORT, "--json").json["summary"]
    assert 0 <= summary["test_accuracy"]["mean"] <= 1
