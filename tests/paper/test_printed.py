"""The paper's printed figures: complete, typed, and named as the tool names things."""

import pytest

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.paper.printed import NAMES, find_result, paper_results, printed_accuracy


def test_table1_has_every_model_on_every_dataset() -> None:
    rows = [row for row in paper_results() if row.experiment == "table1"]
    assert {row.model for row in rows} == set(NAMES.values())
    assert len(rows) == len({(row.model, row.dataset) for row in rows}) == 14 * 8
    assert {row.dataset for row in rows} <= BENCHMARKS.keys() and NAMES.keys() <= MODELS.keys()


def test_every_figure_is_a_number_a_word_or_nothing() -> None:
    for row in paper_results():
        assert (row.value is None) == (row.word in ("OOM", "") and row.text == row.word), row
        assert row.std is None or (row.value is not None and row.std > 0)
        assert row.metric != "accuracy" or row.value is None or 0 < row.value < 100


@pytest.mark.parametrize(
    ("model", "dataset", "undirected", "value"),
    [
        ("cgnn", "chameleon", False, 79.62),
        ("gcn", "chameleon", False, 63.37),
        ("gcn", "chameleon", True, 67.96),
        ("sage", "arxiv-year", True, 51.19),
        ("appnp", "squirrel", False, 51.91),
        ("gat", "snap-patents", False, None),
    ],
)
def test_accuracies(model: str, dataset: str, undirected: bool, value: float | None) -> None:
    found = printed_accuracy(model, dataset, undirected=undirected)
    assert found is not None and found.value == value


def test_what_the_paper_has_not() -> None:
    assert printed_accuracy("mlp", "chameleon", undirected=False) is None
    assert printed_accuracy("cgnn", "demo", undirected=False) is None
    assert find_result("rank", "CGNN", "am-photo", setting="q=4") is None


def test_statistics_are_those_of_the_catalogue() -> None:
    for name, benchmark in BENCHMARKS.items():
        for figure, value in benchmark.paper.items():
            found = find_result("datasets", "", name, metric=figure)
            assert found is not None and found.value == value, (name, figure)
