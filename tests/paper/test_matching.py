"""Which of the paper's figures a run is compared with, what is said of it, and what is not compared."""

from typing import Any

import pytest

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.execution.results import Run
from cgnn_cli.paper.matching import beside_paper, has_figure
from cgnn_cli.paper.printed import find_result
from cgnn_cli.paper.remarks import SPLITS, SYMMETRISED, TWINS
from cgnn_cli.paper.rows import ROWS
from tests.runs import make_run

PAPER_COMMUTE = {"solver": "svd", "proximity": "exp", "rank": 5, "scale": 1.0}
CHAMELEON = {"dataset": "chameleon", "protocol": "published"}


def chameleon(accuracies: list[float], model: str = "cgnn", **parts: object) -> Run:
    commute = parts.pop("commute", PAPER_COMMUTE if model == "cgnn" else None)
    graph = {**CHAMELEON, **parts.pop("graph", {})}  # type: ignore[dict-item]
    return make_run(accuracies, model=model, dataset="chameleon", graph=graph, commute=commute, **parts)  # type: ignore[arg-type]


def test_the_papers_figure_with_the_difference() -> None:
    found = beside_paper(chameleon([0.80, 0.81]))
    assert found is not None and (found.result.value, found.result.std) == (79.62, 2.33)
    assert found.difference == pytest.approx(0.88) and found.within is True and found.notes == (TWINS,)
    far = beside_paper(chameleon([0.70, 0.71]))
    assert far is not None and far.within is False


def test_the_version_of_the_graph_decides_which_figure() -> None:
    directed = beside_paper(chameleon([0.6], model="gcn"))
    undirected = beside_paper(chameleon([0.6], model="gcn", graph={"undirected": True}))
    assert directed is not None and directed.result.value == 63.37
    assert undirected is not None and undirected.result.value == 67.96


def test_variants_have_figures_of_their_own_or_a_note() -> None:
    symmetric = beside_paper(
        make_run([0.7], model="cgnn", dataset="squirrel", graph={"dataset": "squirrel"}, walk="symmetric")
    )
    assert symmetric is not None and symmetric.result.model == "CGNN_sym" and symmetric.within is None
    ranked = beside_paper(
        make_run(
            [0.9], model="cgnn", dataset="am-photo", graph={"dataset": "am-photo"}, commute={**PAPER_COMMUTE, "rank": 7}
        )
    )
    assert ranked is not None and ranked.result.value == 90.19
    exact = beside_paper(chameleon([0.8], commute={"solver": "exact", "proximity": "inverse", "scale": 1.0}))
    assert exact is not None and exact.notes == ("not the paper's weights (solver, proximity)", TWINS)


def test_out_of_memory_in_the_paper_is_a_word() -> None:
    found = beside_paper(make_run([0.5], model="dgcn", dataset="arxiv-year", graph={"dataset": "arxiv-year"}))
    assert found is not None and found.result.text == "OOM" and found.difference is None


def test_what_cannot_be_compared_says_so_or_is_not() -> None:
    assert beside_paper(chameleon([0.5], graph={"standin": "chameleon"})) is None
    assert beside_paper(make_run([0.5], model="cgnn")) is None
    partial = beside_paper(chameleon([0.5], split_count=10))
    assert partial is not None and partial.notes == ("1 of 10 splits", TWINS)
    other = beside_paper(chameleon([0.5], graph={"protocol": "random"}))
    assert other is not None and other.notes == ("random splits", TWINS)


@pytest.mark.parametrize(
    "beyond",
    [{"label_input": True}, {"degree_features": True}, {"knn": 5}, {"propagation": "ppr"}, {"encoding": "degrees"}],
)
def test_options_beyond_the_paper_are_not_compared(beyond: dict[str, Any]) -> None:
    off = {name: type(value)() for name, value in beyond.items() if not isinstance(value, str)}
    assert beside_paper(chameleon([0.5], **beyond)) is None
    assert beside_paper(chameleon([0.5], **off)) is not None


def test_controls_of_the_weights_are_not_compared() -> None:
    for control in ({"solver": "pi-only", "proximity": "inverse"}, {"solver": "pi-only", "proximity": "none"}):
        assert beside_paper(chameleon([0.5], commute=control)) is None


def test_of_cgnn_the_experiments_compare_the_papers_layer_alone() -> None:
    """On every dataset the tuned row and that with the paper's settings; no control, and not the extended form."""
    for dataset in BENCHMARKS:
        settings = {name: row.on(dataset).settings for name, row in ROWS.items()}
        options = {name: {path.partition(".")[2]: own[path] for path in own} for name, own in settings.items()}
        rows = {name for name, row in ROWS.items() if has_figure(row.model, options[name])}
        assert {name for name in rows if name.startswith("cgnn")} == {"cgnn", "cgnn-paper"}
        assert "gcn" in rows and not rows & {"mlp", "linear", "digcn-ib"}


def notes_on(model: str, dataset: str, **graph: object) -> tuple[str, ...]:
    found = beside_paper(make_run([0.5], model=model, dataset=dataset, graph={"dataset": dataset, **graph}))
    assert found is not None
    return found.notes


def test_what_is_odd_about_the_papers_figure_is_said() -> None:
    assert "79.54" in notes_on("gcn", "chameleon")[0]
    assert notes_on("gat", "roman-empire") == (SPLITS,) and notes_on("gat", "am-photo") == (SYMMETRISED,)
    assert notes_on("gat", "cora-ml") == ()


def test_a_remark_that_is_not_true_of_the_run_is_left_out() -> None:
    assert notes_on("gat", "am-photo", undirected=True) == ()
    ignoring = make_run([0.5], model="gat", dataset="am-photo", graph={"dataset": "am-photo"}, direction="undirected")
    found = beside_paper(ignoring)
    assert found is not None and found.notes == ()
    for dataset in ("roman-empire", "arxiv-year"):
        assert notes_on("gat", dataset, protocol="random") == ("random splits",)


@pytest.mark.parametrize(("dataset", "setting"), [("squirrel", "undirected"), ("chameleon", "directed")])
def test_figures_in_the_remarks_on_dgcn_are_those_printed(dataset: str, setting: str) -> None:
    one, other = (
        find_result("table1", "DGCN", dataset),
        find_result("directed-undirected", "DGCN", dataset, setting=setting),
    )
    assert one is not None and other is not None
    assert f"{one.value}" in notes_on("dgcn", dataset)[0] and f"{other.value}" in notes_on("dgcn", dataset)[0]
