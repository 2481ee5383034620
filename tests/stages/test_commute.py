"""commute: times and weights on the edges of the original graph, through all solvers and proximities."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import spearmanr

from cgnn_cli.configs import CLOSENESS, CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.errors import NumericalError, UsageError
from cgnn_cli.graph import CommuteTimes, Dilap, Graph, Rewired
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.rewire import rewire
from tests.graphs import FAMILIES, absorbing_hitting, graph_of, random_edges
from tests.numerics.test_common_neighbours import dense_cosines

pytestmark = pytest.mark.filterwarnings("error")

EXACT, PI_ONLY = CommuteConfig(solver="exact"), CommuteConfig(solver="pi-only")
INCIDENCE, RANDOM_WALK = DilapConfig(form="incidence"), DilapConfig(form="random-walk")
BOTH_FORMS = pytest.mark.parametrize("form", [INCIDENCE, RANDOM_WALK], ids=["incidence", "random-walk"])


def walk_on(graph: Graph, form: DilapConfig = INCIDENCE) -> Dilap:
    return dilap(rewire(graph, RewireConfig()), form)


def best_of_rows(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.array([weights[rows == row].max() for row in np.unique(rows)])


def dense(values: np.ndarray, times: CommuteTimes, count: int) -> np.ndarray:
    matrix = np.full((count, count), np.nan)
    matrix[times.source, times.target] = values
    return matrix


@pytest.fixture(scope="module", params=[family for family in FAMILIES if family != "no edges"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return graph_of(25, FAMILIES[request.param](25))


@pytest.fixture(scope="module")
def walk(graph: Graph) -> Dilap:
    return walk_on(graph)


def test_edges_are_those_of_the_original_graph_without_self_loops() -> None:
    graph = graph_of(4, [(2, 0), (1, 1), (0, 3), (0, 1), (3, 3)])
    times = commute(graph, walk_on(graph), EXACT)
    assert list(zip(times.source.tolist(), times.target.tolist(), strict=True)) == [(0, 1), (0, 3), (2, 0)]
    assert times.summary["edges"] == 3
    assert (times.commute > 0).all()


PROXIMITIES = [
    *(CommuteConfig(solver="exact", proximity="exp", scale=scale) for scale in ("1", "250", "row-mean", "median")),
    *(CommuteConfig(solver="exact", proximity="ratio", scale=scale) for scale in ("0.1", "row-mean", "median")),
    *(CommuteConfig(solver="exact", proximity="inverse", scale=scale) for scale in ("1", "0.5")),
    CommuteConfig(solver="exact", proximity="none"),
    CommuteConfig(solver="exact", proximity="affinity"),
    CommuteConfig(solver="exact", proximity="neighbours"),
]
SUMMED = CommuteConfig(solver="series", steps=4, proximity="affinity")


def plain_weights(values: np.ndarray, rows: np.ndarray, config: CommuteConfig) -> np.ndarray:
    """Proximity by its definition in section 4 of the method, row by row in long double."""
    weights = np.ones(len(values), dtype=np.longdouble)
    positive = values[values > 0]
    if config.proximity in CLOSENESS:
        values = np.maximum(values, 0) + 0.05 * np.median(positive) if len(positive) else weights
    for row in np.unique(rows):
        mine = rows == row
        value = values[mine].astype(np.longdouble)
        if config.proximity == "inverse":
            weights[mine] = (value.min() / value) ** (1 / np.longdouble(config.scale))
        elif config.proximity in CLOSENESS:
            weights[mine] = value / value.max()
        elif config.proximity != "none":
            named = {"row-mean": value.mean(), "median": np.median(values)}
            scale = named[config.scale] if config.scale in named else np.longdouble(config.scale)
            weights[mine] = np.exp(-(value - value.min()) / scale)
    return weights


@pytest.mark.parametrize("config", [*PROXIMITIES, SUMMED], ids=lambda config: f"{config.proximity} {config.scale}")
def test_weights_follow_their_definition_in_both_directions(graph: Graph, walk: Dilap, config: CommuteConfig) -> None:
    times = commute(graph, walk, config)
    values = times.commute
    if config.proximity == "ratio":
        values = values / (1 / walk.perron[times.source] + 1 / walk.perron[times.target])
    elif config.proximity == "affinity":
        assert times.indirect is not None
        values = times.indirect
    elif config.proximity == "neighbours":
        values = dense_cosines(graph.edges.toarray())[times.source, times.target]
    for weights, rows in ((times.weight_out, times.source), (times.weight_in, times.target)):
        np.testing.assert_allclose(weights, plain_weights(values, rows, config), rtol=1e-10, atol=1e-300)
        np.testing.assert_array_equal(best_of_rows(weights, rows), 1)


def test_weight_in_normalises_over_in_neighbours() -> None:
    """0 and 7 both point at 5: for 7 it is the only out-neighbour, but for 5 the two compete."""
    graph = graph_of(12, [(0, 5), (7, 5), (0, 3), (0, 9), (9, 3)])
    times = commute(graph, walk_on(graph), CommuteConfig(solver="exact", proximity="inverse"))
    steps, out, back = (dense(values, times, 12) for values in (times.commute, times.weight_out, times.weight_in))
    assert out[7, 5] == out[9, 3] == 1
    near, far = sorted([steps[0, 5], steps[7, 5]])
    assert sorted([back[0, 5], back[7, 5]]) == [pytest.approx(near / far), 1]
    np.testing.assert_allclose(out[0, [3, 5, 9]], steps[0, [3, 5, 9]].min() / steps[0, [3, 5, 9]])
    assert near < far


def test_inverse_refuses_scores_that_are_not_positive() -> None:
    graph = graph_of(40, FAMILIES["hubs"](40))
    walk = walk_on(graph, RANDOM_WALK)
    scores = commute(graph, walk, CommuteConfig(rank=1))
    negative = int((scores.commute < 0).sum())
    assert scores.summary["negative_commute"] == negative > 0
    with pytest.raises(NumericalError, match=f"positive commute times, but {negative} edges"):
        commute(graph, walk, CommuteConfig(rank=1, proximity="inverse"))


def test_pi_only_with_ratio_is_refused() -> None:
    with pytest.raises(UsageError, match="same weight"):
        CommuteConfig(solver="pi-only", proximity="ratio")


@pytest.mark.parametrize("solver", ["svd", "sketch", "pi-only"])
def test_affinity_is_refused_where_the_parts_are_not_known(solver: str) -> None:
    with pytest.raises(UsageError, match=f"--solver {solver} does not tell") as refused:
        CommuteConfig(solver=solver, proximity="affinity")
    assert refused.value.hint == "use --solver exact or series"


def test_affinity_needs_two_steps(graph: Graph, walk: Dilap) -> None:
    with pytest.raises(UsageError, match="needs at least --steps 2, got 1"):
        CommuteConfig(solver="series", steps=1, proximity="affinity")
    loose = CommuteConfig(solver="series", tolerance=1.0)  # which no step at all may meet
    assert commute(graph, walk, loose).summary["steps"] < 2
    assert commute(graph, walk, replace(loose, proximity="affinity")).summary["steps"] == 2


@pytest.mark.parametrize("solver", ["svd", "exact", "series", "sketch", "pi-only"])
def test_neighbours_weigh_the_same_whatever_the_solver_and_the_walk(graph: Graph, solver: str) -> None:
    """But for edges outside the walk, which have no weight."""
    whole = commute(graph, walk_on(graph), CommuteConfig(solver="pi-only", proximity="neighbours"))
    for rewiring in (RewireConfig(method="escape"), RewireConfig(method="path", walk="symmetric")):
        walk = dilap(rewire(graph, rewiring), DilapConfig())
        times = commute(graph, walk, CommuteConfig(solver=solver, proximity="neighbours"))
        np.testing.assert_array_equal(times.weight_out, whole.weight_out)
        np.testing.assert_array_equal(times.weight_in, whole.weight_in)


def test_neighbours_outside_the_walk_have_no_weight() -> None:
    """A triangle, and a fourth node that it leads to."""
    graph = graph_of(4, [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3)])
    walk = dilap(rewire(graph, RewireConfig(method="none")), DilapConfig())
    times = commute(graph, walk, CommuteConfig(solver="pi-only", proximity="neighbours"))
    weights = dense(times.weight_out, times, 4)
    assert weights[0, 3] == weights[1, 3] == 0 and weights[0, 1] == weights[1, 2] == weights[2, 0] == 1


def test_neighbours_change_no_other_part_of_a_key() -> None:
    for solver in ("svd", "series", "pi-only"):
        plain = CommuteConfig(solver=solver).to_dict()
        found = CommuteConfig(solver=solver, proximity="neighbours", scale="7").to_dict()
        del plain["scale"]
        assert found == {**plain, "proximity": "neighbours"}


def test_affinity_has_no_scale_in_its_key() -> None:
    configs = [CommuteConfig(solver="exact", proximity="affinity", scale=scale) for scale in ("1", "row-mean", "7")]
    assert [config.to_dict() for config in configs] == [{"solver": "exact", "proximity": "affinity"}] * 3


def test_series_states_the_error_of_the_indirect_part_and_warns() -> None:
    """On a graph of so few edges all of them are checked, so the figures are those of the whole."""
    graph = graph_of(40, FAMILIES["sinks"](40))
    walk = walk_on(graph)
    truth = commute(graph, walk, EXACT).indirect
    assert truth is not None
    for steps in (2, 30):
        config = CommuteConfig(solver="series", steps=steps, proximity="affinity")
        found = commute(graph, walk, config)
        assert found.indirect is not None
        stated = found.summary["indirect_check"]
        assert stated["edges"] == stated["checked"] == len(truth)
        correlation = spearmanr(found.indirect, truth).statistic
        assert stated["spearman"] == pytest.approx(correlation, abs=1e-3)
        off = np.median(np.abs(found.indirect / truth - 1))
        assert stated["median_relative_error"] == pytest.approx(off, rel=0.01, abs=1e-4)
        warned = [text for text in found.summary.get("warnings", []) if "Spearman" in text]
        assert bool(warned) == (correlation < 0.9) == (steps == 2)
        if warned:
            assert f"correlation of {correlation:.2f}" in warned[0] and "use --steps 4, or --solver exact" in warned[0]
        plain = commute(graph, walk, CommuteConfig(solver="series", steps=steps)).summary
        assert plain["indirect_check"] == stated and not any("Spearman" in text for text in plain.get("warnings", []))


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "wide", ""])
def test_scales_that_mean_nothing_are_refused(scale: str) -> None:
    with pytest.raises(UsageError, match="--scale"):
        CommuteConfig(scale=scale)


@pytest.mark.parametrize("scale", ["row-mean", "median"])
def test_inverse_takes_only_numbers(scale: str) -> None:
    with pytest.raises(UsageError, match="inverse takes a number"):
        CommuteConfig(proximity="inverse", scale=scale)


@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("config", [CommuteConfig(), EXACT, PI_ONLY], ids=lambda config: config.solver)
def test_a_graph_without_edges_has_no_times(count: int, config: CommuteConfig) -> None:
    graph = graph_of(count, [(0, 0)])
    times = commute(graph, walk_on(graph), config)
    assert len(times.source) == len(times.commute) == len(times.weight_in) == 0
    assert times.summary["commute"] == times.summary["effective_neighbours_out"] == {}


def test_two_nodes() -> None:
    """Two nodes with self-loops: each step crosses with probability 1/2."""
    graph = graph_of(2, [(0, 1)])
    times = commute(graph, walk_on(graph), EXACT)
    np.testing.assert_allclose([times.hitting, times.hitting_back, times.commute], [[2], [2], [4]], rtol=1e-12)


def test_effective_neighbours_show_both_collapses() -> None:
    graph = graph_of(25, FAMILIES["hubs"](25))
    walk = walk_on(graph)
    equal = commute(graph, walk, CommuteConfig(solver="exact", proximity="none")).summary["effective_neighbours_out"]
    assert equal["mean"] == pytest.approx(equal["neighbours"])
    sharp = commute(graph, walk, CommuteConfig(solver="exact", scale="1e-9")).summary["effective_neighbours_out"]
    assert sharp["mean"] < 1.5 < sharp["neighbours"]


def test_renumbering_the_nodes_renumbers_the_times() -> None:
    graph = graph_of(30, random_edges(30, 3, seed=2))
    rewired = rewire(graph, RewireConfig())
    place = np.random.default_rng(0).permutation(30)
    moved = Graph(adjacency=canonical_csr(graph.adjacency[place][:, place]))
    moved_walk = Rewired(adjacency=canonical_csr(rewired.adjacency[place][:, place]), nodes=np.arange(30))
    config = CommuteConfig(solver="exact", scale="row-mean")
    first = commute(graph, dilap(rewired, DilapConfig()), config)
    second = commute(moved, dilap(moved_walk, DilapConfig()), config)
    for name in ("hitting", "hitting_back", "commute", "weight_out", "weight_in"):
        expected = dense(getattr(first, name), first, 30)[np.ix_(place, place)]
        np.testing.assert_allclose(dense(getattr(second, name), second, 30), expected, rtol=1e-10)


def test_order_of_the_edge_list_does_not_matter() -> None:
    edges = random_edges(30, 3, seed=3)
    graphs = [graph_of(30, listed) for listed in (edges, edges[::-1])]
    first, second = (commute(each, walk_on(each), CommuteConfig()) for each in graphs)
    for name, values in first.to_elements().items():
        np.testing.assert_array_equal(values, getattr(second, name))


@st.composite
def digraphs(draw: st.DrawFn) -> Graph:
    """Small digraphs with self-loops, ties and zero rows among the features, and sometimes weights."""
    count = draw(st.integers(1, 30))
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=90, unique=True))
    features = draw(st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=count, max_size=count))
    weights = draw(st.none() | st.lists(st.floats(0.1, 10), min_size=len(edges), max_size=len(edges)))
    return graph_of(count, edges, features=np.array(features, dtype=np.float64), weights=weights)


@settings(max_examples=80, deadline=None, database=None, derandomize=True)
@given(graph=digraphs(), proximity=st.sampled_from(PROXIMITIES))
def test_the_whole_chain_on_any_small_digraph(graph: Graph, proximity: CommuteConfig) -> None:
    walk = walk_on(graph)
    times = commute(graph, walk, proximity)
    for values in (times.hitting, times.hitting_back, times.commute, times.weight_out, times.weight_in):
        assert np.isfinite(values).all()
    expected = absorbing_hitting(walk.transition)
    limit = 1e-8
    np.testing.assert_allclose(times.hitting, expected[times.source, times.target], rtol=limit)
    np.testing.assert_allclose(times.hitting_back, expected[times.target, times.source], rtol=limit)
    returns = 1 / walk.perron
    assert (times.commute * (1 + limit) >= np.maximum(returns[times.source], returns[times.target])).all()

    both_ways = dense(times.commute, times, graph.node_count)
    mutual = ~np.isnan(both_ways) & ~np.isnan(both_ways.T)
    np.testing.assert_array_equal(both_ways[mutual], both_ways.T[mutual])

    for weights, rows in ((times.weight_out, times.source), (times.weight_in, times.target)):
        assert ((weights >= 0) & (weights <= 1)).all()
        np.testing.assert_array_equal(best_of_rows(weights, rows), 1)


def read_chameleon(folder: Path) -> Graph:
    edges = np.loadtxt(folder / "out1_graph_edges.txt", dtype=np.int64, skiprows=1, delimiter="\t")
    lines = (folder / "out1_node_feature_label.txt").read_text().splitlines()[1:]
    numbers, words = zip(*(line.split("\t")[:2] for line in lines), strict=True)
    features = np.zeros((len(lines), words[0].count(",") + 1))
    for number, row in zip(numbers, words, strict=True):
        features[int(number)] = np.fromstring(row, sep=",")
    adjacency = canonical_csr(csr_array((np.ones(len(edges)), edges.T), shape=(len(lines), len(lines))))
    return Graph(adjacency=adjacency, features=features)


@pytest.mark.realdata
def test_chameleon_reaches_the_measured_figures(real_data: Path) -> None:
    graph = read_chameleon(real_data / "chameleon")
    assert (graph.node_count, int(np.sum(~np.asarray(graph.features).any(axis=1)))) == (2277, 233)
    walk = walk_on(graph)
    assert walk.perron.min() * graph.node_count == pytest.approx(6e-9, rel=0.15)

    exact = commute(graph, walk, EXACT)
    assert np.median(exact.commute) == pytest.approx(1.8e4, rel=0.02)
    baseline = 1 / walk.perron[exact.source] + 1 / walk.perron[exact.target]
    assert spearmanr(exact.commute, baseline).statistic == pytest.approx(0.9996, abs=1e-4)
    assert exact.summary["ratio"]["minimum"] >= 0.5
    assert np.mean(exact.weight_out < 0.01) == pytest.approx(0.93, abs=0.015)

    truncated = commute(graph, walk, CommuteConfig())
    assert np.median(truncated.commute) == pytest.approx(8e-8, rel=0.05)
    assert 0.80 <= np.mean(truncated.weight_out > 0.99) <= 0.90
