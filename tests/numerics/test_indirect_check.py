"""The check of indirect parts by solves, against the dense fundamental matrix."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from cgnn_cli.numerics import indirect_check
from cgnn_cli.numerics.indirect_check import check_indirect
from cgnn_cli.numerics.parts import Parts
from cgnn_cli.numerics.walk import Walk
from tests.graphs import all_pairs, random_edges, sparse
from tests.numerics.test_parts import stationary, textbook

SIZE = 60


def sampled(jump: float) -> tuple[Walk, np.ndarray, np.ndarray, np.ndarray, Parts]:
    """A walk, some pairs and their parts."""
    dense = np.eye(SIZE) + np.roll(np.eye(SIZE), 1, axis=1)
    dense[tuple(np.array(random_edges(SIZE, 4, seed=1)).T)] = 1
    shares = (1 - jump) * dense / dense.sum(axis=1, keepdims=True)
    walk = Walk(sparse(shares), np.full(SIZE, jump) if jump else None)
    perron = stationary(walk)
    source, target = (ends[::17] for ends in all_pairs(SIZE))
    return walk, perron, source, target, textbook(walk, perron, source, target)


@pytest.mark.parametrize("jump", [0.0, 0.1])
@pytest.mark.parametrize("dense", [True, False])
def test_it_measures_the_error_of_the_parts(monkeypatch: pytest.MonkeyPatch, jump: float, dense: bool) -> None:
    walk, perron, source, target, truth = sampled(jump)
    if not dense:
        monkeypatch.setattr(indirect_check, "DENSE_STATES", 0)
        monkeypatch.setattr(indirect_check, "ENDS", len(source))
        monkeypatch.setattr(indirect_check, "OF_AN_END", SIZE)
    assert len(source) <= indirect_check.PAIRS
    right = check_indirect(walk, perron, source, target, truth, 1e9)
    assert right == {"edges": len(source), "checked": len(source), "spearman": 1.0, "median_relative_error": 0.0}
    noise = np.random.default_rng(0).normal(0, np.abs(truth.indirect).mean(), len(source))
    wrong = replace(truth, indirect=truth.indirect + noise)
    found = check_indirect(walk, perron, source, target, wrong, 1e9)
    assert found["spearman"] == pytest.approx(spearmanr(wrong.indirect, truth.indirect).statistic, abs=1e-4)
    assert found["median_relative_error"] == pytest.approx(np.median(np.abs(noise / truth.indirect)), abs=1e-4)


def test_pairs_that_the_work_does_not_reach_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, perron, source, target, truth = sampled(0.0)
    for name in ("DENSE_STATES", "LEAST_WORK"):
        monkeypatch.setattr(indirect_check, name, 0)
    found = check_indirect(walk, perron, source, target, truth, 1e5)
    assert found["edges"] > found["checked"] == 0 and found["spearman"] is found["median_relative_error"] is None


def test_no_pairs() -> None:
    walk, perron, _, _, _ = sampled(0.0)
    none = np.zeros(0)
    found = check_indirect(walk, perron, none.astype(int), none.astype(int), Parts(none, none, none), 1e9)
    assert found["edges"] == 0 and found["spearman"] is None
