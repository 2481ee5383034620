"""The preset `auto`: what `cgnn tune` chose for a graph, found again in the store by the graph's key."""

from __future__ import annotations

from cgnn_cli.configs import GraphConfig, SourceConfig, option_name
from cgnn_cli.datasets.registry import Datasets
from cgnn_cli.errors import UsageError
from cgnn_cli.presets.lookup import Row
from cgnn_cli.store.choices import read_choice
from cgnn_cli.store.store import Store


def chosen_row(store: Store, dataset: str | None, form: GraphConfig, source: SourceConfig) -> Row:
    """What was chosen for a dataset: settings with the model, and the search; nothing is downloaded or written."""
    if dataset is None:
        raise UsageError("--preset auto needs a --dataset: it is what `cgnn tune` chose for one")
    choice = read_choice(store, Datasets(store, source).step(dataset, form).key)
    if choice is None:
        others = {name: value for name, value in form.to_dict().items() if value != getattr(GraphConfig(), name)}
        words = [option_name(name) + ("" if value is True else f" {value}") for name, value in others.items()]
        hint = f"`{' '.join(['cgnn tune --dataset', dataset, *words])}` makes one"
        raise UsageError(f"the store {store.root} has no choice for {dataset} in this form", hint)
    return Row(choice.values, choice.search)
