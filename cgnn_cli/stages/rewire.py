"""rewire: make the walk irreducible without flooding the graph with edges.

`path` (the paper): with the anchor a = mean feature row and w_i = cos(a, x_i), join nodes that are consecutive in the
order of w in both directions and put exactly one self-loop on every node. At most 2(N-1) + N new entries. A graph
without features has the columns of `--encoding structural` in their place.
`none`: the largest strongly connected component as it is.
`teleport` (the paper's PPR variant): the graph as it is, with jumps to any node that `dilap` adds to the walk.
`escape`: jumps with a chance of each node, large only where the walk is trapped. With S the walk on the graph with one
self-loop a node, and u uniform,

    P = (1 - v) S + v u^T,   v = 1/2 at sinks, --escape in other terminal components, --escape-floor elsewhere,

and v = 0 where the graph is strongly connected. The floor bounds all hitting times: every step lands on a node with a
chance of floor / N at least.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from cgnn_cli import scratch
from cgnn_cli.configs import Facts, RewireConfig
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph, Rewired
from cgnn_cli.numerics.csr import (
    blocks_of_rows,
    by_rows,
    canonical_csr,
    diagonal_rows,
    ones_on,
    row_of_entries,
    rows_of,
    self_loops,
    strong_components,
    transposed,
)
from cgnn_cli.operators.structural import structural_features

COSINE_DECIMALS = 12
SINK_JUMP = 0.5
GROUP = 64  # rows of features


def rewire(graph: Graph, config: RewireConfig | None = None) -> Rewired:
    """The graph that is walked, strongly connected."""
    config = (config or RewireConfig()).resolved(Facts(graph.feature_source))
    base = graph.adjacency
    with np.errstate(over="ignore"):  # graphs of an older import may have weights up to 1.8e308
        if not np.isfinite(8 * base.data.sum()):
            message = "the edge weights of this graph sum to more than a float64 holds"
            raise DataError(message, "import it again with smaller weights")
    if config.walk == "symmetric":
        base = by_rows(lambda _, there, back: canonical_csr(there + back), base, transposed(base))
    if config.method == "none":
        return _largest_component(base)
    if config.method == "teleport":
        return _teleporting(base, config.gamma)
    # The mean weight of each node's out-edges; 1 for a node without any.
    counts, totals = np.diff(base.indptr), np.asarray(base.sum(axis=1)).ravel()
    mean_weight = np.where(counts > 0, totals / np.maximum(counts, 1), 1.0)
    if config.method == "escape":
        return _escaping(base, mean_weight, config)
    order, notes = similarity_order(structural_features(graph.adjacency) if graph.features is None else graph.features)
    added_weight = mean_weight if graph.is_weighted else np.ones(graph.node_count)
    adjacency = join_path(base, order, added_weight, symmetric=config.walk == "symmetric")
    return Rewired(
        adjacency=adjacency,
        nodes=np.arange(graph.node_count, dtype=np.int64),
        order=order,
        summary={**_density(base, adjacency), "components": 1, "notes": notes},  # the path joins all nodes both ways
    )


def similarity_order(features: np.ndarray | csr_array) -> tuple[np.ndarray, list[str]]:
    """Nodes sorted by (cosine to the mean row, node number).

    The cosine is rounded to 12 decimals, so that ties, which are common, do not depend on the order of summation.
    """
    blocks = _blocks_of_features(features)
    # Sums over the rows go on from block to block, in float64: the mean of float32 features would be summed in float32.
    total, norms = None, np.empty(features.shape[0])
    for block in blocks:
        rows = _in_float64(features, block)
        norms[block] = _norms(rows)
        total = _sum_of_rows(rows, total, features.shape[0])
    assert total is not None
    anchor = total / features.shape[0] if isinstance(features, np.ndarray) else total
    scale = norms * np.linalg.norm(anchor)
    defined = scale > 0
    cosine = np.zeros(len(norms))
    for block in blocks:
        cosine[block] = _in_float64(features, block) @ anchor
    cosine = np.divide(cosine, scale, out=np.zeros(len(norms)), where=defined)
    cosine = np.round(cosine, COSINE_DECIMALS) + 0.0  # -0.0 and 0.0 are one value
    zero_rows = int((~defined).sum())
    notes = [f"{zero_rows:,} nodes have all-zero features; their similarity counts as 0"] if zero_rows else []
    return np.argsort(cosine, kind="stable").astype(np.int64), notes


def _blocks_of_features(features: np.ndarray | csr_array) -> list[slice]:
    """Ranges of rows; of dense ones so many that they begin where BLAS begins a group of rows."""
    if not isinstance(features, np.ndarray):
        return blocks_of_rows(features)
    rows = max(scratch.block_entries() // max(features.shape[1], 1) // GROUP, 1) * GROUP
    return [slice(start, min(start + rows, len(features))) for start in range(0, len(features), rows)]


def _in_float64(features: np.ndarray | csr_array, block: slice) -> np.ndarray | csr_array:
    if isinstance(features, np.ndarray):
        return features[block].astype(np.float64)
    return csr_array(rows_of(features, block), dtype=np.float64)


def _norms(rows: np.ndarray | csr_array) -> np.ndarray:
    if isinstance(rows, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())


def _sum_of_rows(rows: np.ndarray | csr_array, before: np.ndarray | None, count: int) -> np.ndarray:
    """The sum of rows, added one after another to what was summed before; of sparse ones in shares of their count."""
    if isinstance(rows, np.ndarray):
        return np.asarray((rows if before is None else np.vstack([before, rows])).sum(axis=0))
    shares = rows * (1 / count)
    whole = shares if before is None else vstack([csr_array(before[None]), shares], format="csr")
    return np.asarray(whole.sum(axis=0)).ravel()


def join_path(base: csr_array, order: np.ndarray, added_weight: np.ndarray, *, symmetric: bool) -> csr_array:
    """The base graph with a two-way path along `order` and one self-loop a node; an existing edge counts once."""
    count = base.shape[0]
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)

    def steps(rows: slice) -> csr_array:
        nodes = np.arange(rows.start, rows.stop)
        before, after = nodes[place[rows] > 0], nodes[place[rows] < count - 1]
        source = np.concatenate([before, after, nodes])
        target = np.concatenate([order[place[before] - 1], order[place[after] + 1], nodes])
        weight = added_weight[source]
        if symmetric:
            weight = (weight + added_weight[target]) / 2
        return csr_array((weight, (source - rows.start, target)), shape=(len(nodes), count))

    return _joined(base, steps)


def _joined(base: csr_array, added: Callable[[slice], csr_array]) -> csr_array:
    """The base graph with the added entries of each range of rows, where it has none."""

    def joined(rows: slice, block: csr_array) -> csr_array:
        more = canonical_csr(added(rows))
        # They cancel exactly where an edge exists, so that its weight keeps every digit.
        return canonical_csr(block + (more - more.multiply(ones_on(block))))

    return by_rows(joined, base)


def _largest_component(base: csr_array) -> Rewired:
    """The walk on the largest strongly connected component (the first of several equal ones)."""
    count, component = strong_components(base)
    sizes = np.bincount(component)
    first_node = np.full(len(sizes), base.shape[0])
    np.minimum.at(first_node, component, np.arange(base.shape[0]))
    largest = min(range(len(sizes)), key=lambda label: (-sizes[label], first_node[label]))
    nodes = np.flatnonzero(component == largest).astype(np.int64)
    if len(nodes) == 1 < base.shape[0] or base.nnz == 0:
        raise DataError(
            "no two nodes of this graph reach each other both ways, so there is no walk without rewiring",
            "use --method path or escape",
        )
    inside = component == largest
    adjacency = by_rows(lambda rows, block: canonical_csr(block[inside[rows]][:, nodes]), base)
    note = f"the walk covers {len(nodes):,} of {base.shape[0]:,} nodes; edges outside get no value"
    notes = [note] if len(nodes) < base.shape[0] else []
    return Rewired(
        adjacency=adjacency,
        nodes=nodes,
        summary={**_density(base, adjacency), "components": 1, "original_components": count, "notes": notes},
    )


def _teleporting(base: csr_array, gamma: float) -> Rewired:
    """The graph itself, and the share of steps along its edges."""
    sinks = int((np.diff(base.indptr) == 0).sum())
    notes = [f"{sinks:,} nodes have no way out; from there every step jumps"] if sinks else []
    return Rewired(
        adjacency=base,
        nodes=np.arange(base.shape[0], dtype=np.int64),
        gamma=np.array([gamma]),
        summary={**_density(base, base), "components": 1, "gamma": gamma, "notes": notes},
    )


def _escaping(base: csr_array, mean_weight: np.ndarray, config: RewireConfig) -> Rewired:
    """The graph with a self-loop on every node, and the chance of each to jump."""
    count, component = strong_components(base)
    is_terminal, sizes = np.ones(count, dtype=bool), np.bincount(component)
    for rows in blocks_of_rows(base):
        block = rows_of(base, rows)
        leaving = component[rows][row_of_entries(block)]
        is_terminal[leaving[leaving != component[block.indices]]] = False
    trapped, is_sink = is_terminal[component], (is_terminal & (sizes == 1))[component]
    jump = np.where(is_sink, SINK_JUMP, np.where(trapped, config.escape, config.escape_floor))
    if count == 1:
        jump = np.zeros_like(jump)
    adjacency = _joined(base, lambda rows: diagonal_rows(mean_weight[rows], rows.start, base.shape[1]))
    terminal, sinks = int(is_terminal.sum()), int(is_sink.sum())
    ends = f"{terminal:,} component{'s' * (terminal > 1)} without a way out (single nodes: {sinks:,})"
    return Rewired(
        adjacency=adjacency,
        nodes=np.arange(base.shape[0], dtype=np.int64),
        jump=jump,
        summary={
            **_density(base, adjacency),
            "components": 1,
            "original_components": count,
            "terminal_components": terminal,
            "sinks": sinks,
            "notes": [f"the walk would be trapped in {ends}, and jumps from there"] if count > 1 else [],
        },
    )


def _density(before: csr_array, after: csr_array) -> dict[str, Any]:
    """How many entries the rewiring added, without and with self-loops."""
    loops_before, loops_after = self_loops(before), self_loops(after)
    edges_before, edges_after = before.nnz - loops_before, after.nnz - loops_after
    return {
        "nodes": int(after.shape[0]),
        "edges": edges_after,
        "self_loops": loops_after,
        "added_edges": edges_after - edges_before,
        "density_change": (edges_after - edges_before) / max(edges_before, 1),
        "density_change_with_self_loops": (after.nnz - before.nnz) / max(before.nnz, 1),
    }
