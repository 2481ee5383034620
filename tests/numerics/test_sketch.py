"""Times by random probes: unbiased, with honest error bars, the same bits however they are computed."""

from pathlib import Path

import numpy as np
import pytest

from cgnn_cli.errors import ResourceError, StoppedEarly
from cgnn_cli.numerics import sketch, threads
from cgnn_cli.numerics.pair_times import pair_times
from cgnn_cli.numerics.series import Series, series_times
from cgnn_cli.numerics.sketch import Sketch, probe_vector, sketch_times
from cgnn_cli.numerics.transition import transition_matrix
from cgnn_cli.numerics.verify import partial_sums, series_terms
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Snapshot, Watch
from tests.graphs import FAMILIES, all_pairs, exact_hitting, sparse
from tests.numerics.test_krylov import family_walk, jumping_walk, stationary
from tests.stages.test_commute import read_chameleon, walk_on

pytestmark = pytest.mark.filterwarnings("error")

SIZE = 20
SOURCE, TARGET = all_pairs(SIZE)
AMPLE = 1 << 30
STEPS = (None, 0, 2)


def begun(steps: int, there: np.ndarray, back: np.ndarray, *tails: np.ndarray) -> Series:
    """A series as a sketch takes it."""
    return Series(there, back, there + back, steps, 0, *tails)


def start_of(walk: Walk, steps: int | None) -> Series | None:
    """The plain series."""
    if steps is None:
        return None
    there, back = series_terms(walk, stationary(walk), SOURCE, TARGET, steps)
    return begun(steps, there.sum(axis=0), back.sum(axis=0))


def tailed(walk: Walk, steps: int) -> tuple[Series, np.ndarray, np.ndarray]:
    """The series with its tails, and the tails."""
    there, back = series_terms(walk, stationary(walk), SOURCE, TARGET, steps)
    full = partial_sums(there, back, steps, tail=True)
    tails = full[0] - there.sum(axis=0), full[1] - back.sum(axis=0)
    return begun(steps, *full, *tails), *tails


def run(walk: Walk, probes: int = 64, seed: int = 0, start: Series | None = None, jobs: int = 1) -> Sketch:
    return sketch_times(walk, stationary(walk), SOURCE, TARGET, probes, seed, memory=AMPLE, start=start, jobs=jobs)


@pytest.fixture(scope="module")
def walk() -> Walk:
    return family_walk("random", SIZE)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("which", ["jump", "hubs"])
def test_many_probes_come_to_the_exact_times(which: str, steps: int | None) -> None:
    walk = jumping_walk(SIZE) if which == "jump" else family_walk(which, SIZE)
    exact = pair_times(walk, stationary(walk), SOURCE, TARGET)
    found = run(walk, 300, start=start_of(walk, steps))
    # Two sinks have equal rows, so that one step leaves no remainder between them, and no error.
    certain = found.error < 1e-9 * found.times
    np.testing.assert_allclose(found.times[certain], exact.times[certain], rtol=1e-6)
    assert certain.mean() < 0.1
    scores = ((found.times - exact.times) / np.where(certain, np.inf, found.error))[~certain]
    assert np.abs(scores).max() < 5
    assert 0.4 < np.sqrt(np.mean(scores**2)) < 1.6
    np.testing.assert_array_equal(found.times, found.there + found.back)
    assert np.median(np.abs(found.there - exact.there) / exact.there) < 0.1


@pytest.mark.parametrize("steps", STEPS)
def test_few_probes_are_unbiased_and_their_error_bars_honest(walk: Walk, steps: int | None) -> None:
    exact = pair_times(walk, stationary(walk), SOURCE, TARGET)
    runs = [run(walk, 16, seed, start_of(walk, steps)) for seed in range(40)]
    for name in ("there", "back", "times"):
        values = np.array([getattr(found, name) for found in runs])
        error = values.std(axis=0, ddof=1) / np.sqrt(len(runs))
        assert np.abs((values.mean(axis=0) - getattr(exact, name)) / error).max() < 5
    covered = [np.abs(found.times - exact.times) <= 2 * found.error for found in runs]
    assert 0.88 < np.mean(covered) < 0.98


def test_a_series_to_start_from_lessens_the_error(walk: Walk) -> None:
    errors = [np.median(run(walk, start=start_of(walk, steps)).error) for steps in (None, 1, 3)]
    assert errors[0] > 1.5 * errors[1] > 1.5 * errors[2]


@pytest.mark.parametrize("family", FAMILIES)
def test_with_a_tail_the_error_is_near_that_of_the_better_of_the_two(family: str) -> None:
    walk = family_walk(family, SIZE)
    exact = pair_times(walk, stationary(walk), SOURCE, TARGET).times
    start, _, _ = tailed(walk, 3)
    mixed, plain = ([run(walk, 32, seed, begin) for seed in range(4)] for begin in (start, start_of(walk, 3)))
    wrong, plain_wrong = (np.mean([np.abs(found.times - exact) / exact for found in runs]) for runs in (mixed, plain))
    tail_wrong = np.mean(np.abs(start.there + start.back - exact) / exact)
    assert wrong <= 1.7 * min(tail_wrong, plain_wrong) + 1e-9
    assert np.mean([np.abs(found.times - exact) <= 2 * found.error + 1e-9 * exact for found in mixed]) > 0.65


def test_the_weights_are_inverse_variances(walk: Walk) -> None:
    """Recomputed from the estimate without a tail: w = tau^2/(tau^2 + sigma^2)."""
    start, tail_there, tail_back = tailed(walk, 2)
    plain, mixed = run(walk, start=start_of(walk, 2)), run(walk, start=start)
    returns = 1 / stationary(walk)
    base = returns[SOURCE] + returns[TARGET]
    tail, sigma = (tail_there + tail_back) / base, plain.error / base
    missed = (plain.times - start.there - start.back) / base
    squares = tail**2 + np.median(tail) ** 2
    tau2 = sketch.tail_doubt(squares, sigma**2, missed**2) ** 2 * squares
    total = tau2 + sigma**2
    phi = np.sqrt(2 / SIZE) + max(np.sum(missed**2 / total - 1) / np.sum(sigma**2 / total), 0)
    tau2 += phi * sigma**2
    tau2 = np.where(np.abs(missed) > 3 * sigma, np.maximum(tau2, missed**2 - sigma**2), tau2)
    weight = tau2 / (tau2 + sigma**2)
    assert weight.min() < 0.5
    np.testing.assert_allclose(mixed.there, weight * plain.there + (1 - weight) * start.there, rtol=1e-7)
    np.testing.assert_allclose(mixed.back, weight * plain.back + (1 - weight) * start.back, rtol=1e-7)
    np.testing.assert_allclose(mixed.error, base * sigma * np.sqrt(weight), rtol=1e-6)


def test_probes_that_contradict_a_tail_win() -> None:
    """Among many right tails one is wrong by ten standard errors."""
    tail, error = np.full(1000, 1.0), np.full(1000, 0.1)
    mean = 1 + 0.1 * np.random.default_rng(0).standard_normal(1000)
    mean[0] = 2.0
    weight, mixed = sketch._weigh(mean, error, np.where(np.arange(1000) == 0, 1e-6, tail), 1000)
    assert weight[0] > 0.99 and mixed[0] == pytest.approx(0.1, rel=0.01)
    weight, mixed = sketch._weigh(mean, error, tail / 100, 1000)
    assert weight.min() > 0.9 and mixed.min() > 0.09


def beyond(found: Sketch, exact: np.ndarray) -> float:
    """The share of the times that are more than 5 standard errors from the exact ones."""
    wrong = np.abs(found.times - exact) > 5 * found.error + 1e-9 * exact
    return np.count_nonzero(wrong) / max(len(wrong), 1)


@pytest.mark.parametrize(("seed", "probes"), [(0, 64), (1, 64), (2, 64), (3, 500)])
def test_error_bars_with_small_tails_are_honest(seed: int, probes: int) -> None:
    """Self-loops and jumps: the tails are near 0, and all of them are wrong."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((27, 27)) < 0.08).astype(float)
    np.fill_diagonal(dense, 1)
    dense *= 0.9 / dense.sum(axis=1, keepdims=True)
    source, target = np.nonzero(dense * (1 - np.eye(27)))
    walk = Walk(sparse(dense), np.full(27, 0.1))
    perron = stationary(walk)
    start = series_times(walk, perron, source, target, 3, memory=AMPLE)
    found = sketch_times(walk, perron, source, target, probes, seed, memory=AMPLE, start=start)
    exact = pair_times(walk, perron, source, target).times
    assert beyond(found, exact) <= 0.01
    plain = sketch_times(walk, perron, source, target, probes, seed, memory=AMPLE)
    assert np.median(found.error) < 0.5 * np.median(plain.error)


@pytest.mark.realdata
def test_error_bars_on_chameleon_are_honest(real_data: Path) -> None:
    graph = read_chameleon(real_data / "chameleon")
    dilap = walk_on(graph)
    walk, perron = dilap.walk(), dilap.perron
    source, target = np.argwhere(graph.adjacency.toarray()).T
    source, target = source[source != target], target[source != target]
    there, back = exact_hitting(walk, perron, source, target, memory=AMPLE)
    start = series_times(walk, perron, source, target, 3, memory=AMPLE)
    found = sketch_times(walk, perron, source, target, 64, 0, memory=AMPLE, start=start)
    exact = there + back
    assert beyond(found, exact) <= 0.01
    assert np.median(np.abs(found.times - exact) / exact) < 0.002


@pytest.mark.parametrize("probes", [2, 3, 4])
def test_few_probes_that_agree_claim_no_certainty(probes: int) -> None:
    two = Walk(sparse([[0.5, 0.5], [0.25, 0.75]]))
    for seed in range(20):
        found = sketch_times(two, stationary(two), np.array([0]), np.array([1]), probes, seed, memory=AMPLE)
        assert found.error[0] > 0.01 * max(found.times[0], 1)
    walk = family_walk("random", SIZE)
    errors = np.array([run(walk, probes, seed).error for seed in range(5)])
    returns = 1 / stationary(walk)
    relative = errors / (returns[SOURCE] + returns[TARGET])
    assert (relative.min(axis=1) > 0.3 * relative.max(axis=1) / np.sqrt(len(SOURCE))).all()


@pytest.mark.parametrize("steps", [None, 0, 3])
@pytest.mark.parametrize("size", range(1, 11))
def test_tiny_walks_have_probes_of_equal_signs(size: int, steps: int | None) -> None:
    dense = np.eye(size) + np.eye(size, k=1) + np.eye(size, k=-1)
    walk = Walk(transition_matrix(sparse(dense)))
    perron = dense.sum(axis=1) / dense.sum()
    source, target = all_pairs(size)
    start = None if steps is None else series_times(walk, perron, source, target, steps, memory=AMPLE)
    found = sketch_times(walk, perron, source, target, 200, 0, memory=AMPLE, start=start)
    assert beyond(found, pair_times(walk, perron, source, target).times) == 0
    if size < 5:
        assert (found.iterations == 0).any()


def test_doubt_is_how_wrong_the_tails_are(walk: Walk) -> None:
    exact, start = pair_times(walk, stationary(walk), SOURCE, TARGET), start_of(walk, 2)
    assert start is not None
    rest, plain = exact.times - start.there - start.back, run(walk, 200, start=start)
    base = 1 / stationary(walk)[SOURCE] + 1 / stationary(walk)[TARGET]
    doubts = []
    for factor in (1.0, 4.0, 0.2):
        tail = factor * rest / base
        missed = (plain.times - start.there - start.back) / base - tail
        doubts.append(sketch.tail_doubt(tail**2 + np.median(tail) ** 2, (plain.error / base) ** 2, missed**2))
    assert doubts[0] == sketch.LEAST_DOUBT
    assert doubts[1] == pytest.approx(0.67, abs=0.1)
    assert doubts[2] == pytest.approx(3.5, abs=0.9)


def test_a_single_probe_has_no_error_bar_and_leaves_a_tail_alone(walk: Walk) -> None:
    assert np.isinf(run(walk, 1).error).all()
    start, _, _ = tailed(walk, 2)
    found = run(walk, 1, start=start)
    np.testing.assert_allclose(found.there, start.there)
    assert np.isfinite(found.error).all()


def test_tails_of_nothing_are_no_knowledge(walk: Walk) -> None:
    plain = start_of(walk, 2)
    assert plain is not None
    nothing = np.zeros(len(SOURCE))
    found, alone = run(walk, 8, start=begun(2, plain.there, plain.back, nothing, nothing)), run(walk, 8, start=plain)
    np.testing.assert_allclose(found.times, alone.times)
    np.testing.assert_allclose(found.error, alone.error)


def test_every_probe_has_its_residual(walk: Walk) -> None:
    found = run(walk, 9)
    assert found.residuals.shape == found.iterations.shape == (9,)
    assert (found.residuals > 0).all() and (found.residuals <= sketch.TOLERANCE).all()
    assert (found.iterations > 0).all()


def test_probes_are_signs_that_depend_on_seed_and_number() -> None:
    probes = [probe_vector(100, seed, number) for seed, number in ((0, 0), (0, 1), (1, 0), (0, 0))]
    assert all(set(probe) == {-1.0, 1.0} for probe in probes)
    np.testing.assert_array_equal(probes[0], probes[3])
    assert not np.array_equal(probes[0], probes[1]) and not np.array_equal(probes[0], probes[2])


def test_chunks_of_pairs_change_no_bit(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(walk, 8)
    monkeypatch.setattr(sketch, "CHUNK", 7)
    np.testing.assert_array_equal(run(walk, 8).times, whole.times)


def test_processes_change_no_bit(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORTH_PROCESSES", 0)
    alone, together = run(walk, 12), run(walk, 12, jobs=2)
    np.testing.assert_array_equal(alone.times, together.times)
    np.testing.assert_array_equal(alone.error, together.error)
    np.testing.assert_array_equal(alone.residuals, together.residuals)


class Interrupted(Watch):
    """Asks to stop after some probes, keeps what is saved, and goes on from it."""

    def __init__(self, stop_after: int, saved: Snapshot | None = None) -> None:
        self.left = stop_after
        self.saved = saved
        self.heard: list[tuple[int, int]] = []

    def progress(self, done: int, total: int, message: str) -> None:
        assert message
        self.heard.append((done, total))
        self.left -= 1

    def resume(self) -> Snapshot | None:
        return self.saved

    def save(self, snapshot: Snapshot) -> None:
        copied = {name: np.array(array) for name, array in snapshot.elements.items()}
        self.saved = Snapshot(copied, dict(snapshot.values))

    def stop_requested(self) -> bool:
        return self.left <= 0


def watched(walk: Walk, watch: Watch) -> Sketch:
    return sketch_times(
        walk,
        stationary(walk),
        SOURCE,
        TARGET,
        10,
        3,
        memory=AMPLE,
        start=tailed(walk, 2)[0],
        watch=watch,
    )


@pytest.mark.parametrize("stop_after", [1, 4, 9])
def test_an_interrupted_sketch_goes_on_to_the_same_bits(walk: Walk, stop_after: int) -> None:
    first = Interrupted(stop_after)
    with pytest.raises(StoppedEarly, match=f"after {stop_after} of 10 probes"):
        watched(walk, first)
    assert first.saved is not None and first.saved.values == {"epoch": stop_after, "unit": "probe"}
    second = Interrupted(100, first.saved)
    found, whole = watched(walk, second), watched(walk, Watch())
    assert second.heard[0] == (stop_after + 1, 10)
    for name in ("there", "back", "times", "error", "residuals", "iterations"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_a_request_to_stop_after_the_last_probe_comes_too_late(walk: Walk) -> None:
    watch = Interrupted(10)
    assert len(watched(walk, watch).residuals) == 10
    assert watch.saved is None


def test_too_little_memory_is_refused_before_the_first_solve(walk: Walk) -> None:
    with pytest.raises(ResourceError, match="sketch solver needs") as caught:
        sketch_times(walk, stationary(walk), SOURCE, TARGET, 4, 0, memory=1000)
    assert "series" in caught.value.hint


def test_memory_limits_the_processes() -> None:
    assert sketch._affordable(1000, 1000, 8, AMPLE) == 8
    assert sketch._affordable(1000, 1000, 8, 8 * (16_000 + 3 * sketch.VECTORS * 1000)) == 3


def test_no_pairs(walk: Walk) -> None:
    none = np.zeros(0, np.int64)
    empty = np.zeros(0)
    found = sketch_times(
        walk, stationary(walk), none, none, 2, 0, memory=AMPLE, start=begun(2, empty, empty, empty, empty)
    )
    assert len(found.times) == len(found.error) == 0
