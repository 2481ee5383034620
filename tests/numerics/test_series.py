"""The series against dense powers, and its promises: any blocks, any processes, any interruption, the same bits."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from cgnn_cli.configs import RewireConfig
from cgnn_cli.errors import StoppedEarly
from cgnn_cli.numerics import masked, powers, series
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.series import Series, plan_series, series_times
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.watch import Snapshot, Watch
from tests.graphs import absorbing_hitting, all_pairs, directed_cycle, graph_of, gth_perron, random_edges, sparse

PLENTY = 1 << 30
Arrays = tuple[np.ndarray, np.ndarray]


def random_walk(count: int, seed: int, *, jumping: bool = False, degree: float = 3.0) -> Walk:
    """A random digraph on a cycle, with self-loops, and a hub where there is room; with jumps from every state."""
    generator = np.random.default_rng(seed)
    chosen = generator.random((count, count)) < degree / count
    chosen |= np.roll(np.eye(count, dtype=bool), 1, axis=1)
    if count > 4:
        chosen[0], chosen[:, 0] = True, True
    transition = transition_matrix(sparse(chosen * (generator.random((count, count)) + 0.1)))
    if not jumping:
        return Walk(transition)
    jump = generator.random(count) * 0.5
    return Walk(sparse(transition.toarray() * (1 - jump)[:, None]), jump)


def perron_of(walk: Walk) -> np.ndarray:
    return gth_perron(sparse(walk.to_dense()))


def random_pairs(count: int, share: float, seed: int) -> Arrays:
    """Some ordered pairs in random order, self-pairs among them."""
    generator = np.random.default_rng(seed)
    chosen = np.argwhere(generator.random((count, count)) < share)
    generator.shuffle(chosen)
    return chosen[:, 0].astype(np.int32), chosen[:, 1].astype(np.int32)


def dense_terms(walk: Walk, perron: np.ndarray, source: np.ndarray, target: np.ndarray, steps: int) -> np.ndarray:
    """(P^t_jj - P^t_ij)/pi_j, with a line for each t."""
    matrix, power = walk.to_dense(), np.eye(walk.size)
    terms = []
    for _ in range(steps + 1):
        terms.append((power[target, target] - power[source, target]) / perron[target])
        power = power @ matrix
    return np.array(terms)


def check_plain(walk: Walk, source: np.ndarray, target: np.ndarray, steps: int, **options: Any) -> Series:
    perron = perron_of(walk)
    found = series_times(walk, perron, source, target, steps, tail=False, **{"memory": PLENTY, **options})
    scale = 1e-13 * (steps + 1) / perron.min()
    there, back = (dense_terms(walk, perron, *ends, steps).sum(axis=0) for ends in ((source, target), (target, source)))
    np.testing.assert_allclose(found.there, there, rtol=1e-11, atol=scale)
    np.testing.assert_allclose(found.back, back, rtol=1e-11, atol=scale)
    assert np.array_equal(found.times, found.there + found.back)
    return found


def same_bits(left: Series, right: Series) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in ("there", "back", "times"))


@settings(max_examples=80, deadline=None)
@given(
    count=st.integers(1, 25),
    seed=st.integers(0, 10_000),
    share=st.floats(0, 1),
    steps=st.integers(0, 6),
    jumping=st.booleans(),
    memory=st.sampled_from([0, 10_000, PLENTY]),
)
def test_agrees_with_dense_powers(count: int, seed: int, share: float, steps: int, jumping: bool, memory: int) -> None:
    walk = random_walk(count, seed, jumping=jumping)
    check_plain(walk, *random_pairs(count, share, seed), steps, memory=memory)


@pytest.mark.parametrize("jumping", [False, True])
@pytest.mark.parametrize("steps", [2, 3, 5, 30])
def test_sparse_and_dense_blocks(steps: int, jumping: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = random_walk(60, 1, jumping=jumping, degree=1.0)
    for gain in (1e-9, 1e9):
        monkeypatch.setattr(powers, "DENSE_GAIN", gain)
        check_plain(walk, *random_pairs(60, 0.05, 0), steps)


def test_hubs_are_rank_one_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = random_walk(80, 2, degree=2.0)
    pairs = random_pairs(80, 0.02, 3)
    direct = plan_series(walk, 2, *pairs).flops
    monkeypatch.setattr(powers, "LEAST_HUB", 100)
    assert plan_series(walk, 2, *pairs).flops < direct / 2
    for memory in (0, PLENTY):
        check_plain(walk, *pairs, 2, memory=memory)


def test_a_hub_does_not_make_the_cost_explode() -> None:
    count, hub_degree = 30_000, 20_000
    generator = np.random.default_rng(0)
    ring, others = np.arange(count), generator.choice(np.arange(1, count), hub_degree, replace=False)
    zeros = np.zeros(hub_degree, int)
    source, target = np.concatenate([ring, others, zeros]), np.concatenate([np.roll(ring, -1), zeros, others])
    adjacency = canonical_csr(csr_array((np.ones(len(source)), (source, target)), shape=(count, count)))
    walk = Walk(transition_matrix(adjacency))
    cost = plan_series(walk, 2, source[:count], target[:count])
    assert cost.flops < 10 * walk.sparse.nnz < hub_degree**2 / 100


@pytest.mark.parametrize("steps", [2, 3, 8])
@pytest.mark.parametrize("jumping", [False, True])
def test_the_same_bits_with_any_memory_and_by_the_public_operators(
    steps: int, jumping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = random_walk(70, 3, jumping=jumping, degree=2.0)
    pairs = random_pairs(70, 0.05, 4)
    monkeypatch.setattr(powers, "LEAST_HUB", 100)
    perron = perron_of(walk)
    whole = series_times(walk, perron, *pairs, steps, memory=PLENTY)
    for memory in (0, 5_000, 30_000):
        assert same_bits(series_times(walk, perron, *pairs, steps, memory=memory), whole)
    monkeypatch.setattr(masked, "COMPILED", False)
    assert same_bits(series_times(walk, perron, *pairs, steps, memory=PLENTY), whole)


@pytest.mark.parametrize("steps", [2, 5])
def test_the_same_bits_with_threads(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = random_walk(70, 3, jumping=True, degree=2.0)
    pairs, perron = random_pairs(70, 0.05, 4), perron_of(walk)
    alone = series_times(walk, perron, *pairs, steps, memory=50_000)
    monkeypatch.setattr(powers, "PARALLEL_WORK", 0)
    monkeypatch.setattr(series, "PAIRS_AT_A_TIME", 7)
    assert same_bits(series_times(walk, perron, *pairs, steps, memory=50_000, jobs=2), alone)


class Interrupted(Watch):
    """Asks to stop after so many blocks, and keeps the last snapshot."""

    def __init__(self, blocks: int, snapshot: Snapshot | None = None) -> None:
        self.blocks, self.snapshot, self.fractions = blocks, snapshot, list[float]()

    def progress(self, done: int, total: int, message: str) -> None:
        self.fractions.append(done / total)
        self.blocks -= 1

    def resume(self) -> Snapshot | None:
        return self.snapshot

    def save(self, snapshot: Snapshot) -> None:
        elements = {name: array.copy() for name, array in snapshot.elements.items()}
        self.snapshot = Snapshot(elements, dict(snapshot.values))

    def stop_requested(self) -> bool:
        return self.blocks <= 0


@pytest.mark.parametrize("steps", [2, 4])
def test_goes_on_from_a_snapshot_with_other_blocks(steps: int) -> None:
    walk = random_walk(40, 5, jumping=True)
    pairs, perron = random_pairs(40, 0.1, 6), perron_of(walk)
    whole = series_times(walk, perron, *pairs, steps, memory=PLENTY)
    first = Interrupted(blocks=7)
    with pytest.raises(StoppedEarly, match="the state is saved"):
        series_times(walk, perron, *pairs, steps, memory=0, watch=first)
    assert first.snapshot is not None
    assert first.snapshot.values == {"epoch": 7, "row": 7, "unit": "block"}
    second = Interrupted(blocks=1000, snapshot=first.snapshot)
    assert same_bits(series_times(walk, perron, *pairs, steps, memory=PLENTY, watch=second), whole)
    assert second.fractions[-1] == 1
    # What was done before is taken over, not made again.
    first.snapshot.elements["entries"][0, 0] += 1
    changed = series_times(walk, perron, *pairs, steps, memory=PLENTY, watch=Interrupted(1000, first.snapshot))
    assert not same_bits(changed, whole)


def test_a_request_to_stop_after_the_last_block_is_too_late() -> None:
    walk = random_walk(10, 0)
    watch = Interrupted(blocks=1)
    series_times(walk, perron_of(walk), *all_pairs(10), 2, memory=PLENTY, watch=watch)
    assert watch.snapshot is None


def true_flops(walk: Walk, rows: np.ndarray, steps: int) -> int:
    """Multiplications of the plain products X_t = X_(t-1) S over the given rows."""
    moves = walk.sparse.toarray() > 0
    lengths, reached = moves.sum(axis=1), moves[rows]
    total = 0
    for _ in range(2, steps + 1):
        total += int((reached @ lengths).sum())
        reached = reached @ moves
    return total


@settings(max_examples=60, deadline=None)
@given(count=st.integers(2, 25), seed=st.integers(0, 10_000), share=st.floats(0.01, 1), steps=st.integers(0, 6))
def test_the_cost_is_an_upper_bound(count: int, seed: int, share: float, steps: int) -> None:
    walk = random_walk(count, seed, degree=1.5)
    source, target = random_pairs(count, share, seed)
    cost = plan_series(walk, steps, source, target)
    true = true_flops(walk, np.union1d(source, target), steps)
    assert cost.flops == true if steps <= 2 else cost.flops >= true
    assert cost.work <= cost.flops
    assert series_times(walk, perron_of(walk), source, target, steps, memory=PLENTY).flops == cost.flops


def test_rows_of_no_pair_cost_nothing() -> None:
    walk = random_walk(25, 0)
    few, all_of_them = plan_series(walk, 2, np.array([3]), np.array([4])), plan_series(walk, 2, *all_pairs(25))
    assert few.flops < all_of_them.flops / 5
    assert len(few.rows) == 2 and len(all_of_them.rows) == 25
    assert plan_series(walk, 2, *all_pairs(0)).flops == 0


@pytest.mark.parametrize("steps", [2, 3, 4, 10])
@pytest.mark.parametrize("degree", [0.5, 1.5])
def test_the_tail_improves_the_median_error_where_the_walk_mixes_slowly(degree: float, steps: int) -> None:
    edges = random_edges(100, degree, seed=0)
    walk = Walk(transition_matrix(rewire(graph_of(100, edges), RewireConfig()).adjacency))
    perron = perron_of(walk)
    source, target = np.array(edges).T
    times = absorbing_hitting(sparse(walk.to_dense()))
    exact = np.stack([times[source, target], times[target, source]])
    errors = {}
    for tail in (False, True):
        found = series_times(walk, perron, source, target, steps, tail=tail, memory=PLENTY)
        assert found.tail == tail
        commute = np.abs(found.times / exact.sum(axis=0) - 1)
        hitting = np.abs(np.stack([found.there, found.back]) / exact - 1)
        errors[tail] = np.median(commute), np.median(hitting)
    assert errors[True][0] < errors[False][0]
    assert errors[True][1] < errors[False][1]


def test_the_tail_is_harmless_when_the_series_has_converged() -> None:
    walk = random_walk(30, 7, degree=6.0)
    source, target = all_pairs(30)
    found = series_times(walk, perron_of(walk), source, target, 60, memory=PLENTY)
    np.testing.assert_allclose(found.there, absorbing_hitting(walk.sparse)[source, target], rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(count=st.integers(2, 20), seed=st.integers(0, 10_000), steps=st.integers(0, 7), jumping=st.booleans())
def test_the_tail_only_adds(count: int, seed: int, steps: int, jumping: bool) -> None:
    walk = random_walk(count, seed, jumping=jumping, degree=1.0)
    perron, pairs = perron_of(walk), random_pairs(count, 0.5, seed)
    plain, tailed = (series_times(walk, perron, *pairs, steps, tail=tail, memory=PLENTY) for tail in (False, True))
    assert (plain.there >= 0).all() and (tailed.there >= plain.there).all() and (tailed.back >= plain.back).all()
    assert np.isfinite(tailed.times).all()
    assert np.array_equal(tailed.times, tailed.there + tailed.back)
    assert tailed.tail == (steps >= 2)
    assert steps >= 2 or same_bits(plain, tailed)


def test_a_periodic_walk_gives_no_nan() -> None:
    walk = Walk(directed_cycle(4))
    for steps in range(6):
        found = series_times(walk, np.full(4, 0.25), *all_pairs(4), steps, memory=PLENTY)
        assert np.isfinite(found.times).all() and (found.times >= 0).all()


def test_pairs_in_any_order_give_the_same_bits() -> None:
    walk = random_walk(30, 8)
    source, target = all_pairs(30)
    order = np.random.default_rng(0).permutation(len(source))
    perron = perron_of(walk)
    sorted_ones = series_times(walk, perron, source, target, memory=PLENTY)
    shuffled = series_times(walk, perron, source[order], target[order], memory=PLENTY)
    assert np.array_equal(shuffled.there, sorted_ones.there[order])
    assert np.array_equal(shuffled.back, sorted_ones.back[order])


def test_a_pair_given_twice_is_refused() -> None:
    walk = random_walk(5, 0)
    with pytest.raises(ValueError, match="twice"):
        series_times(walk, perron_of(walk), np.array([1, 0, 1]), np.array([2, 3, 2]), memory=PLENTY)


@pytest.mark.parametrize("steps", [2, 4])
def test_memory_stays_below_what_is_allowed(steps: int) -> None:
    walk, memory = random_walk(1500, 9, degree=15.0), 2_000_000
    source, target = walk.sparse.nonzero()
    perron = np.full(1500, 1 / 1500)
    cost = plan_series(walk, steps, source, target)
    assert cost.row_bytes.max() + powers.STATE * walk.size < memory
    assert walk.transposed.nnz  # kept by the walk, so not counted
    tracemalloc.start()
    try:
        series_times(walk, perron, source, target, steps, memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 176 * len(source) + 8 * (powers.KEPT + 2 * steps) * walk.size + memory
