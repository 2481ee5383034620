"""The demo graph: a small social network, generated from a fixed seed.

Five communities of followers. Every person follows a few celebrities of any community (one-way, drawn by fame) and
keeps mutual ties, most of them inside the own community; casual one-way links go anywhere. So a mutual tie says
much about a person's community, a one-way link says little. Features are sparse and noisy: a few words, a minority
from the community's own vocabulary. Some people only follow (sources), some are only followed (sinks), some do
neither (isolated). docs/demo-graph.md gives the numbers.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.splits import ratio_splits
from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import canonical_csr

SEED = 20250713
COMMUNITIES = ("cinema", "cycling", "jazz", "cooking", "astronomy")
PEOPLE_EACH = 296
ISOLATED = 20
CELEBRITIES_EACH = 8
SOURCE_SHARE, SINK_SHARE = 0.10, 0.06
FOLLOWS, CASUAL, MUTUAL = 8, 2, 2
MUTUAL_INSIDE, FOLLOW_INSIDE = 0.9, 0.1
WORDS, OWN_WORDS, WORDS_PER_PERSON, OWN_WORD_SHARE = 400, 40, 8, 0.22
SPLIT_COUNT, SPLIT_RATIO = 5, (0.1, 0.2, 0.7)


def demo_graph() -> Graph:
    """Generate the demo graph; always the same one."""
    rng = np.random.default_rng(SEED)
    people = PEOPLE_EACH * len(COMMUNITIES)
    count = people + ISOLATED
    labels = np.concatenate([np.arange(people) % len(COMMUNITIES), rng.integers(len(COMMUNITIES), size=ISOLATED)])
    source, target = _links(labels[:people], rng)
    keep = source != target
    adjacency = canonical_csr(csr_array((np.ones(keep.sum()), (source[keep], target[keep])), shape=(count, count)))
    adjacency.data[:] = 1
    order = rng.permutation(count)  # so that node numbers say nothing about communities
    adjacency, labels = canonical_csr(adjacency[order][:, order]), labels[order]
    splits = ratio_splits(labels, SPLIT_RATIO, SPLIT_COUNT, SEED)
    return Graph(
        adjacency=adjacency,
        features=word_bags(labels, rng),
        labels=labels.astype(np.int64),
        class_names=np.array([name.encode() for name in COMMUNITIES]),
        splits=splits,
        summary={"edge_lines": int(adjacency.nnz), "repeats": 0, "self_loops": 0, "unlabelled": 0, "notes": []},
    )


def _links(labels: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Follows, casual links and mutual ties, as sources and targets."""
    people = len(labels)
    celebrity = np.arange(people) < CELEBRITIES_EACH * len(COMMUNITIES)
    ordinary = np.flatnonzero(~celebrity)
    shuffled = rng.permutation(ordinary)
    sources = shuffled[: int(SOURCE_SHARE * people)]
    sinks = shuffled[len(sources) : len(sources) + int(SINK_SHARE * people)]

    fame = np.zeros(people)
    fame[celebrity] = 1 / (1 + np.arange(celebrity.sum()) // len(COMMUNITIES))
    follows = _draw(ordinary, FOLLOWS, fame, labels, FOLLOW_INSIDE, rng)
    casual = _draw(ordinary, CASUAL, np.where(celebrity, 0.0, 1.0), labels, 0.2, rng)
    mutual = _draw(ordinary, MUTUAL, np.where(celebrity, 0.0, 1.0), labels, MUTUAL_INSIDE, rng)
    back = mutual[::-1]
    source, target = (np.concatenate(parts) for parts in zip(follows, casual, mutual, back, strict=True))
    allowed = ~np.isin(target, sources) & ~np.isin(source, sinks)
    return source[allowed], target[allowed]


def _draw(
    sources: np.ndarray, each: int, attraction: np.ndarray, labels: np.ndarray, inside: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """`each` targets for every source by attraction; with probability `inside` from the own community."""
    source = np.repeat(sources, each)
    target = rng.choice(len(labels), size=len(source), p=attraction / attraction.sum())
    own = rng.random(len(source)) < inside
    for community in np.unique(labels):
        chosen = own & (labels[source] == community)
        pull = np.where(labels == community, attraction, 0.0)
        target[chosen] = rng.choice(len(labels), size=chosen.sum(), p=pull / pull.sum())
    return source, target


def word_bags(labels: np.ndarray, rng: np.random.Generator) -> csr_array:
    """Bags of words: each person draws a few words, a minority of them from the community's own vocabulary."""
    rows = np.repeat(np.arange(len(labels)), WORDS_PER_PERSON)
    words = rng.integers(WORDS, size=len(rows))
    own = rng.random(len(rows)) < OWN_WORD_SHARE
    words[own] = labels[rows[own]] * OWN_WORDS + rng.integers(OWN_WORDS, size=own.sum())
    bags = canonical_csr(csr_array((np.ones(len(rows)), (rows, words)), shape=(len(labels), WORDS)))
    bags.data[:] = 1
    return csr_array(bags, dtype=np.float32)
