"""`commute_times` and `hitting_times`: tables of times on a graph from Python, with the caller's ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgnn_cli.analysis.node_sets import ONLY
from cgnn_cli.datasets.files.titles import find_ends
from cgnn_cli.errors import UsageError
from cgnn_cli.graph import CommuteTimes
from cgnn_cli.pipeline import Step, up_to
from cgnn_cli.python.calling import call
from cgnn_cli.python.graphs import OPTIONS, SHORT, Given, texts_of
from cgnn_cli.python.named import named_graph
from cgnn_cli.python.options import check_names, option_names, settings_of
from cgnn_cli.python.tables import arrow_table, is_table, make_table
from cgnn_cli.settings import Settings
from cgnn_cli.solver_table import exact_or_series
from cgnn_cli.workspace import Workspace

PARTS = ("commute", "popularity", "direct", "indirect", "hitting", "hitting_back", "weight_out", "weight_in")


def commute_times(
    edges: Any,
    features: Any = None,
    *,
    store: Any = None,
    verbose: bool | None = None,
    **options: Any,
) -> Any:
    """Commute times of all edges, and what they are made of, as a table.

    Parameters
    ----------
    edges
        A table of pandas, polars or pyarrow, a graph of networkx or torch-geometric, a scipy matrix, an M x 2 array, a
        `Path` of a file, or the name of a dataset.
    features
        A table, array, scipy matrix or dictionary, where the walk is to be rewired by their similarity.
    store
        The folder of the cache; by default that of the command line.
    verbose
        Whether to show progress; by default in a notebook and on a terminal.
    options
        Those of `cgnn commute` and `cgnn data import` by their names, such as `weight="amount"`, `solver="series"`,
        `walk="symmetric"`. By default times are expected steps: exact ones, of a large graph those of the series.

    Returns
    -------
    table
        A row for each edge, in the library of `edges`: source, target, commute and its parts popularity, direct and
        indirect (commute = popularity - direct - indirect), hitting, hitting_back, weight_out, weight_in.
    """
    flags, columns = _parted(options, "commute_times", "commute")
    settings = settings_of({**flags, "store": store})

    def work(space: Workspace) -> Any:
        walked = _walk(space, settings, edges, features, columns, "commute")
        _obtained(space, walked.step)
        times: CommuteTimes = space.runner.data(walked.step)
        found = {"source": walked.given.ids[times.source], "target": walked.given.ids[times.target]}
        parts = {name: getattr(times, name) for name in PARTS}
        return make_table({**found, **{name: part for name, part in parts.items() if part is not None}}, walked.library)

    return call(settings, verbose, work)


def hitting_times(
    edges: Any,
    features: Any = None,
    *,
    pairs: Any = None,
    to: Any = None,
    from_: Any = None,
    probes: int | None = None,
    seed: int = 0,
    store: Any = None,
    verbose: bool | None = None,
    **options: Any,
) -> Any:
    """Expected steps of the walk between pairs of nodes, or to or from sets of nodes, as a table.

    Parameters
    ----------
    edges, features, store, verbose
        As for `commute_times`.
    pairs
        A table or M x 2 array of ids: exact times of each pair.
    to
        Nodes, or a dictionary of sets of nodes by name: the steps from every node to the set and, of several sets,
        which is met first.
    from_
        In the same form: the steps from a node of the set to every node.
    probes, seed
        For `from_` on a large graph: estimate with so many random probes.
    options
        Those of `cgnn hitting` and `cgnn data import` by their names.

    Returns
    -------
    table
        For pairs: source, target, hitting, hitting_back, commute. For sets: id, and the steps of each set with what is
        known beside them, as `cgnn hitting --output` writes it.
    """
    asked = [each is not None for each in (pairs, to, from_)]
    if sum(asked) != 1:
        raise UsageError("hitting_times answers one of three questions", "give pairs=, to= or from_=")
    if from_ is None and probes is not None:
        raise UsageError("probes= is for from_=; all else is solved for", "leave it out")
    flags, columns = _parted(options, "hitting_times", "dilap")
    settings = settings_of({**flags, "store": store})

    def work(space: Workspace) -> Any:
        walked = _walk(space, settings, edges, features, columns, "dilap")
        _obtained(space, walked.step)
        if pairs is not None:
            return make_table(_pair_columns(space, walked, pairs), walked.library)
        sets = _sets(to if from_ is None else from_)
        if from_ is None:
            found = space.steps_to(walked.step, sets)
        else:
            found = space.steps_from(walked.step, sets, probes, seed)
        for note in found.notes:
            space.note(note)
        return make_table({**found.columns(), "id": walked.given.ids}, walked.library)

    return call(settings, verbose, work)


@dataclass(frozen=True)
class _Walked:
    """A step on a graph, and how the graph was given."""

    step: Step
    given: Given

    @property
    def library(self) -> str:
        return self.given.library


def _parted(options: Mapping[str, Any], what: str, stage: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the stages up to one, and those of an import."""
    known = option_names("graph", *up_to(stage), "compute", "source")
    of_import = [name for name in (*OPTIONS, *SHORT) if name not in known and not name.startswith("split")]
    check_names(options, [*known, *of_import], what)
    flags = {name: value for name, value in options.items() if name in known}
    return flags, {name: value for name, value in options.items() if name not in known}


def _walk(
    space: Workspace, settings: Settings, edges: Any, features: Any, columns: Mapping[str, Any], stage: str
) -> _Walked:
    name, given = named_graph(space, settings, edges, None, features, options=columns)
    asked = settings.changed(("graph", *up_to(stage)))
    if stage == "commute":
        asked = {"commute.solver": exact_or_series(given.graph.node_count, quickly=True), **asked}
    return _Walked(space.step(stage, name, asked), given)


def _obtained(space: Workspace, step: Step) -> None:
    """Have a step done, as the newest of its stage: commands go on from it."""
    space.obtain(step)
    for used in step.lineage:
        space.store.remember_latest(used.stage.name, used.key)


def _pair_columns(space: Workspace, walked: _Walked, pairs: Any) -> dict[str, Any]:
    if is_table(pairs):
        table = arrow_table(pairs, "pairs")
        sources, targets = find_ends(table.column_names)
        places = [found[0] if len(found) == 1 else place for place, found in enumerate((sources, targets))]
        source, target = (table.column(place).to_pylist() for place in places)
    else:
        listed = [tuple(pair) for pair in (pairs.tolist() if isinstance(pairs, np.ndarray) else pairs)]
        if not all(len(pair) == 2 for pair in listed):
            raise UsageError("a pair is two nodes", "give M x 2 ids, or a table of source and target")
        source, target = [pair[0] for pair in listed], [pair[1] for pair in listed]
    found = space.pair_times(walked.step, list(map(str, source)), list(map(str, target)))
    ends = {"source": np.array(source), "target": np.array(target)}
    return {**ends, "hitting": found.there, "hitting_back": found.back, "commute": found.times}


def _sets(nodes: Any) -> dict[str, list[str]]:
    """Sets of ids by name; of nodes alone, the only set."""
    if isinstance(nodes, Mapping):
        return {str(name): texts_of(members) for name, members in nodes.items()}
    return {ONLY: texts_of(nodes)}
