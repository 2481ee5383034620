"""The preset `auto`: what `cgnn tune` chose for a graph, found again in the store by the graph's key."""

from __future__ import annotations

from typing import Any

from cgnn_cli.configs import GraphConfig, SourceConfig
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import UsageError
from cgnn_cli.store.choices import read_choice
from cgnn_cli.store.store import Store


def chosen_row(store: Store, dataset: str | None, form: GraphConfig, source: SourceConfig) -> dict[str, Any]:
    """The settings that were chosen for a dataset, with the model; nothing is downloaded or written."""
    if dataset is None:
        raise UsageError("--preset auto needs a --dataset: it is what `cgnn tune` chose for one")
    choice = read_choice(store, Datasets(store, source).step(dataset, form).key)
    if choice is None:
        hint = f"`cgnn tune --dataset {dataset}` makes one"
        raise UsageError(f"the store {store.root} has no choice for {dataset} in this form", hint)
    return choice.values
