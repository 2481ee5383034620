"""The rules from figures to a verdict."""

from typing import Any

import pytest

from cgnn_cli.analysis.verdict import HEADLINES, judge

GOOD = {
    "sampled_edges": 64,
    "returning_edges": 0.5,
    "beyond_popularity": 0.01,
    "ratio_spread": 0.3,
    "homophily": 0.3,
    "test_twins": 0.0,
    "label_similarity": None,
    "solver_error": {"median_relative_error": 0.001},
    "effective_neighbours": {"out": {"mean": 3.0, "neighbours": 5.0}, "in": {}},
}


def changed(**figures: Any) -> dict[str, Any]:
    return {**GOOD, **figures}


@pytest.mark.parametrize(
    ("figures", "answer"),
    [
        (GOOD, "worth trying"),
        (changed(returning_edges=0.19), "unlikely"),
        (changed(returning_edges=0.19, beyond_popularity=1e-4), "unlikely"),
        (changed(beyond_popularity=0.0009), "popularity"),
        (changed(ratio_spread=0.04), "popularity"),
        (changed(beyond_popularity=None), "worth trying"),
    ],
)
def test_the_answer(figures: dict[str, Any], answer: str) -> None:
    verdict = judge(figures)
    assert (verdict.answer, verdict.headline) == (answer, HEADLINES[answer])
    assert [reason.figure for reason in verdict.reasons] == ["returning_edges", "beyond_popularity"]


@pytest.mark.parametrize(
    ("figures", "figure", "words"),
    [
        ({"test_twins": 0.69}, "test_twins", "69%"),
        ({"homophily": 0.8}, "homophily", "little to weigh"),
        ({"solver_error": {"median_relative_error": 1.0}}, "solver_error", "scores"),
        (
            {"effective_neighbours": {"out": {"mean": 4.9, "neighbours": 5.0}, "in": {}}},
            "effective_neighbours",
            "nearly",
        ),
        (
            {"effective_neighbours": {"out": {"mean": 1.1, "neighbours": 5.0}, "in": {}}},
            "effective_neighbours",
            "dropped",
        ),
        ({"label_similarity": {"adjacency_scaled": 10.0, "weights_scaled": 8.0}}, "label_similarity", "20% nearer"),
        ({"label_similarity": {"adjacency_scaled": 10.0, "weights_scaled": 12.0}}, "label_similarity", "20% worse at"),
        ({"label_similarity": {"adjacency_scaled": 10.0, "weights_scaled": 9.95}}, "label_similarity", "no nearer"),
    ],
)
def test_cautions(figures: dict[str, Any], figure: str, words: str) -> None:
    (reason,) = judge(changed(**figures)).reasons[2:]
    assert reason.figure == figure and words in reason.says


def test_the_verdict_is_true_of_every_method_and_solver() -> None:
    """It does not know the method: only `path` adds edges; and it promises nothing of the scores of svd."""
    says = judge(changed(returning_edges=0.1)).reasons[0].says
    assert "edges that rewiring added" not in says and "by what rewiring adds or by jumps" in says
    assert "true ones to give no more than --solver pi-only" in judge(changed(ratio_spread=0.04)).headline
