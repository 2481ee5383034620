"""From the figures of a diagnosis to a short verdict in plain words. docs/diagnose.md gives the reason of each rule."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from cgnn_cli.analysis.weight_kinds import IN_USE
from cgnn_cli.printable import signed_text

WAY_BACK = 0.2  # share of edges on a directed cycle: web and social graphs tried have 0.3 or more, citation graphs 0.12
POPULARITY = 0.001  # the spread of log r over that of log c, squared: below, c is 1/pi_i + 1/pi_j for all purposes
NO_SPREAD = 0.05  # of the ratio r, 5th to 95th percentile, relative to its median
GAIN, NO_GAIN = (
    0.08,
    0.06,
)  # in homophily: see docs/diagnose.md
CLEAR = 2  # standard errors
LEAST_EDGES = 50  # inside the training nodes, to judge by
MANY_TWINS = 0.1
MANY_ALIKE = 0.7  # neighbours of one label
FALSE_TIMES = 0.1  # median relative error of the solver
MOST_FAR = 0.01  # share of the edges
EVEN_WEIGHTS, ONE_NEIGHBOUR = 0.95, 0.3  # effective neighbours as a share of all
NONE = "none"

HEADLINES = {
    "worth trying": "Weights are worth trying here: those of {weights} tell neighbours of one class from others.",
    "unclear": "Whether weights help here is unclear from the graph and its training labels.",
    "unlikely": "Weights are unlikely to help here: the same model without any is the one to beat.",
    "one class": "The labels of the training nodes are of one class, so there is nothing to learn.",
    "no edges": "There are no edges with commute times, so there is nothing to weigh.",
}


@dataclass(frozen=True)
class Reason:
    """A figure, its value, and what it says."""

    figure: str
    value: float
    says: str


@dataclass(frozen=True)
class Verdict:
    """The answer in a word or two, the sentence for it, the figures behind it, and the kind of weights to try.

    weights: a name in weight_kinds.py, or `none`; empty where there is nothing to train.
    """

    answer: str
    headline: str
    reasons: list[Reason]
    weights: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(figures: dict[str, Any]) -> Verdict:
    """The training labels decide, where they are enough; else the edges alone, which can speak against weights only."""
    if not figures["edges_with_times"]:
        return Verdict("no edges", HEADLINES["no edges"], [*_cautions(figures)])
    if figures["training_classes"] == 1:
        return Verdict("one class", HEADLINES["one class"], [_way_back(figures), *_of_times(figures)])
    best = _best(figures)
    labelled = figures["training_edges"] >= LEAST_EDGES and best != NONE
    answer = _by_labels(figures["weights"][best]) if labelled else _by_edges(figures)
    reasons = [_gain(figures, best) if labelled else _too_few(figures), _way_back(figures), *_beyond(figures)]
    tried = "" if figures["test_twins"] is None else _to_try(answer, best)
    return Verdict(answer, HEADLINES[answer].format(weights=best), [*reasons, *_cautions(figures)], tried)


def _to_try(answer: str, best: str) -> str:
    """No weights only where these are unlikely to help: where nothing tells of any, those in use, beside none."""
    if answer == "unlikely":
        return NONE
    return IN_USE if best == NONE else best


def _best(figures: dict[str, Any]) -> str:
    """The kind of weights with the largest gain in homophily; too few edges tell of those with a gain only."""
    few = figures["training_edges"] < LEAST_EDGES
    gains = {name: gain for name, gain in figures["weights"].items() if gain["gain"] > 0 or not few}
    return max(gains, key=lambda name: gains[name]["gain"], default=NONE)


def _by_labels(best: dict[str, float]) -> str:
    gain, error = best["gain"], best["error"]
    if gain >= GAIN and gain > CLEAR * error:
        return "worth trying"
    return "unlikely" if gain < NO_GAIN else "unclear"


def _by_edges(figures: dict[str, Any]) -> str:
    return "unlikely" if figures["returning_edges"] < WAY_BACK or _is_popularity(figures) else "unclear"


def _is_popularity(figures: dict[str, Any]) -> bool:
    spread, share = figures["ratio_spread"], figures["beyond_popularity"]
    return spread is not None and (spread < NO_SPREAD or (share is not None and share < POPULARITY))


def _gain(figures: dict[str, Any], name: str) -> Reason:
    best = figures["weights"][name]
    says = (
        f"inside the training nodes, {figures['homophily']:.1%} of {figures['training_edges']:,} edges join two of one "
        f"class, and {best['homophily']:.1%} by the weights of {name}, the most of all kinds: {points(best)} points; "
        f"so far networks gained much from {100 * GAIN:.0f} points on, and seldom anything below {100 * NO_GAIN:.0f}"
    )
    return Reason("weights", best["gain"], says)


def points(gain: dict[str, float]) -> str:
    """A gain in points, with its error."""
    return f"{signed_text(100 * gain['gain'], 1)} ± {100 * gain['error']:.1f}"


def _too_few(figures: dict[str, Any]) -> Reason:
    count = figures["training_edges"]
    says = f"{count} edges are inside the training nodes, too few to see whether weights go with classes"
    if not count:
        says = "no edge is inside the training nodes, so that nothing shows whether weights go with classes"
    return Reason("training_edges", count, says)


def _way_back(figures: dict[str, Any]) -> Reason:
    share = figures["returning_edges"]
    if share < WAY_BACK:
        says = (
            f"only {share:.0%} of the edges lie on a directed cycle: after the others a walk returns by what rewiring "
            "adds or by jumps, if at all, as in citation graphs, where the paper itself advises against commute times"
        )
    else:
        says = f"{share:.0%} of the edges lie on a directed cycle, so that walks return over real edges"
    return Reason("returning_edges", share, says)


def _beyond(figures: dict[str, Any]) -> Iterator[Reason]:
    """What times say beyond pi, where any could be solved for."""
    spread, share = figures["ratio_spread"], figures["beyond_popularity"]
    if spread is None:
        return
    varies = "" if share is None else f", {share:.2%} of the variance of log c"
    says = f"the ratio of c to 1/pi_i + 1/pi_j varies by {spread:.0%}{varies}: times say something about the pair"
    if _is_popularity(figures):
        says = (
            f"c is nearly 1/pi_i + 1/pi_j: the ratio of the two varies by {spread:.0%}{varies}; weights by c itself "
            "are those of --solver pi-only, while ratio and affinity weigh by what is left"
        )
    yield Reason("beyond_popularity", spread if share is None else share, says)


def _cautions(figures: dict[str, Any]) -> Iterator[Reason]:
    """What else is to be known of labels, features, the splits, the times and the weights, if there is something."""
    homophily, twins, corrected = figures["homophily"], figures["test_twins"], figures["corrected_homophily"]
    if homophily is not None and homophily >= MANY_ALIKE:
        chance = "" if corrected is None else f" ({corrected:.0%} beyond chance)"
        says = f"{homophily:.0%} of the neighbours share a class{chance}: there is little to weigh apart"
        yield Reason("homophily", homophily, says)
    if figures["features"] != "own" and homophily is not None:
        says = (
            "the graph has no features of its own: an encoding of a node's place (--encoding, by default laplacian) "
            "may know already what weights know, and with one such gains have vanished"
        )
        yield Reason("features", 0.0, says)
    if twins is not None and twins >= MANY_TWINS:
        says = (
            f"{twins:.0%} of the test nodes have a training node with the same out-neighbours: looking that up scores "
            "high, so judge on a filtered version of the graph"
        )
        yield Reason("test_twins", twins, says)
    yield from _of_times(figures)


def _of_times(figures: dict[str, Any]) -> Iterator[Reason]:
    if (far := figures["edges_beyond_1e9"]) > MOST_FAR * figures["edges_with_times"]:
        share = far / figures["edges_with_times"]
        says = f"{far:,} edges ({share:.1%}) take more than 1e9 steps, which nobody can mean: use --method escape"
        yield Reason("edges_beyond_1e9", share, says)
    error = figures["solver_error"]["median_relative_error"]
    if error is not None and error > FALSE_TIMES:
        says = f"the solver in use is off by {error:.0%} (median): its times are scores, not expected steps"
        yield Reason("solver_error", error, says)
    if around := [part for part in figures["effective_neighbours"].values() if part]:
        share = sum(part["mean"] for part in around) / sum(part["neighbours"] for part in around)
        kept = f"the weights in use keep {share:.0%} of the neighbours: "
        if share > EVEN_WEIGHTS:
            yield Reason("effective_neighbours", share, kept + "the model is nearly one without weights")
        elif share < ONE_NEIGHBOUR:
            yield Reason("effective_neighbours", share, kept + "most of them are as good as dropped")
