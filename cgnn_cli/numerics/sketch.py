"""Times by random probes: for g of +-1 and (I - P) x = g - (pi^T g) 1, the mean of g_j (x_j - x_i)/pi_j is h(i, j).

After a series of K steps only the remainder is estimated, with P^(K+1) x in the place of x, and added to the series.
That is unbiased, but on most graphs noisier than the geometric tail of the series is wrong. So where the start has a
tail, the result of a pair lies between the two, weighted by their inverse variances:

    c = S_K + (1 - w) tail + w m,   w = tau^2 / (tau^2 + sigma^2),   standard error tau sigma / sqrt(tau^2 + sigma^2)

m is the mean over the probes, and sigma its standard error. tau^2 = rho^2 (tail^2 + q^2) + phi sigma^2 is the tail's
uncertainty, with q the median tail: a tail of 0 proves nothing. All this is relative to 1/pi_i + 1/pi_j. One rho and
one phi serve all pairs and come from the probes too: (m - tail)^2 - sigma^2 is an unbiased estimate of the squared
error of a tail, so rho^2 is its sum over the pairs, divided by that of tail^2 + q^2. Few pairs give it badly, so rho
is taken for 1/2 at least. Small tails may be wrong beyond their size: phi is what (m - tail)^2 shows above that, in
units of its expectation for each pair, and sqrt(2/n) for the n states, below which nothing shows. Where a mean
contradicts its tail by 3 sigma, tau^2 is (m - tail)^2 - sigma^2 at least: the pair goes to the probes. Both directions
take the same w.
"""

from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np

from cgnn_cli.errors import ResourceError, StoppedEarly
from cgnn_cli.numerics.krylov import solve
from cgnn_cli.numerics.series import Series
from cgnn_cli.numerics.threads import in_order
from cgnn_cli.numerics.walk import Walk
from cgnn_cli.watch import Snapshot, Watch

TOLERANCE = 1e-6  # of the solves: far below the noise of any number of probes
LEAST_DOUBT = 0.5
CONTRADICTION = 3.0  # standard errors between the probes and a tail
FEW_PROBES = 4  # up to so many may agree by chance: a pair's standard error is that of all pairs at least
ROUNDING = 1e-12  # a right-hand side this much smaller than its probe is nothing but rounding
CHUNK = 1 << 20  # pairs worked on at a time
VECTORS = 14  # vectors over the states that a solve holds


@dataclass(frozen=True)
class Sketch:
    """h(i, j), h(j, i), their sum and its standard error for each pair; residual and iterations of each probe."""

    there: np.ndarray
    back: np.ndarray
    times: np.ndarray
    error: np.ndarray
    residuals: np.ndarray
    iterations: np.ndarray


def sketch_times(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    probes: int,
    seed: int,
    *,
    memory: int,
    start: Series | None = None,
    jobs: int = 1,
    watch: Watch | None = None,
) -> Sketch:
    """Times of each pair from `probes` solves, the same bits for any number of processes and after any interruption."""
    jobs = _affordable(walk.size, len(source), jobs, memory)
    sums, residuals, iterations = _probe_sums(
        walk, perron, source, target, probes, seed, -1 if start is None else start.steps, jobs, watch or Watch()
    )
    means = sums[:2] / probes
    base = 1 / perron[source] + 1 / perron[target]
    mean = means.sum(axis=0) / base
    error = _standard_error(mean, sums[2], probes)
    if start is not None:
        if start.tail_there is not None and start.tail_back is not None:
            tails = np.stack([start.tail_there, start.tail_back])
            states = int(np.count_nonzero(np.bincount(np.concatenate([source, target]))))
            weight, error = _weigh(mean, error, tails.sum(axis=0) / base, states)
            means = weight * (means - tails)
        means[0] += start.there
        means[1] += start.back
    return Sketch(means[0], means[1], means[0] + means[1], error * base, residuals, iterations)


def probe_vector(size: int, seed: int, number: int) -> np.ndarray:
    """The probe of a number: +-1 in every state."""
    return np.random.default_rng([seed, number]).choice([-1.0, 1.0], size)


def _affordable(size: int, pairs: int, jobs: int, memory: int) -> int:
    """The number of processes that the memory is enough for."""
    held, each = 8 * (12 * pairs + 4 * size), 8 * VECTORS * size
    if held + each > memory:
        raise ResourceError(
            f"the sketch solver needs about {(held + each) / 2**30:.1f} GiB of memory, "
            f"and {memory / 2**30:.1f} GiB may be used",
            "raise --memory-limit, or use --solver series",
        )
    return max(1, min(jobs, (memory - held) // each))


def _probe_sums(
    walk: Walk,
    perron: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    probes: int,
    seed: int,
    steps: int,
    jobs: int,
    watch: Watch,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over the probes, taken in their order: of the estimates of both directions, and of the squares of c's."""
    sums, residuals, iterations = np.zeros((3, len(source))), np.zeros(probes), np.zeros(probes, np.int64)
    begin = 0
    if (snapshot := watch.resume()) is not None:
        begin, saved = int(snapshot.values["epoch"]), snapshot.elements
        sums = np.array(saved["sums"])
        residuals[:begin], iterations[:begin] = saved["residuals"], saved["iterations"]
    task = partial(_remainder, Walk(walk.sparse, walk.jump), perron, seed, steps)
    work = float(probes - begin) * walk.sparse.nnz
    with closing(in_order(task, range(begin, probes), jobs=jobs, work=work)) as results:
        for number, (x, residuals[number], iterations[number]) in zip(range(begin, probes), results, strict=True):
            _add(sums, x, probe_vector(walk.size, seed, number), perron, source, target)
            done = number + 1
            watch.progress(done, probes, f"residual {residuals[:done].max():.1e}")
            stopped = watch.stop_requested() and done < probes
            if stopped or watch.snapshot_due():
                elements = {"sums": sums, "residuals": residuals[:done], "iterations": iterations[:done]}
                watch.save(Snapshot(elements, {"epoch": done, "unit": "probe"}))
            if stopped:
                raise StoppedEarly(f"stopped after {done} of {probes} probes; the state is saved")
    return sums, residuals, iterations


def _remainder(walk: Walk, perron: np.ndarray, seed: int, steps: int, number: int) -> tuple[np.ndarray, float, int]:
    """P^(steps + 1) x for one probe, with the residual and the iterations of its solve."""
    probe = probe_vector(walk.size, seed, number)
    rhs = probe - np.einsum("i,i->", perron, probe)
    if np.sqrt(np.square(rhs).sum()) <= ROUNDING * np.sqrt(walk.size):  # all signs are equal
        return np.zeros(walk.size), 0.0, 0
    solved = solve(walk, rhs, tolerance=TOLERANCE)
    x = solved.x
    for _ in range(steps + 1):
        x = walk.apply(x)
    return x, solved.residual, solved.iterations


def _add(
    sums: np.ndarray, x: np.ndarray, probe: np.ndarray, perron: np.ndarray, source: np.ndarray, target: np.ndarray
) -> None:
    """Add one probe's estimates, a chunk of pairs at a time."""
    returns = 1 / perron
    factor = probe * returns
    for begin in range(0, len(source), CHUNK):
        part = slice(begin, begin + CHUNK)
        i, j = source[part], target[part]
        change = x[j] - x[i]
        there, back = factor[j] * change, -factor[i] * change
        sums[0, part] += there
        sums[1, part] += back
        sums[2, part] += np.square((there + back) / (returns[i] + returns[j]))


def _standard_error(mean: np.ndarray, squares: np.ndarray, probes: int) -> np.ndarray:
    """Of the mean over the probes; infinite for a single one, and for a few that agree on every pair."""
    if probes < 2:
        return np.full(len(mean), np.inf)
    variance = np.maximum(squares / probes - mean**2, 0) / (probes - 1)
    if probes <= FEW_PROBES and len(mean):
        pooled = variance.mean()
        variance = np.maximum(variance, pooled if pooled > TOLERANCE**2 * np.square(mean).mean() else np.inf)
    return np.sqrt(variance)


def _weigh(mean: np.ndarray, error: np.ndarray, tail: np.ndarray, states: int) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the mean over the probes against the tail, and the standard error of the mixture."""
    squares = np.square(tail) + np.square(np.median(np.abs(tail)) if len(tail) else 0.0)
    noise, missed = np.square(error), np.square(mean - tail)
    measured = bool(squares.any() and np.isfinite(noise).all())
    prior = (tail_doubt(squares, noise, missed) if measured else 1.0) ** 2 * squares
    # Nothing is known of a tail where all are 0: there the probes stand alone.
    known = prior > 0
    if measured:
        # tau^2: the prior variance of the tails with what the probes show, or could not show, of larger errors.
        total = np.maximum(prior + noise, np.finfo(float).tiny)
        shown, unit = (missed / total - 1).sum(), (noise / total).sum()
        share = np.sqrt(2 / states) + (max(float(shown / unit), 0.0) if unit > 0 else 0.0)
        wide = prior + share * noise
        wide = np.where(missed > CONTRADICTION**2 * noise, np.maximum(wide, missed - noise), wide)
        prior = np.where(known, wide, 0.0)
    ratio = np.divide(error, np.sqrt(prior), out=np.zeros_like(error), where=known)
    weight = 1 / (1 + np.square(ratio))
    return weight, np.where(known, np.sqrt(prior * (1 - weight)), error)


def tail_doubt(squares: np.ndarray, noise: np.ndarray, missed: np.ndarray) -> float:
    """rho: how wrong tails of some squared size are, from their squared distance to the means and its noise."""
    return max(float(np.sqrt(max((missed - noise).sum(), 0.0) / squares.sum())), LEAST_DOUBT)
