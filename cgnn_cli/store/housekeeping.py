"""Housekeeping of a store: what lies in it, and whether it is sound."""

import contextlib
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgnn_cli.pipeline import STAGES
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.lineage import graph_key
from cgnn_cli.store.store import Store

FOLDERS = (*STAGES, "partial", "datasets", "latest", "runs/*", "quarantine", ".")
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


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
    snapshots = [path.stem for path in (store.root / "partial").glob("*.h5") if path.stem.isalnum()]
    return Listing(
        [row for row in rows if row["stage"] in stages],
        unfinished=sum(not store.path("fit", key).exists() for key in snapshots),
        quarantined=len(list((store.root / "quarantine").glob("*.h5"))),
        temporaries=len(list(temporaries(store))),
        unrecorded=sum((path.parent.name, path.stem) not in recorded for path in artifact_files(store)),
    )


def recorded_headers(store: Store) -> dict[tuple[str, str], Header]:
    """The headers in all side records, by stage and key, oldest first in each stage."""
    return {(stage, header.key): header for stage in STAGES for header in store.headers(stage)}


def dataset_names(store: Store) -> dict[str, list[str]]:
    """The dataset names of each graph key."""
    names: dict[str, list[str]] = {}
    for name in store.dataset_names():
        if record := store.dataset(name):
            names.setdefault(record["key"], []).append(name)
    return names


def artifact_files(store: Store) -> list[Path]:
    """The files that the store shows as artifacts."""
    found = (path for stage in STAGES for path in sorted((store.root / stage).glob("*.h5")))
    return [path for path in found if path.stem.isalnum()]


def temporaries(store: Store) -> Iterator[Path]:
    """What writers are writing, or left behind when they were killed."""
    for folder in FOLDERS:
        for path in store.root.glob(f"{folder}/.*.tmp"):
            if TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                yield path


def verify(store: Store, stage: str, key: str) -> bool | None:
    """Read an artifact in full and check every checksum; None if it has gone.

    A damaged one goes into quarantine, a lost or wrong side record is written anew.
    """
    return store.adopt(stage, key) is not None if store.path(stage, key).exists() else None
