"""Artifacts for the other ranks of torchrun: each reads the file by itself, and is sent it where it cannot.

Arrays of large artifacts are mapped (store/elements.py), so that ranks on one machine share their pages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cgnn_cli import graph
from cgnn_cli.errors import CgnnError
from cgnn_cli.ranks.leading import Group
from cgnn_cli.store import artifact as files

Held = dict[int, Any]
Arrays = Sequence[np.ndarray]


@dataclass
class Lender:
    """What rank 0 has lent to the others, by key: the numbers under which they hold it."""

    group: Group
    lent: dict[str, int] = field(default_factory=dict)

    def lend(self, path: Path, key: str, makes: str) -> int:
        """Let every rank hold the content of an artifact; makes: its type in graph.py."""
        if key not in self.lent:
            number = self.group.number()
            values = {"number": number, "path": str(path.absolute()), "key": key, "makes": makes}
            _, answers = self.group.call(f"{__name__}:read_artifact", lambda: None, values)
            found = [bool(holds[0]) for (holds,) in answers]
            if not all(found):
                content = np.fromfile(path, dtype=np.uint8)
                parts: list[Arrays] = [() if holds else (content,) for holds in found]
                self.group.call(f"{__name__}:take_artifact", lambda: None, values, parts=parts)
            self.lent[key] = number
        return self.lent[key]

    def keep_only(self, keys: set[str]) -> None:
        """Let the ranks forget all artifacts but these."""
        for key in self.lent.keys() - keys:
            self.group.forget(self.lent.pop(key))


def read_artifact(held: Held, values: dict[str, Any], arrays: Arrays) -> Arrays:
    """In a rank: whether it can read an artifact, which it then holds."""
    try:
        artifact = files.read(Path(values["path"]))
        found = artifact.header.key == values["key"]
    except CgnnError:  # another machine, which does not see the store, or not yet what is new in it
        found = False
    if found:
        held[values["number"]] = _content(artifact, values)
    return [np.array([found])]


def take_artifact(held: Held, values: dict[str, Any], arrays: Arrays) -> Arrays:
    """In a rank: hold an artifact whose file is sent; pages that are mapped outlive their name."""
    if arrays:
        with tempfile.TemporaryDirectory(prefix="cgnn-") as folder:
            path = Path(folder) / "artifact"
            arrays[0].tofile(path)
            held[values["number"]] = _content(files.read(path), values)
    return ()


def _content(artifact: files.Artifact, values: dict[str, Any]) -> Any:
    return getattr(graph, values["makes"]).from_elements(artifact.elements, artifact.header.summary)
