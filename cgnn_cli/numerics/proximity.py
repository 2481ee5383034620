"""Proximity: from commute times to weights in (0, 1], a row's best neighbour weighing 1.

All in logs: true commute times reach 1e11, where exp(-c) is 0 and a naive row-max normalisation 0/0.
"""

import numpy as np

from cgnn_cli import scratch
from cgnn_cli.errors import NumericalError
from cgnn_cli.numerics.csr import tally

FLOOR = 0.05


def row_minimum(values: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """The least value of each row; +inf for a row without values."""
    least = np.full(row_count, np.inf)
    for part in scratch.parts(len(values)):
        np.minimum.at(least, rows[part].astype(np.intp, copy=False), values[part])
    return least


def row_sum(values: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """The sum of the values of each row, added one by one in their order."""
    totals = np.zeros(row_count)
    for part in scratch.parts(len(values)):
        np.add.at(totals, rows[part].astype(np.intp, copy=False), values[part])
    return totals


def median(values: np.ndarray) -> float:
    """Of a copy that is sorted as far as needed."""
    return float(np.median(scratch.computed(len(values), lambda part: values[part]), overwrite_input=True))


def row_scale(values: np.ndarray, rows: np.ndarray, row_count: int, scale: float | str) -> float | np.ndarray:
    """The scale: a number, the median of all values, or the mean of each row, where those without values have 1."""
    if isinstance(scale, float):
        return scale
    if not len(values):
        return 1.0
    spread: float | np.ndarray
    if scale == "median":
        spread = abs(median(values))
    else:
        counts = tally(rows, row_count)
        means = np.abs(row_sum(values, rows, row_count) / np.maximum(counts, 1))
        spread = np.where(counts > 0, means, 1.0)
    if not np.all(spread):
        raise NumericalError(f"--scale {scale} is zero on some row", "give --scale a number")
    return spread


def exponential_weights(values: np.ndarray, rows: np.ndarray, row_count: int, scale: float | str) -> np.ndarray:
    """exp(-(value - row minimum) / scale)."""
    least, spread = row_minimum(values, rows, row_count), row_scale(values, rows, row_count, scale)

    def weigh(part: slice) -> np.ndarray:
        excess = values[part] - least[rows[part]]
        return np.exp(-excess / (spread[rows[part]] if isinstance(spread, np.ndarray) else spread))

    return scratch.computed(len(values), weigh)


def inverse_weights(values: np.ndarray, rows: np.ndarray, row_count: int, scale: float) -> np.ndarray:
    """(row minimum / value)^(1/scale), for positive values."""
    if len(values) and values.min() <= 0:
        without = scratch.count(len(values), lambda part: values[part] <= 0)
        raise NumericalError(
            f"--proximity inverse needs positive commute times, but {without} edges have none",
            "use --proximity exp, or a solver of true times such as --solver exact",
        )
    logs = scratch.computed(len(values), lambda part: np.log(values[part]))
    least = row_minimum(logs, rows, row_count)
    return scratch.computed(len(logs), lambda part: np.exp((least[rows[part]] - logs[part]) / scale))


def closeness_weights(closeness: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """max(closeness, 0) and a floor, over the most of its row; 1 everywhere if no closeness is positive.

    The floor, FLOOR times the median of all positive ones, keeps neighbours that are no closer than strangers.
    """
    positive = scratch.compressed(closeness, scratch.computed(len(closeness), lambda part: closeness[part] > 0, bool))
    if not len(positive):
        return scratch.computed(len(closeness), lambda _: 1.0)
    floor = FLOOR * median(positive)
    raised = scratch.computed(len(closeness), lambda part: np.maximum(closeness[part], 0) + floor)
    most = np.zeros(row_count)
    for part in scratch.parts(len(raised)):
        np.maximum.at(most, rows[part].astype(np.intp, copy=False), raised[part])
    return scratch.computed(len(raised), lambda part: raised[part] / most[rows[part]])


def effective_neighbours(weights: np.ndarray, rows: np.ndarray, row_count: int) -> np.ndarray:
    """exp of the entropy of each row's normalised weights: how many neighbours really count. Rows without weight: 0."""
    totals = row_sum(weights, rows, row_count)
    divisors, entropy = np.where(totals > 0, totals, 1), np.zeros(row_count)
    for part in scratch.parts(len(weights)):
        shares = weights[part] / divisors[rows[part]]
        heard = shares > 0  # the share of a denormal weight may be 0
        shares = shares[heard]
        np.add.at(entropy, rows[part][heard].astype(np.intp, copy=False), -shares * np.log(shares))
    return np.where(totals > 0, np.exp(entropy), 0.0)
