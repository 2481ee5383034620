"""Names of imported graphs: taken away, or given to the same graph in place of another."""

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.datasets.registry import GENERATED_SOURCE, Datasets, check_import_name, is_imported
from cgnn_cli.errors import BusyError, UsageError
from cgnn_cli.store.garbage import Collected, remove_graph
from cgnn_cli.store.store import Store


def remove_name(store: Store, name: str) -> tuple[list[str], list[str]]:
    """Take a name and its forms away; the keys of their graphs that went too, and of those that something needs."""
    store.check_writable("datasets", "graph")
    records = {form: store.dataset(form) for form in _forms(store, name)}
    for form in records:
        store.remove_dataset(form)
    keys = list(dict.fromkeys(record["key"] for record in records.values()))
    removed = []
    for key in keys:
        remove_graph(store, key, Collected())
        if not store.path("graph", key).exists():
            removed.append(key)
    return removed, [key for key in keys if key not in removed]


def rename(store: Store, old: str, new: str) -> None:
    """Give a graph and its forms another name.

    The new name is there before the old one goes, and the graphs are pinned meanwhile, so that no clean-up misses both.
    """
    check_import_name(new)
    records = {form: store.dataset(form) for form in _forms(store, old)}
    if new in store.dataset_names():
        raise UsageError(f"there is a dataset {new} already", f"remove it first: cgnn data rm {new}")
    store.check_writable("datasets")
    with store.pinned([("graph", record["key"]) for record in records.values()]):
        for form, record in records.items():
            store.set_dataset(new + form.removeprefix(old), record)
        for form in records:
            store.remove_dataset(form)


def check_own(store: Store, name: str) -> None:
    """Refuse a name that no imported graph has."""
    if (name in GENERATED_SOURCE or name in BENCHMARKS) and not is_imported(store, name):
        raise UsageError(
            f"{name} is a dataset of cgnn's own", "`cgnn cache gc` frees the space of what is made from it"
        )
    if name not in store.dataset_names() or not store.dataset(name):
        raise Datasets(store).unknown(name)


def _forms(store: Store, name: str) -> list[str]:
    """The name of an imported graph, with those of its forms such as NAME+undirected and of its versions NAME@1."""
    check_own(store, name)
    names = store.dataset_names()
    return [name, *(form for form in names if form.startswith((f"{name}+", f"{name}@")) and store.dataset(form))]


def check_no_version(name: str) -> None:
    """Refuse NAME@1, which stays what it is."""
    base, sign, _ = name.partition("@")
    if sign:
        raise UsageError(f"{name} is an earlier version of {base}", f"name it first: cgnn data rename {name} NEW")


def keep_version(store: Store, name: str, key: str) -> str:
    """Keep the graph that a name stands for under the one after the last of NAME@1, NAME@2, ...; that name.

    key: of the graph that the name is known to stand for.
    """
    record = store.dataset(name)
    if record.get("key") != key:
        raise BusyError(f"{name} was changed meanwhile, and stays as it is now", "run the same command again")
    kept = [form.removeprefix(f"{name}@") for form in store.dataset_names() if form.startswith(f"{name}@")]
    version = f"{name}@{max((int(number) for number in kept if number.isdecimal()), default=0) + 1}"
    store.set_dataset(version, record)
    return version
