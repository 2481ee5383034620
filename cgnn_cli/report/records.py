"""Records as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Records as rows; nested values as JSON in a cell."""
    text = io.StringIO()
    columns = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in record.items()} for record in records)
    return text.getvalue()


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
