"""Expected steps to sets of nodes, which of them is met first, and the steps from a set to every node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgnn_cli.analysis.explanation import find_node
from cgnn_cli.datasets.files.node_sets import ONLY, Member
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Dilap, Graph
from cgnn_cli.numerics.fundamental import Fundamental, times_from
from cgnn_cli.numerics.set_times import set_times

DOUBT = 1e-6  # relative error of steps that is told
Sets = Mapping[str, np.ndarray]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SetSteps:
    """Steps between sets and every node of a graph, a column for each set.

    steps: NaN from nodes outside the walk, infinite to what it never reaches. error: bounds of the relative error of
    each column, or standard errors of every entry. first: the probability that a set is met before the others.
    """

    ids: np.ndarray
    names: tuple[str, ...]
    steps: np.ndarray
    error: np.ndarray
    first: np.ndarray | None
    members: tuple[np.ndarray, ...]
    summary: dict[str, Any]
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, Iterable[Any]]:
        """A table of all nodes: id, steps and what is known beside them, with several sets for each of them by name."""
        found: dict[str, Iterable[Any]] = {"id": self.ids}
        several = len(self.names) > 1
        for place, name in enumerate(self.names):
            end = f"_{name}" if several else ""
            found[f"steps{end}"] = self.steps[:, place]
            if self.error.ndim == 2:
                found[f"error{end}"] = self.error[:, place]
            if self.first is not None:
                found[f"first{end}"] = self.first[:, place]
        if self.first is not None:
            best = np.where(self.first.max(axis=1) > 0, self.first.argmax(axis=1), -1)
            found["first"] = np.array([*self.names, ""], dtype=object)[best]
        return found

    def nearest(self, count: int) -> np.ndarray:
        """At most so many nodes outside of all sets, those of the fewest steps first."""
        least = np.where(np.isnan(self.steps), np.inf, self.steps).min(axis=1)
        outside = np.ones(len(least), dtype=bool)
        outside[np.concatenate(self.members)] = False
        rows = np.flatnonzero(outside)
        return rows[np.argsort(least[rows], kind="stable")[:count]]


def members_in(words: Sequence[str], known: Set[str]) -> list[Member]:
    """The nodes that words name: NODE or A,B for the set ONLY, NAME=A,B for another; a word that is an id is a node."""
    members = []
    for word in words:
        name, given, ids = word.partition("=") if word not in known else ("", "", word)
        if not given:
            name, ids = ONLY, word
        nodes = [word] if word in known else ids.split(",")
        if not (name and all(nodes)):
            message = f"{word!r} names a set without a name" if not name else f"{word!r} names an empty set or node"
            raise UsageError(message, "write NODE, A,B or NAME=A,B, and ids with commas or = in a file")
        members += [Member(name, node) for node in nodes]
    return members


def named_sets(graph: Graph, sets: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """The numbers of the nodes of sets that are given by ids; no set is empty."""
    if not sets or not all(map(len, sets.values())):
        raise UsageError("a set of nodes is empty", "name at least one node")
    return numbered_sets(graph, (Member(name, node) for name, nodes in sets.items() for node in nodes))


def numbered_sets(graph: Graph, members: Iterable[Member]) -> dict[str, np.ndarray]:
    """The numbers of the nodes of each set, in their order; a node is in one set only."""
    number = {node: place for place, node in enumerate(graph.ids().tolist())}
    sets: dict[str, dict[int, None]] = {}
    home: dict[int, str] = {}
    for member in members:
        place = number.get(member.node)
        if place is None:
            place = find_node(graph, member.node, member.where)
        if home.setdefault(place, member.set_name) != member.set_name:
            both = f"{home[place]!r} and {member.set_name!r}"
            raise DataError(f"{member.where}the node {member.node!r} is in two sets, {both}", "leave it in one of them")
        sets.setdefault(member.set_name, {})[place] = None
    return {name: np.array(sorted(places)) for name, places in sets.items()}


def steps_to(graph: Graph, dilap: Dilap, sets: Sets, *, jobs: int = 1, progress: Progress | None = None) -> SetSteps:
    """Expected steps from every node to each set, and, of several, the probabilities that it is met first."""
    inside, notes = _states(graph, dilap, sets)
    for name, states in inside.items():
        if len(states) == len(dilap.nodes):
            raise DataError(f"the set {name!r} has all nodes of the walk, so every step is in it", "name fewer nodes")
    reached = [name for name in sets if len(inside[name])]
    notes += [f"the set {name!r} is outside the walk, which never reaches it" for name in sets if name not in reached]
    count, places = graph.node_count, np.array([list(sets).index(name) for name in reached], dtype=np.int64)
    steps, error = np.full((count, len(sets)), np.nan), np.zeros(len(sets))
    first = np.full((count, len(sets)), np.nan) if len(sets) > 1 else None
    steps[dilap.nodes] = np.inf
    if first is not None:
        first[dilap.nodes] = 0
    if reached:
        found = set_times(dilap.walk(), dilap.perron, [inside[name] for name in reached], jobs=jobs, progress=progress)
        steps[np.ix_(dilap.nodes, places)], error[places] = found.steps, found.error
        if first is not None:
            first[np.ix_(dilap.nodes, places)] = 1 if found.first is None else found.first
    for place, nodes in enumerate(sets.values()):
        steps[nodes, place] = 0
        if first is not None:
            first[nodes], first[nodes, place] = 0, 1
    figures = [
        {**_figures(name, sets, inside, steps[:, place]), "reached": name in reached, "error": float(error[place])}
        for place, name in enumerate(sets)
    ]
    summary: dict[str, Any] = {"nodes": count, "outside_walk": count - len(dilap.nodes), "sets": figures}
    if first is not None:
        summary["first_error"] = found.first_error if reached else 0.0
    if (worst := float(error.max())) > DOUBT:
        notes.append(f"some steps may be wrong by a relative {worst:.1e}: the walk is nearly trapped somewhere")
    return SetSteps(graph.ids(), tuple(sets), steps, error, first, tuple(sets.values()), summary, tuple(notes))


def steps_from(graph: Graph, dilap: Dilap, sets: Sets, known: Fundamental) -> SetSteps:
    """Expected steps to every node from a node of each set, all of its nodes being as likely to be the start."""
    inside, notes = _states(graph, dilap, sets)
    if empty := [name for name in sets if not len(inside[name])]:
        raise DataError(f"the set {empty[0]!r} is outside the walk, which starts from none of its nodes")
    found = times_from(dilap.walk(), dilap.perron, list(inside.values()), known)
    steps, error = np.full((2, graph.node_count, len(sets)), np.inf)
    error[:] = 0
    steps[dilap.nodes], error[dilap.nodes] = found.steps, found.error
    figures = []
    for place, name in enumerate(sets):
        relative = np.divide(error[:, place], steps[:, place], out=np.zeros(len(error)), where=steps[:, place] > 0)
        quantiles = {"median_relative_error": np.median(relative), "largest_relative_error": relative.max()}
        figures.append(
            {**_figures(name, sets, inside, steps[:, place]), **{key: float(value) for key, value in quantiles.items()}}
        )
    outside = graph.node_count - len(dilap.nodes)
    summary = {"nodes": graph.node_count, "outside_walk": outside, "sets": figures, "probes": known.probes}
    return SetSteps(graph.ids(), tuple(sets), steps, error, None, tuple(sets.values()), summary, tuple(notes))


def _states(graph: Graph, dilap: Dilap, sets: Sets) -> tuple[dict[str, np.ndarray], list[str]]:
    """The states of each set, and notes on the nodes that have none."""
    state = dilap.state_of_nodes(graph.node_count)
    found = {name: state[nodes][state[nodes] >= 0] for name, nodes in sets.items()}
    partly = {name: len(sets[name]) - len(states) for name, states in found.items() if len(states)}
    notes = [
        f"the set {name!r} has {missing:,} of its {len(sets[name]):,} nodes outside the walk"
        for name, missing in partly.items()
        if missing
    ]
    return found, notes


def _figures(name: str, sets: Sets, inside: Sets, steps: np.ndarray) -> dict[str, Any]:
    """What a summary says of a set; null where no node outside of it has a finite time."""
    others = np.ones(len(steps), dtype=bool)
    others[sets[name]] = False
    known = steps[others & np.isfinite(steps)]
    shown = {"mean": known.mean, "median": lambda: np.median(known), "largest": known.max}
    figures = {key: float(value()) if len(known) else None for key, value in shown.items()}
    return {"set": name, "nodes": len(sets[name]), "in_walk": len(inside[name]), **figures}
