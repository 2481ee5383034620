"""Columns and rows of the fundamental matrix against a dense inverse."""

import numpy as np
import pytest

from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics import fundamental_columns as module
from cgnn_cli.numerics.fundamental_columns import fundamental_columns
from cgnn_cli.numerics.transition import teleporting_walk
from tests.numerics.test_spectrum import random_edges


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_they_are_those_of_the_dense_inverse(gamma: float) -> None:
    walk = teleporting_walk(random_edges(60, 2.0), gamma)  # with sinks and isolated nodes
    assert walk.jump is not None and (walk.jump == 1).any()
    dense = walk.to_dense()
    perron = np.linalg.lstsq(np.vstack([dense.T - np.eye(60), np.ones(60)]), np.r_[np.zeros(60), 1], rcond=None)[0]
    inverse = np.linalg.inv(np.eye(60) - dense + perron)
    chosen = np.array([5, 0, 59])
    found = fundamental_columns(walk, chosen)
    np.testing.assert_allclose(found.perron, perron, rtol=1e-9)
    np.testing.assert_allclose(found.columns, inverse[:, chosen], atol=1e-8)
    np.testing.assert_allclose(found.rows, inverse[chosen].T, atol=1e-8)
    assert 0 < found.residual <= module.GOAL


def test_the_residual_is_that_of_the_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = teleporting_walk(random_edges(60, 2.0), 0.9)
    monkeypatch.setattr(module, "GOAL", 1e-3)
    rough = fundamental_columns(walk, np.arange(4))
    assert 1e-5 < rough.residual <= 1e-3
    monkeypatch.setattr(module, "MOST", 3)
    with pytest.raises(NumericalError, match="did not reach a residual of 1e-03"):
        fundamental_columns(walk, np.arange(4))
