"""Datasets by name: from a name to the step that provides its graph.

A graph's key is the hash of its content, so the same graph has the same key wherever it came from. The store keeps a
record per name: which graph it stands for, and a fingerprint of its source that says when it must be made again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cgnn_cli.errors import UpstreamError, UsageError
from cgnn_cli.pipeline import STAGES, Step
from cgnn_cli.store.keys import artifact_key
from cgnn_cli.store.store import Store

if TYPE_CHECKING:
    from cgnn_cli.graph import Graph

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
DEMO_VERSION = 1


@dataclass(frozen=True)
class BuiltIn:
    """A dataset that comes with the tool: what it is, a fingerprint of its source, and how it is made."""

    title: str
    fingerprint: dict[str, Any]
    make: Callable[[], Graph]


def _demo() -> Graph:
    from cgnn_cli.datasets.demo import demo_graph

    return demo_graph()


BUILT_IN: dict[str, BuiltIn] = {
    "demo": BuiltIn(
        "embedded social graph with celebrities, generated from a fixed seed", {"demo": DEMO_VERSION}, _demo
    ),
}


@dataclass(frozen=True)
class GraphContent:
    """What a graph's key is made of."""

    content: str

    def to_dict(self) -> dict[str, Any]:
        return {"content": self.content}


def graph_step(graph: Graph) -> Step:
    """The step that provides a graph which is in memory."""
    from cgnn_cli.store.elements import checksum

    content = GraphContent(checksum(graph.to_elements()))
    described = dataclasses.replace(graph, summary=_summary(graph))
    return Step(STAGES["graph"], content, {}, _graph_key(content), make=lambda: described)


def _summary(graph: Graph) -> dict[str, Any]:
    """The figures of a graph that later stages ask for without loading it."""
    return {
        "nodes": graph.node_count,
        "edges": int(graph.adjacency.nnz),
        "features": 0 if graph.features is None else int(graph.features.shape[1]),
        "classes": graph.class_count,
        "splits": graph.split_count,
    }


def _graph_key(content: GraphContent) -> str:
    return artifact_key("graph", STAGES["graph"].algorithm, content.to_dict(), {})


def dataset_step(store: Store, name: str, *, write_record: bool = True) -> Step:
    """The step that provides the graph of a dataset name; a built-in one gets its record at first use."""
    record = store.dataset(name)
    built_in = BUILT_IN.get(name)
    if record and (built_in is None or record.get("source") == built_in.fingerprint):
        content = GraphContent(record["content"])
        return Step(STAGES["graph"], content, {}, _graph_key(content), make=_remake(name, content))
    if built_in is None:
        raise _unknown(store, name)
    graph = built_in.make()
    step = graph_step(graph)
    if write_record:
        remember(store, name, step, built_in.fingerprint, graph.summary)
    return step


def _remake(name: str, content: GraphContent) -> Callable[[], Graph]:
    """Make the graph of a known name again when its artifact has gone."""

    def make() -> Graph:
        if name not in BUILT_IN:
            raise UpstreamError(
                f"the graph of {name} is no longer in the store", f"import it again with `cgnn data import {name} ...`"
            )
        step = graph_step(BUILT_IN[name].make())
        if step.config != content:
            raise UpstreamError(
                f"the graph of {name} does not come out as it did when its record was written",
                "the record was made with other library versions; use another --store",
            )
        return step.make()  # type: ignore[misc, return-value]

    return make


def remember(store: Store, name: str, step: Step, source: dict[str, Any], summary: dict[str, Any]) -> None:
    """Write the record of a dataset name."""
    store.set_dataset(name, {"content": step.config.content, "key": step.key, "source": source, "summary": summary})


def known_names(store: Store) -> list[str]:
    """All names that `--dataset` takes here: built-in ones, then imported ones."""
    return [*BUILT_IN, *(name for name in store.dataset_names() if name not in BUILT_IN)]


def check_import_name(name: str) -> None:
    """Refuse names that are taken or that would not be safe as file names."""
    if name in BUILT_IN:
        raise UsageError(f"{name} is a dataset of cgnn's own", "choose another name")
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a dataset name", "use letters, digits, dots, dashes and underscores, at most 100"
        )


def name_of(store: Store, graph_key: str) -> str | None:
    """The dataset name that stands for a graph, where the store knows one."""
    return next((name for name in store.dataset_names() if store.dataset(name).get("key") == graph_key), None)


def _unknown(store: Store, name: str) -> UsageError:
    from difflib import get_close_matches

    known = known_names(store)
    near = get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    hint = f"known here: {', '.join(known)}; `cgnn data import {name} --edges FILE` adds your own"
    return UsageError(f"unknown dataset {name!r}{meant}", hint)
