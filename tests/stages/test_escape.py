"""rewire --method escape and what dilap makes of it, against dense matrices that know nothing of components."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from cgnn_cli.api import graph_from_arrays, load_dataset
from cgnn_cli.configs import CommuteConfig, DilapConfig, Facts, RewireConfig, SourceConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.graph import Dilap, Graph, Rewired
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.verify import spearman
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, absorbing_hitting, directed_cycle, graph_of, gth_perron, random_edges
from tests.numerics.test_properties import digraphs

pytestmark = pytest.mark.filterwarnings("error")
ESCAPE = RewireConfig(method="escape")
FAR = 1e9


def looped(dense: np.ndarray) -> np.ndarray:
    """The graph with one self-loop a node: a present one is kept, an added one weighs the mean out-weight."""
    found = dense.copy()
    for node, row in enumerate(dense):
        if row[node] == 0:
            found[node, node] = row[row > 0].mean() if row.any() else 1.0
    return found


def reaching(dense: np.ndarray) -> np.ndarray:
    """Whether there is a way from i to j, by squaring: for tests alone."""
    way = (dense > 0) | np.eye(len(dense), dtype=bool)
    for _ in range(len(dense).bit_length() + 1):
        way = (way.astype(float) @ way) > 0
    return way


def dense_escape(dense: np.ndarray, escape: float, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """P = (1 - v) S + v u^T and v: a node is in a terminal component where all that it reaches reaches it back."""
    count, way = len(dense), reaching(dense)
    jump = np.full(count, floor)
    for node in range(count):
        if way[:, node][way[node]].all():
            jump[node] = 0.5 if way[node].sum() == 1 else escape
    if way.all():
        jump[:] = 0
    loops = looped(dense)
    steps = loops / loops.sum(axis=1, keepdims=True)
    return (1 - jump)[:, None] * steps + jump[:, None] / count, jump


def weighted(family: str) -> Graph:
    edges = [(1, 1), *FAMILIES[family](25)]
    return graph_of(25, edges, weights=np.random.default_rng(0).uniform(0.5, 4, len(edges)))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("walk", ["directed", "symmetric"])
@pytest.mark.parametrize(("escape", "floor"), [(0.1, 1e-3), (0.3, 0.0)])
def test_the_walk_is_the_dense_one(family: str, walk: Any, escape: float, floor: float) -> None:
    graph = weighted(family)
    dense = graph.adjacency.toarray()
    dense = dense + dense.T if walk == "symmetric" else dense
    rewired = rewire(graph, RewireConfig(method="escape", walk=walk, escape=escape, escape_floor=floor))
    expected, jump = dense_escape(dense, escape, floor)
    assert rewired.jump is not None and rewired.order is None and rewired.gamma is None
    np.testing.assert_array_equal(rewired.jump, jump)
    np.testing.assert_allclose(rewired.adjacency.toarray(), looped(dense), rtol=1e-14)
    made = dilap(rewired)
    np.testing.assert_allclose(made.walk().to_dense(), expected, rtol=1e-13)
    np.testing.assert_allclose(made.perron, gth_perron(csr_array(expected)), rtol=1e-9)
    summary, ends = rewired.summary, reaching(dense)
    terminal = [node for node in range(25) if ends[:, node][ends[node]].all()]
    assert summary["terminal_components"] == len({tuple(np.flatnonzero(ends[node])) for node in terminal})
    assert summary["sinks"] == sum(ends[node].sum() == 1 for node in terminal)
    assert (summary["added_edges"], summary["components"]) == (0, 1)
    assert bool(summary["notes"]) == (not ends.all())
    assert made.summary["jump_rate"] == pytest.approx(made.perron @ jump, rel=1e-12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(digraphs(), st.sampled_from(["directed", "symmetric"]), st.sampled_from([0.0, 1e-4, 1e-2]))
def test_on_any_digraph_the_walk_is_stochastic_irreducible_and_positive(graph: Graph, walk: Any, floor: float) -> None:
    made = dilap(rewire(graph, RewireConfig(method="escape", walk=walk, escape_floor=floor)))
    dense = made.walk().to_dense()
    np.testing.assert_allclose(dense.sum(axis=1), 1, rtol=1e-14)
    assert reaching(dense).all() and made.perron.min() > 0
    np.testing.assert_allclose(made.perron @ dense, made.perron, rtol=1e-10)
    base = graph.adjacency.toarray()
    expected = dense_escape(base + base.T if walk == "symmetric" else base, 0.1, floor)[0]
    np.testing.assert_allclose(dense, expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["incidence", "random-walk"])
def test_both_forms_of_the_dilap(form: Any) -> None:
    made = dilap(rewire(weighted("sinks"), ESCAPE), DilapConfig(form=form))
    dense = made.walk().to_dense()
    moves = dense - np.diag(np.diag(dense))
    undirected = np.diag((moves + moves.T).sum(axis=1)) - moves - moves.T
    expected = undirected if form == "incidence" else np.eye(25) - dense
    np.testing.assert_allclose(made.laplacian_operator() @ np.eye(25), expected, atol=1e-13)
    assert made.summary["symmetric"] is (form == "incidence")
    rank = 24
    times = commute(weighted("sinks"), made, CommuteConfig(rank=rank))
    inverse, root = np.linalg.pinv(expected), np.sqrt(made.perron)
    scores = np.diag(inverse) / made.perron - inverse / np.outer(root, root)
    limit = 1e-8 * np.abs(scores).max()
    np.testing.assert_allclose(times.hitting, scores[times.source, times.target], rtol=1e-6, atol=limit)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["directed", "symmetric"]))
def test_on_a_strongly_connected_graph_p_is_s_to_the_last_bit(count: int, seed: int, weigh: bool, walk: Any) -> None:
    rng = np.random.default_rng(seed)
    around = rng.permutation(count)
    edges = {(int(i), int(j)) for i, j in zip(around, np.roll(around, 1), strict=True)} | set(random_edges(count, 1, 0))
    ordered = sorted(edges)
    graph = graph_of(count, ordered, weights=rng.uniform(1e-3, 1e3, len(ordered)) if weigh else None)
    rewired = rewire(graph, RewireConfig(method="escape", walk=walk))
    assert rewired.jump is not None and not rewired.jump.any() and rewired.summary["notes"] == []
    made, plain = dilap(rewired), transition_matrix(rewired.adjacency)
    assert made.jump is None and made.form is None and made.summary["jump_rate"] == 0
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(made.transition, part), getattr(plain, part))
    assert (rewired.adjacency.diagonal() > 0).all()


def test_self_loops_make_all_times_longer_by_the_factor_that_is_told() -> None:
    """Without them: the same walk, given that it does not take one."""
    made = dilap(rewire(weighted("sinks"), ESCAPE))
    dense, stay = made.walk().to_dense(), made.transition.diagonal()
    bare = (dense - np.diag(stay)) / (1 - stay)[:, None]
    with_loops, without = (hitting + hitting.T for hitting in map(absorbing_hitting, map(csr_array, (dense, bare))))
    off = ~np.eye(25, dtype=bool)
    factor = made.summary["self_loop_factor"]
    assert factor > 1.1
    np.testing.assert_allclose(with_loops[off], factor * without[off], rtol=1e-9)
    plain = dilap(Rewired(adjacency=directed_cycle(5), nodes=np.arange(5)))
    assert plain.summary["self_loop_factor"] == 1 and "jump_rate" not in plain.summary
    assert dilap(rewire(graph_of(1, []), ESCAPE)).summary["self_loop_factor"] is None


def test_auto_is_path_with_features_of_the_graphs_own_and_else_escape() -> None:
    assert RewireConfig().method == "auto"
    assert RewireConfig().resolved(Facts("own")) == RewireConfig(method="path")
    for source in ("structural", "none"):
        assert RewireConfig(escape=0.2).resolved(Facts(source)) == RewireConfig(method="escape", escape=0.2)
    assert RewireConfig(method="none").resolved(Facts("structural")).method == "none"
    own = graph_of(6, [(0, 1), (1, 2)])
    bare = Graph(adjacency=own.adjacency)
    structural = Graph(adjacency=own.adjacency, features=own.features, summary={"feature_source": "structural"})
    assert rewire(own).order is not None and rewire(own).jump is None
    for graph in (bare, structural):
        np.testing.assert_array_equal(rewire(graph).jump, rewire(graph, ESCAPE).jump)
        assert rewire(graph).order is None


def test_its_options_are_part_of_its_own_key_only() -> None:
    assert ESCAPE.to_dict() == {"method": "escape", "walk": "directed", "escape": 0.1, "escape_floor": 1e-4}
    for config in (RewireConfig(method="path"), RewireConfig(method="teleport"), RewireConfig(method="none")):
        assert replace(config, escape=0.3, escape_floor=0.0).to_dict() == config.to_dict()
    given = RewireConfig(method="escape", escape=0.3, escape_floor=0.0)
    assert RewireConfig.from_dict(given.to_dict()) == given


@pytest.mark.parametrize(("escape", "floor"), [(0.0, 0.0), (1.0, 0.0), (0.1, -1e-3), (0.1, 1.0)])
def test_chances_lie_between_0_and_1(escape: float, floor: float) -> None:
    with pytest.raises(UsageError, match="--escape"):
        RewireConfig(method="escape", escape=escape, escape_floor=floor)


def test_the_chances_survive_the_artifact() -> None:
    rewired = rewire(weighted("sinks"), ESCAPE)
    again = Rewired.from_elements(rewired.to_elements(), rewired.summary)
    np.testing.assert_array_equal(dilap(again).walk().to_dense(), dilap(rewired).walk().to_dense())
    assert "jump" not in rewire(weighted("sinks"), RewireConfig(method="path")).to_elements()


# --- times that can be believed --------------------------------------------------------------------------------------


def made_graph(sinks: int, seed: int, count: int = 20_000, sources: int = 2_000) -> Graph:
    """A core with hubs, nodes without in-edges that point into it, and nodes without out-edges that it points at."""
    rng = np.random.default_rng([seed, sinks])
    core = count - sources - sinks
    begin = rng.integers(0, core, 5 * core)
    end = np.minimum((core * rng.random(5 * core) ** 2).astype(np.int64), core - 1)
    into = rng.integers(0, core, 2 * sources)
    out = rng.integers(0, core, sinks)
    start = np.concatenate([begin, np.repeat(np.arange(core, core + sources), 2), out])
    stop = np.concatenate([end, into, np.arange(core + sources, count)])
    adjacency = canonical_csr(csr_array((np.ones(len(start)), (start, stop)), shape=(count, count)))
    adjacency.data[:] = 1
    return Graph(adjacency=adjacency)


def worst_edges(graph: Graph, made: Dilap, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Those with the least visited ends."""
    source = np.repeat(np.arange(graph.node_count), np.diff(graph.edges.indptr))
    rarest = np.minimum(made.perron[source], made.perron[graph.edges.indices])
    chosen = np.argsort(rarest, kind="stable")[:most]
    return source[chosen], graph.edges.indices[chosen]


@pytest.mark.parametrize("sinks", [0, 1, 10, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_no_time_on_a_made_graph_exceeds_1e9(sinks: int, seed: int) -> None:
    """By a bound of all hitting times, N / min v, as each step lands on a node with the chance v / N; and by times."""
    graph = made_graph(sinks, seed)
    rewired = rewire(graph)
    assert rewired.jump is not None and rewired.summary["sinks"] >= sinks
    assert 2 * graph.node_count / rewired.jump.min() < FAR
    made = dilap(rewired)
    source, target = worst_edges(graph, made, 6)
    found = pair_times(made.walk(), made.perron, source, target)
    assert 0 < found.times.max() < FAR and found.residual < 1e-3
    times = commute(graph, made, CommuteConfig(solver="series", proximity="none"))
    assert times.commute.max() < FAR
    assert times.summary["edges_beyond_1e9"] == 0 and "warnings" not in times.summary


REAL = {"chameleon": 0.94, "am-photo": 0.99, "cora-ml": 0.75, "squirrel": 0.99, "citeseer": 0.6}


@pytest.mark.realdata
@pytest.mark.parametrize("name", REAL)
def test_the_order_of_the_times_is_kept_and_none_is_absurd(name: str, real_data: Path, tmp_path: Path) -> None:
    """Against the walk on the largest strongly connected component as it is, over the edges inside it."""
    graph = load_dataset(name, source=SourceConfig(mirror=str(real_data), data=str(tmp_path)))
    config = CommuteConfig(solver="series", steps=3, proximity="none")
    alone = commute(graph, dilap(rewire(graph, RewireConfig(method="none"))), config).commute
    times = commute(graph, dilap(rewire(graph, ESCAPE)), config)
    inside = np.isfinite(alone)
    kept = spearman(alone[inside], times.commute[inside])
    assert kept is not None and kept >= REAL[name]
    assert times.commute.max() <= FAR and times.summary["edges_beyond_1e9"] == 0


def test_graphs_made_in_memory_say_where_their_features_come_from() -> None:
    dense = weighted("sinks").adjacency
    assert graph_from_arrays(dense).feature_source == "none" and rewire(graph_from_arrays(dense)).jump is not None
    own = graph_from_arrays(dense, np.eye(25))
    assert own.feature_source == "own" and rewire(own).order is not None
