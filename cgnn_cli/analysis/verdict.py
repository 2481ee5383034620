"""From the figures of a diagnosis to a short verdict in plain words. docs/diagnose.md gives the reason of each rule."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

WAY_BACK = 0.2  # share of edges on a directed cycle: web and social graphs tried have 0.3 or more, citation graphs 0.12
POPULARITY = 0.001  # variance of log r as a share of that of log c: below it, c is 1/pi_i + 1/pi_j for all purposes
NO_SPREAD = 0.05  # of the ratio r, 5th to 95th percentile, relative to its median
MANY_TWINS = 0.1
MANY_ALIKE = 0.7  # neighbours of one label
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
    if not figures["sampled_edges"]:
        return Verdict("no edges", HEADLINES["no edges"], [*_cautions(figures)])
    answer = "popularity" if _is_popularity(figures) else "worth trying"
    if figures["returning_edges"] < WAY_BACK:
        answer = "unlikely"
    return Verdict(answer, HEADLINES[answer], [_way_back(figures), _beyond_popularity(figures), *_cautions(figures)])


def _is_popularity(figures: dict[str, Any]) -> bool:
    share = figures["beyond_popularity"]
    return figures["ratio_spread"] < NO_SPREAD or (share is not None and share < POPULARITY)


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
            "alone; --proximity neighbours, common neighbours without times, is the cheap control"
        )
    return Reason("beyond_popularity", spread if share is None else share, says)


def _cautions(figures: dict[str, Any]) -> Iterator[Reason]:
    """What else is to be known of labels, the splits, the solver and the weights, where there is something to say."""
    found, homophily, twins = figures["label_similarity"], figures["homophily"], figures["test_twins"]
    if found and found["adjacency_scaled"]:
        gain = 1 - found["weights_scaled"] / found["adjacency_scaled"]
        if gain < -NOTICEABLE:
            says = f"{-gain:.0%} worse at telling which neighbours share a label than the plain edges are"
        else:
            near = f"{gain:.0%} nearer" if gain > NOTICEABLE else "no nearer"
            says = f"{near} to which neighbours share a label than the plain edges are"
        yield Reason("label_similarity", gain, f"the weights in use are {says}, at the best scale of each")
    if homophily is not None and homophily >= MANY_ALIKE:
        says = f"{homophily:.0%} of the neighbours share a label: there is little to weigh apart"
        yield Reason("homophily", homophily, says)
    if twins is not None and twins >= MANY_TWINS:
        says = (
            f"{twins:.0%} of the test nodes have a training node with the same out-neighbours: looking that up scores "
            "high, so judge on a filtered version of the graph"
        )
        yield Reason("test_twins", twins, says)
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
