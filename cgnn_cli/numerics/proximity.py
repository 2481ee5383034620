"""Proximity: from commute times to weights in (0, 1], a row's best neighbour weighing 1.

All in logs: true commute times reach 1e11, where exp(-c) is 0 and a naive row-max normalisation 0/0.
"""

import numpy as np

from cgnn_cli.errors import NumericalError

FLOOR = 0.05


def row_minimum(values: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """The least value of each row; +inf for a row without values."""
    least = np.full(row_count, np.inf)
    np.minimum.at(least, rows, values)
    return least


def row_sum(values: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    return np.bincount(rows, weights=values, minlength=row_count)


def row_scale(values: np.ndarray, rows: np.ndarray, row_count: int, scale: float | str) -> float | np.ndarray:
    """The scale of each entry: a number, the mean of its row, or the median of all."""
    if isinstance(scale, float):
        return scale
    if not len(values):
        return 1.0
    if scale == "median":
        spread: float | np.ndarray = abs(float(np.median(values)))
    else:
        counts = np.maximum(np.bincount(rows, minlength=row_count), 1)
        spread = np.abs(row_sum(values, rows, row_count) / counts)[rows]
    if not np.all(spread):
        raise NumericalError(f"--scale {scale} is zero on some row", "give --scale a number")
    return spread


def exponential_weights(values: np.ndarray, rows: np.ndarray, row_count: int, scale: float | str) -> np.ndarray:
    """exp(-(value - row minimum) / scale)."""
    excess = values - row_minimum(values, rows, row_count)[rows]
    return np.exp(-excess / row_scale(values, rows, row_count, scale))


def inverse_weights(values: np.ndarray, rows: np.ndarray, row_count: int, scale: float) -> np.ndarray:
    """(row minimum / value)^(1/scale), for positive values."""
    if len(values) and values.min() <= 0:
        raise NumericalError(
            f"--proximity inverse needs positive commute times, but {int((values <= 0).sum())} edges have none",
            "use --proximity exp, or a solver of true times such as --solver exact",
        )
    logs = np.log(values)
    return np.exp((row_minimum(logs, rows, row_count)[rows] - logs) / scale)


def closeness_weights(closeness: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """max(closeness, 0) and a floor, over the most of its row; 1 everywhere if no closeness is positive.

    The floor, FLOOR times the median of all positive ones, keeps neighbours that are no closer than strangers.
    """
    positive = closeness[closeness > 0]
    if not len(positive):
        return np.ones(len(closeness))
    raised = np.maximum(closeness, 0) + FLOOR * np.median(positive)
    most = np.zeros(row_count)
    np.maximum.at(most, rows, raised)
    return np.asarray(raised / most[rows])


def effective_neighbours(weights: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """exp of the entropy of each row's normalised weights: how many neighbours really count. Rows without weight: 0."""
    totals = row_sum(weights, rows, row_count)
    shares = weights / np.where(totals > 0, totals, 1)[rows]
    heard = shares > 0  # the share of a denormal weight may be 0
    entropy = row_sum(-shares[heard] * np.log(shares[heard]), rows[heard], row_count)
    return np.where(totals > 0, np.exp(entropy), 0.0)
