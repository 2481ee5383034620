"""Lineage: what an artifact was made from, why two differ, and how one is opened by its name."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cgnn_cli.errors import UpstreamError
from cgnn_cli.pipeline import STAGES, stage_in_role
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.store import Store


def walk(header: Header, find: Callable[[str, str], Header | None]) -> Iterator[tuple[str, Header]]:
    """All that an artifact was made from, with its role: inputs before what was made from them, each once.

    `find` tells the header of a stage and key, as `Store.find` does. What it answers with None is left out, with all
    that only it was made from; a `find` that raises instead reports what is missing.
    """
    seen: set[str] = set()

    def inputs(made: Header) -> Iterator[tuple[str, Header]]:
        for role, key in made.inputs.items():
            if key in seen:
                continue
            seen.add(key)
            found = find(stage_in_role(role), key)
            if found is not None:
                yield from inputs(found)
                yield role, found

    return inputs(header)


def graph_key(header: Header, find: Callable[[str, str], Header | None]) -> str | None:
    """The key of the graph that an artifact was made from, or None where that cannot be told."""
    if header.stage == "graph":
        return header.key
    if "graph" in header.inputs:
        return header.inputs["graph"]
    return next((made.inputs["graph"] for _, made in walk(header, find) if "graph" in made.inputs), None)


def load_graph(store: Store, header: Header) -> Artifact:
    """The graph artifact that an artifact was made from."""
    key = graph_key(header, store.find)
    if key is None or store.find("graph", key) is None:
        raise UpstreamError(
            f"the graph that {header.stage} {header.key[:12]} was made from, which has the node ids, is not in the "
            f"store {store.root}",
            "name the store that has it with --store, or export to npz",
        )
    return store.load("graph", key)


def differences(a: Header, b: Header) -> dict[str, tuple[Any, Any]]:
    """What two headers of one stage disagree in, of all that goes into a key."""
    left = {"algorithm": a.algorithm, **a.config, **{f"input {role}": key for role, key in a.inputs.items()}}
    right = {"algorithm": b.algorithm, **b.config, **{f"input {role}": key for role, key in b.inputs.items()}}
    names = [*left, *(name for name in right if name not in left)]
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def lineage_differences(store: Store, a: Header, b: Header) -> list[tuple[str, str, Any, Any]]:
    """Why two artifacts of a stage have different keys: stage, what, and both values; followed into their inputs."""
    if a.stage != b.stage or a.key == b.key:
        return []
    left, right = (dict(reversed([*walk(made, store.find), (made.stage, made)])) for made in (a, b))
    rows = []
    for role, header in left.items():
        for what, values in differences(header, right.get(role, header)).items():
            first, second = (value[:12] if value and what.startswith("input ") else value for value in values)
            rows.append((header.stage, what, first, second))
    return rows


def locate(store: Store, name: str) -> tuple[str, str]:
    """Stage and key of an artifact in a store, named by the beginning of its key or by its path there."""
    path = Path(name)
    if path.suffix != ".h5" and len(path.parts) == 1:
        return store.resolve(name)
    place = path.parent.name, path.stem
    with contextlib.suppress(OSError):
        if place[0] in STAGES and store.path(*place).samefile(path):
            return place
    raise UpstreamError(f"{name} is not an artifact in the store {store.root}", "`cgnn cache ls` lists them")


def open_artifact(store: Store, name: str) -> tuple[Path, Artifact]:
    """The file and the verified content of an artifact, named by a file or by the beginning of its key in a store."""
    if not name:
        raise UpstreamError("no artifact is named", "where a command in $(...) was to name it, that command failed")
    path = Path(name)
    with contextlib.suppress(OSError):
        if path.exists():
            return path, files.read(path)
    if "/" in name or name.endswith((".h5", ".npz")):
        raise UpstreamError(f"there is no file {name}")
    path = store.path(*locate(store, name))
    return path, files.read(path)
