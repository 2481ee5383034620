"""Graphs of Python programs in a store: by the name of a dataset, or under a name that is made from their key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cgnn_cli.datasets.registry import check_import_name, graph_step, is_imported, remember
from cgnn_cli.errors import UsageError
from cgnn_cli.python.graphs import Given, found_graph, given_graph
from cgnn_cli.settings import Settings
from cgnn_cli.workspace import Workspace

SOURCE = {"edges": "Python"}


def named_graph(
    space: Workspace,
    settings: Settings,
    edges: Any,
    labels: Any = None,
    features: Any = None,
    splits: Any = None,
    *,
    name: str | None = None,
    options: Mapping[str, Any],
) -> tuple[str, Given]:
    """The name of a dataset in the store, and its graph in the form that settings ask for.

    edges: the name of a dataset, or edges of any kind. Their graph has the given name, or that under which the store
    knows it, or one from its key.
    """
    if not isinstance(edges, str):
        made = given_graph(edges, labels, features, splits, options)
        name = _kept(space, made, name)
        for note in made.graph.summary.get("notes", ()):
            space.note(note)
        for warning in made.graph.summary.get("warnings", ()):
            space.store.warn(warning)
        return name, made
    if options or name is not None or any(each is not None for each in (labels, features, splits)):
        raise UsageError(f"{edges!r} is the name of a dataset, which has all it needs", "give edges, or the name alone")
    form = settings.changed(("graph",))
    return edges, found_graph(space.runner.data(space.step("graph", edges, form)))


def _kept(space: Workspace, made: Given, name: str | None) -> str:
    """Put a graph into the store under a name, as `cgnn data import` does; that name."""
    store, step = space.store, graph_step(made.graph)
    if name is not None:
        check_import_name(name)
    else:
        known = [each for each in store.names_of(step.key) if is_imported(store, each)]
        name = known[0] if known else f"python-{step.key[:12]}"
    store.check_writable(step.stage.name, "datasets")
    with store.pinned([(step.stage.name, step.key)]):
        space.runner.obtain(step)
        if store.dataset(name).get("key") != step.key:
            remember(store, name, step, SOURCE, made.graph.summary)
    return name
