"""Options of the command line as arguments: names checked where they are given, values where they are used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cgnn_cli.configs import GraphConfig, SourceConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.extensions import load_extensions
from cgnn_cli.presets.chosen import chosen_row
from cgnn_cli.presets.lookup import AUTO
from cgnn_cli.settings import KEYS, OF_FLAG, Settings, checked
from cgnn_cli.store.store import Store


def option_names(*sections: str) -> list[str]:
    """The options of some sections by their names; of all sections, if none are named."""
    load_extensions()
    return [key.name for key in KEYS.values() if key.section in sections or (not sections and key.section)]


def check_names(given: Collection[str], known: Collection[str], what: str) -> None:
    """Refuse an option that is none, with the one that is likely meant."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{what} has no option {name}{meant}", "`cgnn config show` lists the options")


def settings_of(options: Mapping[str, Any], dataset: str | None = None, preset: str | None = None) -> Settings:
    """The settings of a call: its options over those of the environment and of cgnn.toml, as for the command line."""
    given = {name: _plain(value) for name, value in {**options, "dataset": dataset}.items() if value is not None}
    flags = {name: checked(KEYS[OF_FLAG[name]], value, "options") for name, value in given.items()}
    if preset != AUTO:
        return Settings(flags, preset=preset)
    known = Settings(flags)
    form, source = known.config("graph"), known.config("source")
    assert isinstance(form, GraphConfig) and isinstance(source, SourceConfig)
    return Settings(flags, preset=preset, row=chosen_row(Store(known.store_root()), dataset, form, source))


def _plain(value: Any) -> Any:
    """A path as text, and a number of numpy as Python's."""
    if isinstance(value, Path):
        return str(value)
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
