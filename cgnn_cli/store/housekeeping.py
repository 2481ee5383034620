"""Housekeeping of a store: what lies in it, and whether it is sound."""

import contextlib
import json
import os
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgnn_cli.errors import CorruptError, ForeignError, NewerFormatError, ResourceError
from cgnn_cli.keys import KEY, is_key
from cgnn_cli.pipeline import STAGES
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.choices import FOLDER as CHOICES
from cgnn_cli.store.choices import read_choice
from cgnn_cli.store.disk import entries, open_plain
from cgnn_cli.store.lineage import graph_key
from cgnn_cli.store.store import Store

FOLDERS = (*STAGES, "partial", "datasets", "latest", CHOICES, ".")
# Version 0.1.0 gave names without cgnn; those are known by the key in them.
TEMPORARY = re.compile(rf"\.(.+\.[0-9a-f]{{12}}\.cgnn|{KEY}\.[0-9a-f]{{12}})\.tmp")
EPOCH = {"epoch", "loss"}  # what every line of a run's metrics has
SOUND, DAMAGED, NEWER, FOREIGN, UNREADABLE = "ok", "damaged", "newer format", "not cgnn's", "unreadable"


@dataclass(frozen=True)
class Listing:
    """What a store holds, from its side records alone."""

    artifacts: list[dict[str, Any]]
    unfinished: int
    quarantined: int
    temporaries: int
    unrecorded: int


def list_store(store: Store, stages: Container[str] = STAGES) -> Listing:
    """The artifacts of some stages, oldest first in each, and the number of everything else."""
    recorded, names, rows = recorded_headers(store), dataset_names(store), []
    for (stage, key), header in recorded.items():
        with contextlib.suppress(OSError):
            rows.append(
                {
                    "stage": stage,
                    "key": key,
                    "datasets": names.get(graph_key(header, lambda *place: recorded.get(place)) or "", []),
                    "bytes": store.path(stage, key).stat().st_size,
                    "made": header.provenance.get("started"),
                    "seconds": header.seconds,
                }
            )
    snapshots = [path.stem for path in entries(store.root / "partial") if path.suffix == ".h5" and is_key(path.stem)]
    return Listing(
        [row for row in rows if row["stage"] in stages],
        unfinished=sum(not store.path("fit", key).exists() for key in snapshots),
        quarantined=len(store.quarantined()),
        temporaries=len(list(temporaries(store))),
        unrecorded=sum((path.parent.name, path.stem) not in recorded for path in artifact_files(store)),
    )


def recorded_headers(store: Store) -> dict[tuple[str, str], Header]:
    """The headers in all side records, by stage and key, oldest first in each stage."""
    return {(stage, header.key): header for stage in STAGES for header in store.headers(stage)}


def dataset_names(store: Store) -> dict[str, list[str]]:
    """The dataset names of each graph key."""
    names: dict[str, list[str]] = {}
    for name, record in store.datasets().items():
        names.setdefault(record["key"], []).append(name)
    return names


def artifact_files(store: Store) -> list[Path]:
    """The files that the store shows as artifacts."""
    return [path for stage in STAGES for path in store.artifact_files(stage)]


def temporaries(store: Store) -> Iterator[Path]:
    """What writers are writing, or left behind when they were killed."""
    for folder in (*(store.root / name for name in FOLDERS), *run_folders(store)):
        for path in entries(folder):
            if TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                yield path


def run_folders(store: Store) -> list[Path]:
    """The folders of the metrics of runs."""
    return [path for path in entries(store.root / "runs") if is_key(path.name) and not path.is_symlink()]


def are_metrics(path: Path) -> bool:
    """Whether a file holds the metrics of a run, or nothing: its first line says so."""
    with open(path, "rb", opener=open_plain) as file:
        line = file.readline(1 << 20)
    try:
        first = json.loads(line or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and (not first or first.keys() >= EPOCH)


def verify(store: Store, stage: str, key: str) -> tuple[str, str] | None:
    """Read an artifact in full and check every checksum: a word for the result, and its reason; None if it has gone.

    A damaged one goes into quarantine, a lost or wrong side record is written anew; all else stays as it is. With the
    folder of choices in the place of a stage, the choice for a graph, which stays in any case.
    """
    path = store.path(stage, key)
    try:
        if stage == CHOICES:
            return (SOUND, "") if read_choice(store, key) else None
        if not os.path.lexists(path):
            return None
        if store.adopt(stage, key):
            return SOUND, ""
        return (FOREIGN, f"{path} is empty") if path.exists() and not path.stat().st_size else (DAMAGED, "")
    except CorruptError as error:
        return DAMAGED, f"{error.message} ({error.hint})"
    except NewerFormatError as error:
        return NEWER, f"{error.message}; it stays as it is (upgrade cgnn to verify it)"
    except ForeignError as error:
        return FOREIGN, error.message
    except ResourceError as error:
        return UNREADABLE, error.message
