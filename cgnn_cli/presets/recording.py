"""Records what a search found as a row of a preset file, with the search itself, so that it can be run again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cgnn_cli.configs import CONFIGS, GraphConfig, StageConfig, TrainConfig
from cgnn_cli.models.table import options_read
from cgnn_cli.operators.table import uses_weights
from cgnn_cli.presets.table import SEARCH, Row, read_rows
from cgnn_cli.settings import KEYS, Settings
from cgnn_cli.store.disk import write_atomically


def full_row(settings: Settings) -> dict[str, Any]:
    """Every setting that a training depends on, also where it has its default, which may change one day."""
    train = settings.config("train")
    assert isinstance(train, TrainConfig)
    form = settings.config("graph").to_dict()
    row = {f"graph.{name}": value for name, value in form.items() if value != getattr(GraphConfig(), name)}
    configs: dict[str, StageConfig] = {stage: settings.config(stage) for stage in CONFIGS}
    for stage in ("rewire", "dilap", "commute") if uses_weights(train.model) else ():
        row |= {f"{stage}.{name}": value for name, value in configs[stage].to_dict().items()}
    values = {**options_read(train), "direction": train.direction}
    left_out = {"model"} | ({"seed"} if train.seed == TrainConfig().seed else set())
    row |= {f"train.{name}": value for name, value in values.items() if name not in left_out}
    return {path: value for path, value in row.items() if value is not None and path in KEYS}


def record_row(path: Path, dataset: str, model: str, row: Row) -> None:
    """Write a row into a preset file, in the place of an older one; other rows stay."""
    rows = {**(read_rows(path) if path.exists() else {}), (dataset, model): row}
    comment = _comment(path)
    tables = (_table(f"{_name(place)}.{_name(of)}", rows[place, of]) for place, of in rows)
    write_atomically(path, "\n".join([*comment, *tables]).encode())


def _comment(path: Path) -> Iterator[str]:
    """The lines of comment at the top of a file."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if not line.startswith("#"):
            return
        yield line


def _table(heading: str, row: Row) -> str:
    lines = [f"[{heading}]", *(f"{path} = {_value(value)}" for path, value in row.settings.items())]
    lines += [f"\n[{heading}.{SEARCH}]", *(f"{name} = {_value(value)}" for name, value in row.search.items())]
    return "\n" + "\n".join(lines) + "\n"


def _name(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _value(text)


def _value(value: Any) -> str:
    """A value in TOML, which writes texts, numbers, truths and lists as JSON does."""
    return json.dumps(value, ensure_ascii=False)
