"""Arrays that several processes use at once: written once to a private folder, and mapped by each into its memory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgnn_cli.errors import ResourceError

if TYPE_CHECKING:
    from cgnn_cli.graph import StageData
    from cgnn_cli.store.elements import Elements

MAPPED_BYTES = 1 << 16  # a smaller array is read: a page of its own would not pay
INDEX = "index.json"


@dataclass(frozen=True)
class SharedArrays:
    """A folder with the contents of artifacts as plain arrays, one folder a key."""

    folder: Path

    def get(self, key: str, kind: type[StageData], read: Callable[[], tuple[Elements, dict[str, Any]]]) -> StageData:
        """The content of an artifact; the first process that asks for it reads it and writes the arrays."""
        place = self.folder / key
        if not place.exists():
            self._write(place, *read())
        return kind.from_elements(*_mapped(place))

    def drop(self, key: str) -> None:
        """Remove the arrays of an artifact; processes that have mapped them keep them."""
        shutil.rmtree(self.folder / key, ignore_errors=True)

    def _write(self, place: Path, elements: Elements, summary: dict[str, Any]) -> None:
        import numpy as np

        from cgnn_cli.store.elements import flatten

        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        flat = flatten(elements)
        try:
            temporary.mkdir()
            for number, array in enumerate(flat.values()):
                np.save(temporary / f"{number}.npy", np.ascontiguousarray(array), allow_pickle=False)
            (temporary / INDEX).write_text(json.dumps({"names": list(flat), "summary": summary}), encoding="utf-8")
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise no_room(self.folder, error) from error
        try:
            temporary.rename(place)
        except OSError:  # another process was faster
            shutil.rmtree(temporary)


def no_room(folder: object, error: OSError) -> ResourceError:
    """What it means that the arrays that workers share cannot be written; numpy gives a full disk no number."""
    reason = error.strerror or "the disk is full"
    return ResourceError(
        f"no room for temporary files in {folder}: {reason}",
        "free some space, set TMPDIR to a folder on another disk, or leave --jobs out",
    )


def _mapped(place: Path) -> tuple[Elements, dict[str, Any]]:
    """Elements over mapped files. A write to them would stay in this process: torch refuses arrays that forbid it."""
    import numpy as np

    from cgnn_cli.store.elements import unflatten

    index = json.loads((place / INDEX).read_text(encoding="utf-8"))
    flat = {}
    for number, name in enumerate(index["names"]):
        file = place / f"{number}.npy"
        mode: Any = "c" if file.stat().st_size >= MAPPED_BYTES else None
        flat[name] = np.load(file, mmap_mode=mode, allow_pickle=False)
    return unflatten(flat), index["summary"]
