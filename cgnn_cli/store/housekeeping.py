"""Housekeeping of a store: what lies in it, whether it is sound, and what was made from what."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgnn_cli.errors import UpstreamError
from cgnn_cli.store.artifact import ROOT_TYPES, Header
from cgnn_cli.store.store import Store

FOLDERS = (*ROOT_TYPES, "partial", "datasets", "latest", "runs/*", "quarantine", ".")
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


@dataclass(frozen=True)
class Listing:
    """What a store holds, from its side records alone."""

    artifacts: list[dict[str, Any]]
    unfinished: int
    quarantined: int
    temporaries: int
    unrecorded: int


def list_store(store: Store, stages: Iterable[str] = ROOT_TYPES) -> Listing:
    """The artifacts of some stages, oldest first in each, and the number of everything else."""
    recorded = {stage: store.headers(stage) for stage in ROOT_TYPES}
    by_key = {(stage, header.key): header for stage, headers in recorded.items() for header in headers}
    names = dataset_names(store)
    rows = []
    for stage in stages:
        for header in recorded[stage]:
            with contextlib.suppress(OSError):
                size = store.path(stage, header.key).stat().st_size
                rows.append(
                    {
                        "stage": stage,
                        "key": header.key,
                        "datasets": names.get(graph_key(header, by_key) or "", []),
                        "bytes": size,
                        "made": header.provenance.get("started"),
                        "seconds": header.seconds,
                    }
                )
    unrecorded = sum((path.parent.name, path.stem) not in by_key for path in artifact_files(store))
    return Listing(
        rows,
        unfinished=len(list(_unfinished(store))),
        quarantined=len(list((store.root / "quarantine").glob("*.h5"))),
        temporaries=len(list(temporaries(store))),
        unrecorded=unrecorded,
    )


def graph_key(header: Header, by_key: dict[tuple[str, str], Header]) -> str | None:
    """The key of the graph that an artifact was made from, as far as the records tell."""
    current: Header | None = header
    while current is not None and current.stage != "graph":
        if "graph" in current.inputs:
            return current.inputs["graph"]
        role, key = next(iter(current.inputs.items()), ("", ""))
        current = by_key.get((role, key))
    return current.key if current else None


def dataset_names(store: Store) -> dict[str, list[str]]:
    """The dataset names of each graph key."""
    names: dict[str, list[str]] = {}
    for name in store.dataset_names():
        if record := store.dataset(name):
            names.setdefault(record["key"], []).append(name)
    return names


def artifact_files(store: Store) -> list[Path]:
    """The files that the store shows as artifacts."""
    found = (path for stage in ROOT_TYPES for path in sorted((store.root / stage).glob("*.h5")))
    return [path for path in found if path.stem.isalnum()]


def temporaries(store: Store) -> Iterator[Path]:
    """What writers are writing, or left behind when they were killed."""
    for folder in FOLDERS:
        for path in store.root.glob(f"{folder}/.*.tmp"):
            if TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                yield path


def _unfinished(store: Store) -> Iterator[Path]:
    """The snapshots of trainings that are not finished."""
    for path in (store.root / "partial").glob("*.h5"):
        if path.stem.isalnum() and not store.path("fit", path.stem).exists():
            yield path


def verify(store: Store, stage: str, key: str) -> bool | None:
    """Read an artifact in full and check every checksum; None if it has gone.

    A damaged one goes into quarantine, a lost or wrong side record is written anew.
    """
    if not store.path(stage, key).exists():
        return None
    return store.adopt(stage, key) is not None


def closure(store: Store, wanted: Iterable[tuple[str, str]]) -> list[Header]:
    """Artifacts and all they were made from, inputs first, each once; every one is found and checked."""
    found: dict[tuple[str, str], Header] = {}

    def add(stage: str, key: str, maker: Header | None) -> None:
        if (stage, key) in found:
            return
        header = store.find(stage, key)
        if header is None:
            needed = f", which {maker.stage} {maker.key[:12]} was made from," if maker else ""
            raise UpstreamError(
                f"{stage} {key[:12]}{needed} is missing or damaged in the store {store.root}",
                "run the command that made it again",
            )
        for role, needed_key in header.inputs.items():
            add(role.split("-")[0], needed_key, header)
        found[stage, key] = header

    for stage, key in wanted:
        add(stage, key, None)
    return list(found.values())
