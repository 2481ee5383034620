"""What one node hears from each of its neighbours, and how far away they are."""

import math
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError
from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.numerics.csr import row_of_entries

NEAR_MISSES_AMONG = 20_000


@dataclass(frozen=True)
class Neighbour:
    """One tie of a node i with a neighbour j: times both ways, r = c / (1/pi_i + 1/pi_j), and the weight j gets.

    Times are NaN where the walk does not reach the edge; the ratio is NaN too where pi is not known, and so are the
    parts of c = popularity - direct - indirect where the artifact has none. Without commute times all these are NaN.
    amount is the weight of the edge in the user's files.
    """

    id: str
    label: str | None
    mutual: bool
    hitting: float
    hitting_back: float
    commute: float
    ratio: float
    weight: float
    popularity: float = math.nan
    direct: float = math.nan
    indirect: float = math.nan
    amount: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """NaN has no place in JSON: null."""
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in vars(self).items()}


@dataclass(frozen=True)
class Neighbourhood:
    """A node and its neighbours in both directions, the heaviest first."""

    id: str
    label: str | None
    out: list[Neighbour]
    into: list[Neighbour]


def find_node(graph: Graph, name: str, where: str = "") -> int:
    """The node with exactly this id, which was named at some place."""
    ids = graph.ids()
    found = np.flatnonzero(ids == name)
    if len(found):
        return int(found[0])
    if len(ids) > NEAR_MISSES_AMONG:  # comparing with all of a large graph takes minutes
        candidates = list(islice((node for node in ids if node.startswith(name[:2])), NEAR_MISSES_AMONG))
    else:
        candidates = ids.tolist()
    stripped = [node for node in candidates if node.strip().casefold() == name.strip().casefold()]
    near = list(dict.fromkeys([*stripped, *get_close_matches(name, candidates, n=3)]))[:3]
    hint = f"did you mean {', '.join(near)}?" if near else f"ids look like {', '.join(map(repr, ids[:3].tolist()))}"
    raise DataError(f"{where}the graph has no node {shorten(name)} among its {len(ids):,}", hint)


def _no_times(edges: csr_array) -> CommuteTimes:
    """What a model without weights knows of the edges."""
    unknown: Any = np.full(edges.nnz, math.nan)
    names = ("hitting", "hitting_back", "commute", "weight_out", "weight_in")
    return CommuteTimes(source=row_of_entries(edges), target=edges.indices, **dict.fromkeys(names, unknown))


def _by_weight(row: Neighbour) -> tuple[Any, ...]:
    weight = -1.0 if math.isnan(row.weight) else row.weight
    commute = math.inf if math.isnan(row.commute) else row.commute
    return -weight, commute, -row.amount, row.id


def explain_node(graph: Graph, times: CommuteTimes | None, dilap: Dilap | None, node: int) -> Neighbourhood:
    """The out-neighbours of a node with `weight_out`, its in-neighbours with `weight_in`, each sorted by weight."""
    adjacency = graph.edges
    times = times or _no_times(adjacency)
    outgoing, incoming = np.flatnonzero(times.source == node), np.flatnonzero(times.target == node)
    out, into = times.target[outgoing], times.source[incoming]
    baseline = np.full(graph.node_count, np.nan)
    if dilap is not None:
        baseline[dilap.nodes] = 1 / dilap.perron
    ids, names = graph.ids(), [*graph.class_labels(), None]
    labels = [None] * graph.node_count if graph.labels is None else [names[label] for label in graph.labels.tolist()]

    parts = {name: getattr(times, name) for name in ("popularity", "direct", "indirect")}

    def ties(edges: np.ndarray, others: np.ndarray, back: np.ndarray, columns: tuple[np.ndarray, ...]) -> list[Any]:
        there, here, weight = columns
        mutual = np.isin(others, back)
        ratio = times.commute[edges] / (baseline[node] + baseline[others])
        rows = [
            Neighbour(
                id=str(ids[other]),
                label=labels[other],
                mutual=bool(mutual[place]),
                hitting=float(there[edge]),
                hitting_back=float(here[edge]),
                commute=float(times.commute[edge]),
                ratio=float(ratio[place]),
                **{name: math.nan if part is None else float(part[edge]) for name, part in parts.items()},
                weight=float(weight[edge]),
                amount=float(adjacency.data[edge]),
            )
            for place, (edge, other) in enumerate(zip(edges.tolist(), others.tolist(), strict=True))
        ]
        return sorted(rows, key=_by_weight)

    return Neighbourhood(
        id=str(ids[node]),
        label=labels[node],
        out=ties(outgoing, out, into, (times.hitting, times.hitting_back, times.weight_out)),
        into=ties(incoming, into, out, (times.hitting_back, times.hitting, times.weight_in)),
    )
