"""Choices: what `cgnn tune` chose for a graph last. A record of the store beside the artifacts, by the graph's key.

STORE/choices/<graph key>.json    what `Choice` says, with a format, a version and a checksum
"""

import contextlib
import dataclasses
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgnn_cli.errors import CgnnError, CorruptError, ForeignError, NewerFormatError
from cgnn_cli.keys import canonical_json, is_key
from cgnn_cli.store.disk import entries, read_json, write_json
from cgnn_cli.store.store import Store, may_replace

FORMAT, VERSION = "cgnn-choice", 1
FOLDER = "choices"
AGAIN = "`cgnn tune` makes it again, and replaces it"


@dataclass(frozen=True)
class Choice:
    """The settings that were chosen for a graph, how they were found, and the key of their trainings."""

    graph: str
    model: str
    settings: dict[str, Any]
    search: dict[str, Any] = field(default_factory=dict)
    train: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """The settings by their paths, with the model."""
        return {"train.model": self.model, **self.settings}

    def to_record(self) -> dict[str, Any]:
        content = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        return {**content, "sha256": hashlib.sha256(canonical_json(content).encode()).hexdigest()}


def choice_of(record: dict[str, Any]) -> Choice:
    """The choice that a record tells; ValueError where it is damaged or none."""
    names = [item.name for item in dataclasses.fields(Choice)]
    try:
        choice = Choice(**{name: record[name] for name in names})
        sound = is_key(choice.graph) and isinstance(choice.settings, dict) and choice.to_record() == record
    except (KeyError, TypeError) as error:
        raise ValueError("no choice") from error
    if not sound:
        raise ValueError("its checksum does not match")
    return choice


def choice_path(store: Store, graph: str) -> Path:
    return store.root / FOLDER / f"{graph}.json"


def choice_keys(store: Store) -> list[str]:
    """The keys of the graphs for which the store has what looks like a choice."""
    return [path.stem for path in entries(store.root / FOLDER) if path.suffix == ".json" and is_key(path.stem)]


def is_own(record: dict[str, Any], graph: str) -> bool:
    """Whether a record is one that this cgnn wrote for a graph, sound or damaged."""
    return (record.get("format"), record.get("version"), record.get("graph")) == (FORMAT, VERSION, graph)


def read_choice(store: Store, graph: str) -> Choice | None:
    """The choice for a graph, if there is one; what is damaged or none of cgnn's is an error, and stays."""
    path = choice_path(store, graph)
    record = read_json(path, strict=True)
    if not record and not os.path.lexists(path):
        return None
    if not record:
        raise CorruptError(
            f"{path} is damaged, and cannot be told to be cgnn's", "remove it, and run `cgnn tune` again"
        )
    if record.get("format") != FORMAT or record.get("graph") != graph:
        raise ForeignError(f"{path} is no choice for this graph, and stays as it is", "move it away")
    version = record.get("version")
    if isinstance(version, int) and version > VERSION:
        raise NewerFormatError(f"{path} has version {version}, this cgnn reads {VERSION}", "upgrade cgnn")
    try:
        return choice_of(record)
    except ValueError as error:
        raise CorruptError(f"{path} is damaged", AGAIN) from error


def write_choice(store: Store, choice: Choice) -> None:
    """Put a choice in the place of the one before; what is not provably cgnn's is not replaced."""
    path = choice_path(store, choice.graph)
    if not may_replace(path, lambda record: is_own(record, choice.graph)):
        raise ForeignError(f"{path} is not a record of this cgnn's, and stays as it is", "move it away")
    try:
        write_json(path, choice.to_record())
    except OSError as error:
        raise store.storage_error(error, 0) from error


def sound_choices(store: Store) -> list[Choice]:
    """All choices that can be read."""
    found = []
    for graph in choice_keys(store):
        with contextlib.suppress(CgnnError):
            found += [choice] if (choice := read_choice(store, graph)) else []
    return found
