"""Classes of years: five parts of about the same size."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from cgnn_cli.datasets.readers.assembly import FETCH_AGAIN
from cgnn_cli.errors import DataError

PARTS = 5


def year_classes(years: np.ndarray, path: Path) -> tuple[np.ndarray, list[str]]:
    """The class of each node, -1 where its year is NaN, and the names of the classes.

    The bounds are quantiles of the years; a class holds its lower bound and not its upper one, so classes differ in
    size.
    """
    years = years.astype(np.float64)
    known = np.isfinite(years)
    if np.isinf(years).any() or (years[known] != np.floor(years[known])).any() or not known.any():
        raise DataError(f"{path} has years that are not whole numbers", FETCH_AGAIN)
    bounds = np.quantile(years[known], np.arange(1, PARTS) / PARTS)
    labels = np.searchsorted(bounds, years, side="right")
    labels[~known] = -1
    return labels, _names([int(np.ceil(bound)) for bound in bounds])


def _names(first_years: list[int]) -> list[str]:
    """The names of the classes; `first_years` are those of all but the first class."""
    middle = [_span(first, after - 1) for first, after in pairwise(first_years)]
    return [f"before {first_years[0]}", *middle, f"{first_years[-1]} or later"]


def _span(first: int, last: int) -> str:
    if last < first:
        return "no year"
    return str(first) if first == last else f"{first}-{last}"
