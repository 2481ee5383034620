"""Options of the import that contradict each other or are out of range."""

from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.errors import UsageError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split_ratio": "1/1/1", "per_class": 3}, "--split-ratio and --per-class contradict"),
        ({"splits": Path("s"), "per_class": 3}, "--splits and --per-class contradict"),
        ({"val": 3}, "--val goes with --per-class"),
        ({"split_ratio": "1/1"}, "three positive numbers"),
        ({"per_class": 0}, "--per-class must be at least 1"),
        ({"per_class": 1, "val": 0}, "--val must be at least 1"),
        ({"split_count": 0}, "--split-count must be at least 1"),
        ({"split_seed": -1}, "--split-seed must be between"),
        ({"split_seed": 2**32}, "--split-seed must be between"),
        ({"labels": None, "per_class": 3}, "--per-class needs labels"),
        ({"labels": None, "splits": Path("s")}, "--splits needs labels"),
    ],
)
def test_split_options_that_contradict(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ImportOptions(Path("edges"), **{"labels": Path("labels"), **options})
