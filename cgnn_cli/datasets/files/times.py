"""Times of edges and nodes: numbers, or ISO dates, which become seconds since 1970 (UTC where no zone is given)."""

from datetime import UTC, datetime

import numpy as np

from cgnn_cli.datasets.files.columns import Column, is_number
from cgnn_cli.datasets.files.invalid_rows import Faults
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import UsageError


def is_date(field: str) -> bool:
    try:
        datetime.fromisoformat(field)
    except ValueError:
        return False
    return not field.isdigit()


def parse_moment(flag: str, text: str) -> float:
    """A moment from the command line."""
    if not is_number(text) and not is_date(text):
        raise UsageError(f"{flag} {text} is neither a date nor a number", "for example 2024-06-30, or 1719700000")
    return float(text) if is_number(text) else _seconds(text)


def read_times(column: Column, faults: Faults, like: str | None) -> np.ndarray:
    """A time for each row, NaN where the field is empty; all are of the kind of `like`, or else of the first field."""
    codes, texts = column.encoded
    first = like if like is not None else next((text for text in texts if text), "")
    numbers = is_number(first)
    fits, kind = (is_number, "number") if numbers else (is_date, "date such as 2024-06-30")
    good = np.array([fits(text) for text in texts], dtype=bool)
    values = np.array([(float(text) if numbers else _seconds(text)) if fits(text) else np.nan for text in texts])
    bad = ~good & np.array([text != "" for text in texts], dtype=bool)
    if bad.any():
        faults.add(
            "with an unusable time", bad[codes], lambda row: f"the time {shorten(texts[codes[row]])} is no {kind}"
        )
    return values[codes]


def first_times(source: np.ndarray, target: np.ndarray, time: np.ndarray, count: int) -> np.ndarray:
    """The time of each node's first edge, in or out; NaN where it has none with a time."""
    first = np.full(count, np.inf)
    known = ~np.isnan(time)
    for ends in (source, target):
        np.minimum.at(first, ends[known], time[known])
    return np.where(np.isinf(first), np.nan, first)


def _seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
