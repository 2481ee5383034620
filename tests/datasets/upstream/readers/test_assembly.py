"""Classes of years."""

from pathlib import Path

import numpy as np

from cgnn_cli.datasets.upstream.readers.assembly import year_classes
from tests.datasets.upstream.readers.layouts import YEARS


def test_classes_of_years_are_half_open() -> None:
    years = np.repeat([2010, 2013, 2014, 2015, 2016, 2017, 2018, 2019, 2020], [10, 9, 6, 6, 11, 11, 18, 20, 9])
    labels, names = year_classes(years, Path("years"))
    assert names == ["before 2014", "2014-2015", "2016-2017", "2018", "2019 or later"]
    assert np.bincount(labels).tolist() == [19, 12, 22, 18, 29]
    assert {int(year): int(label) for year, label in zip(years, labels, strict=True)} == {
        2010: 0,
        2013: 0,
        2014: 1,
        2015: 1,
        2016: 2,
        2017: 2,
        2018: 3,
        2019: 4,
        2020: 4,
    }


def test_bounds_between_years_and_unknown_years() -> None:
    labels, names = year_classes(np.array([*YEARS[:4], np.nan]), Path("years"))
    assert labels.tolist() == [0, 1, 3, 4, -1]
    assert names == ["before 2001", "2001", "no year", "2002", "2003 or later"]
