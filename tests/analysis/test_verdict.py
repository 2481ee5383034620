"""The rules from figures to a verdict."""

from typing import Any

import pytest

from cgnn_cli.analysis.verdict import HEADLINES, judge

GOOD = {
    "edges_with_times": 1000,
    "edges_beyond_1e9": 0,
    "sampled_edges": 64,
    "returning_edges": 0.5,
    "beyond_popularity": 0.01,
    "ratio_spread": 0.3,
    "training_edges": 400,
    "training_classes": 3,
    "homophily": 0.3,
    "corrected_homophily": 0.2,
    "features": "own",
    "test_twins": 0.0,
    "weights": {"affinity": {"homophily": 0.4, "gain": 0.1, "error": 0.01}},
    "solver_error": {"median_relative_error": 0.001},
    "effective_neighbours": {"out": {"mean": 3.0, "neighbours": 5.0}, "in": {}},
}
UNLABELLED: dict[str, Any] = {
    "training_edges": 0,
    "training_classes": 0,
    "homophily": None,
    "corrected_homophily": None,
    "test_twins": None,
    "weights": {},
}


def changed(**figures: Any) -> dict[str, Any]:
    return {**GOOD, **figures}


def gaining(error: float = 0.001, **gains: float) -> dict[str, Any]:
    weights = {name: {"homophily": 0.3 + gain, "gain": gain, "error": error} for name, gain in gains.items()}
    return changed(weights=weights)


@pytest.mark.parametrize(
    ("figures", "answer", "weights"),
    [
        (GOOD, "worth trying", "affinity"),
        (gaining(ratio=0.081, affinity=0.07), "worth trying", "ratio"),
        (gaining(ratio=0.12, neighbours=0.13), "worth trying", "neighbours"),
        (gaining(error=0.06, ratio=0.1), "unclear", "ratio"),
        (gaining(ratio=0.07), "unclear", "ratio"),
        (gaining(ratio=0.059, affinity=-0.2), "unlikely", "none"),
        # labels decide, whatever the edges say
        ({**gaining(ratio=0.1), "returning_edges": 0.1, "beyond_popularity": 1e-4}, "worth trying", "ratio"),
        # where they are few or none, the edges can speak against weights only
        (changed(training_edges=49), "unclear", "affinity"),
        (changed(training_edges=49, returning_edges=0.19), "unlikely", "none"),
        # an unclear answer is tried with weights beside none, never without alone
        (changed(training_edges=0, weights={}), "unclear", "in use"),
        ({**gaining(ratio=-0.01), "training_edges": 7}, "unclear", "in use"),
        ({**gaining(ratio=0.0, affinity=0.01), "training_edges": 7}, "unclear", "affinity"),
        (changed(training_classes=1), "one class", ""),
        (changed(**UNLABELLED), "unclear", ""),
        (changed(**UNLABELLED, returning_edges=0.19), "unlikely", ""),
        (changed(**UNLABELLED, beyond_popularity=0.0009), "unlikely", ""),
        (changed(**UNLABELLED, ratio_spread=0.04), "unlikely", ""),
        (changed(**UNLABELLED, beyond_popularity=None), "unclear", ""),
        (changed(**UNLABELLED, ratio_spread=None, beyond_popularity=None), "unclear", ""),
    ],
)
def test_the_answer(figures: dict[str, Any], answer: str, weights: str) -> None:
    verdict = judge(figures)
    assert (verdict.answer, verdict.weights) == (answer, weights)
    assert verdict.headline == HEADLINES[answer].format(weights=weights)


def test_the_reasons_are_what_was_judged_by() -> None:
    assert [reason.figure for reason in judge(GOOD).reasons] == ["weights", "returning_edges", "beyond_popularity"]
    first = judge(gaining(ratio=0.095, affinity=0.089)).reasons[0]
    assert "30.0%" in first.says and "39.5% by the weights of ratio" in first.says and "+9.5 ± 0.1" in first.says
    assert judge(changed(**UNLABELLED)).reasons[0].says.startswith("no edge is inside the training nodes")
    assert judge(changed(training_edges=7)).reasons[0].says.startswith("7 edges are inside the training nodes")
    unsolved = judge(changed(ratio_spread=None, beyond_popularity=None))
    assert [reason.figure for reason in unsolved.reasons] == ["weights", "returning_edges"]


@pytest.mark.parametrize(
    ("figures", "figure", "words"),
    [
        ({"test_twins": 0.69}, "test_twins", "69%"),
        ({"homophily": 0.8}, "homophily", "(20% beyond chance): there is little to weigh"),
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
        ({"features": "none"}, "features", "no features of its own"),
        ({"edges_beyond_1e9": 11}, "edges_beyond_1e9", "--method escape"),
    ],
)
def test_cautions(figures: dict[str, Any], figure: str, words: str) -> None:
    (reason,) = judge(changed(**figures)).reasons[3:]
    assert reason.figure == figure and words in reason.says


def test_the_verdict_is_true_of_every_method_and_solver() -> None:
    """It does not know the method: only `path` adds edges."""
    says = judge(changed(returning_edges=0.1)).reasons[1].says
    assert "edges that rewiring added" not in says and "by what rewiring adds or by jumps" in says
