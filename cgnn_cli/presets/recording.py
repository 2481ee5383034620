"""Records what a search found as a row of a preset, with the search itself, so that it can be run again."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from cgnn_cli.presets.lookup import FOUND, SEARCH, Row, packaged_file, read_rows
from cgnn_cli.printable import printable
from cgnn_cli.resources import settings_text
from cgnn_cli.store.outputs import check_output, write_output


def check_record(preset: str, model: str) -> None:
    """Refuse a preset that a row could not be written into."""
    path = packaged_file(model) if preset in FOUND else Path(preset)
    check_output(path)
    if path.exists():
        read_rows(path)


def record_row(preset: str, dataset: str, model: str, row: Row) -> None:
    """Write a row into a preset or a file of one's own, in the place of an older one; other rows stay."""
    path, heading = Path(preset), (dataset, model)
    if preset in FOUND:
        path, heading = packaged_file(model), (preset, dataset)
    rows = {**(read_rows(path) if path.exists() else {}), heading: row}
    lines = settings_text(path).splitlines() if path.exists() else []
    comment = takewhile(lambda line: line.startswith("#"), lines)  # at the top of the file
    tables = (_table(f"{_name(first)}.{_name(second)}", rows[first, second]) for first, second in rows)
    write_output(path, "\n".join([*comment, *tables]).encode())


def _table(heading: str, row: Row) -> str:
    lines = [f"[{heading}]", *(f"{path} = {_value(value)}" for path, value in row.settings.items())]
    lines += [f"\n[{heading}.{SEARCH}]", *(f"{name} = {_value(value)}" for name, value in row.search.items())]
    return "\n" + "\n".join(lines) + "\n"


def _name(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _value(text)


def _value(value: Any) -> str:
    """A value in TOML, which writes texts, numbers, truths and lists as JSON does."""
    return json.dumps(printable(value) if isinstance(value, str) else value, ensure_ascii=False)
