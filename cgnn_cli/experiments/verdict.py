"""From the figures of a diagnosis to a short verdict in plain words. docs/diagnose.md gives the reason of each rule."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

WAY_BACK = 0.2  # share of edges on a directed cycle: web and social graphs tried have 0.3 or more, citation graphs 0.12
POPULARITY = 0.001  # variance of log r as a share of that of log c: below it, c is 1/pi_i + 1/pi_j for all purposes
NO_SPREAD = 0.05  # of the ratio r, 5th to 95th percentile, relative to its median
MANY_TWINS = 0.1
FALSE_TIMES = 0.1  # median relative error of the solver
EVEN_WEIGHTS, ONE_NEIGHBOUR = 0.95, 0.3  # effective neighbours as a share of all
NOTICEABLE = 0.01  # relative gain in the distance to the labels

HEADLINES = {
    "unlikely": "Commute times are unlikely to help here: most edges have no way back.",
    "popularity": (
        "Commute times say hardly more than popularity here: expect true ones to give no more than --solver pi-only "
        "gives."
    ),
    "worth trying": "Commute times are worth trying here: edges have ways back, and times say more than popularity.",
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
    """The answer in a word or two, the sentence for it, and the figures behind it."""

    answer: str
    headline: str
    reasons: list[Reason]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(figures: dict[str, Any]) -> Verdict:
    """The answer follows from ways back and from what times say beyond pi; the rest are cautions that go with it."""
    answer = _answer(figures)
    reasons = [] if answer == "no edges" else [_way_back(figures), _beyond_popularity(figures)]
    reasons += [reason for rule in (_labels, _homophily, _twins, _solver, _neighbours) if (reason := rule(figures))]
    return Verdict(answer, HEADLINES[answer], reasons)


def _answer(figures: dict[str, Any]) -> str:
    if not figures["sampled_edges"]:
        return "no edges"
    if figures["returning_edges"] < WAY_BACK:
        return "unlikely"
    return "popularity" if _is_popularity(figures) else "worth trying"


def _is_popularity(figures: dict[str, Any]) -> bool:
    share = figures["beyond_popularity"]
    return figures["ratio_spread"] < NO_SPREAD or (share is not None and share < POPULARITY)


def _way_back(figures: dict[str, Any]) -> Reason:
    share = figures["returning_edges"]
    if share < WAY_BACK:
        says = (
            f"only {share:.0%} of the edges lie on a directed cycle: after the others a walk returns by what rewiring "
            "or teleporting adds, if at all, as in citation graphs, where the paper itself advises against commute "
            "times"
        )
    else:
        says = f"{share:.0%} of the edges lie on a directed cycle, so that walks return over real edges"
    return Reason("returning_edges", share, says)


def _beyond_popularity(figures: dict[str, Any]) -> Reason:
    spread, share = figures["ratio_spread"], figures["beyond_popularity"]
    varies = "" if share is None else f", {share:.2%} of the variance of log c"
    if _is_popularity(figures):
        says = (
            f"c is nearly 1/pi_i + 1/pi_j: the ratio of the two varies by {spread:.0%}{varies}; run --solver pi-only "
            "beside it, and try --proximity ratio, which weighs by the ratio alone"
        )
    else:
        says = (
            f"the ratio of c to 1/pi_i + 1/pi_j varies by {spread:.0%}{varies}: --proximity ratio weighs by that part "
            "alone"
        )
    return Reason("beyond_popularity", spread if share is None else share, says)


def _labels(figures: dict[str, Any]) -> Reason | None:
    found = figures["label_similarity"]
    if not found or not found["adjacency_scaled"]:
        return None
    gain = 1 - found["weights_scaled"] / found["adjacency_scaled"]
    if gain > NOTICEABLE:
        says = f"the weights in use are {gain:.0%} nearer to which neighbours share a label than the plain edges are"
    elif gain < -NOTICEABLE:
        says = f"the weights in use are {-gain:.0%} farther from which neighbours share a label than the plain edges"
    else:
        says = "the weights in use are no nearer to which neighbours share a label than the plain edges are"
    return Reason("label_similarity", gain, says + ", at the best scale of each")


def _homophily(figures: dict[str, Any]) -> Reason | None:
    share = figures["homophily"]
    if share is None or share < 0.7:
        return None
    return Reason("homophily", share, f"{share:.0%} of the neighbours share a label: there is little to weigh apart")


def _twins(figures: dict[str, Any]) -> Reason | None:
    share = figures["test_twins"]
    if share is None or share < MANY_TWINS:
        return None
    says = (
        f"{share:.0%} of the test nodes have a training node with the same out-neighbours: looking that up scores "
        "high, so judge on a filtered version of the graph"
    )
    return Reason("test_twins", share, says)


def _solver(figures: dict[str, Any]) -> Reason | None:
    error = figures["solver_error"]["median_relative_error"]
    if error is None or error <= FALSE_TIMES:
        return None
    says = f"the solver in use is off by {error:.0%} (median): its weights are scores, not those of expected steps"
    return Reason("solver_error", error, says)


def _neighbours(figures: dict[str, Any]) -> Reason | None:
    found = [part for part in figures["effective_neighbours"].values() if part]
    if not found:
        return None
    share = sum(part["mean"] for part in found) / sum(part["neighbours"] for part in found)
    if share > EVEN_WEIGHTS:
        says = f"the weights in use keep {share:.0%} of the neighbours: the model is nearly one without weights"
    elif share < ONE_NEIGHBOUR:
        says = f"the weights in use keep {share:.0%} of the neighbours: most of them are as good as dropped"
    else:
        return None
    return Reason("effective_neighbours", share, says)
