"""Paired comparison of two runs, split by split: is the difference more than chance?

The splits of a graph share nodes, so that differences on them are alike, and a plain t test claims too much. Nadeau and
Bengio (Inference for the generalization error, Machine Learning 52, 2003) correct the variance of its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cgnn_cli.printable import signed_text

MOST_FLIPPED = 12
ROUNDING = 1e-9  # of the largest difference: an error below it is not one of the splits


@dataclass(frozen=True)
class Paired:
    """The differences of two runs over the same splits.

    test_to_train: test nodes of a split for each of its training nodes; without it there is no t test.
    """

    gaps: tuple[float, ...]
    test_to_train: float | None = None

    @property
    def runs(self) -> int:
        return len(self.gaps)

    @property
    def mean(self) -> float:
        return sum(self.gaps) / self.runs

    @property
    def error(self) -> float | None:
        """The standard error of the mean, as of independent splits; a single split has none."""
        if self.runs < 2:
            return None
        variance = sum((gap - self.mean) ** 2 for gap in self.gaps) / (self.runs - 1)
        return math.sqrt(variance / self.runs)

    @cached_property
    def t_test(self) -> float | None:
        """Two-sided p value of the t test, its variance corrected: s^2 (1/n + test/train) in the place of s^2 / n.

        None where the sizes of the splits are not known, or the differences do not vary but by rounding.
        """
        if self.error is None or self.test_to_train is None or self.error <= ROUNDING * max(map(abs, self.gaps)):
            return None
        from scipy.special import stdtr

        error = self.error * math.sqrt(1 + self.runs * self.test_to_train)
        return float(2 * stdtr(self.runs - 1, -abs(self.mean / error)))

    @cached_property
    def sign_flips(self) -> float | None:
        """Exact two-sided p value: the share of all sign patterns whose mean is at least as far from 0.

        It assumes nothing but that a difference could as well have had the other sign. For at most 12 splits.
        """
        if not 2 <= self.runs <= MOST_FLIPPED:
            return None
        import numpy as np

        patterns = (np.arange(2**self.runs)[:, None] >> np.arange(self.runs)) & 1
        totals = np.abs((1 - 2 * patterns) @ np.array(self.gaps))
        return float((totals >= abs(sum(self.gaps)) - 1e-12).mean())

    def to_json(self) -> dict[str, Any]:
        return {
            "splits": self.runs,
            "mean_difference": self.mean,
            "standard_error": self.error,
            "test_to_train": self.test_to_train,
            "p_t_test": self.t_test,
            "p_sign_flips": self.sign_flips,
        }


def difference_text(paired: Paired) -> str:
    """A mean difference in percentage points ± its standard error; a single split has none."""
    return signed_text(100 * paired.mean) + ("" if paired.error is None else f" ± {100 * paired.error:.2f}")


def paired_difference(a: Sequence[float], b: Sequence[float], test_to_train: float | None = None) -> Paired:
    """a - b, split by split."""
    return Paired(tuple(x - y for x, y in zip(a, b, strict=True)), test_to_train)


def holm(p_values: Sequence[float | None], family: int | None = None) -> list[float | None]:
    """Holm's correction for several comparisons; those without a p value are not counted.

    The k-th smallest of m is multiplied by m - k + 1, and none may be below one before it. Comparisons that were
    picked by looking at the data need m of all that they were picked from: `family`.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    count = len(known) + (0 if family is None else family - len(p_values))
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (count - rank)))
        corrected[place] = highest
    return corrected
