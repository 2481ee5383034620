"""Made graphs: communities whose ties differ from casual links by going both ways, by triangles, by both, by neither.

Everyone has the same number of edges in every design: some to ties in the own community, four times as many casual
one-way links to anyone. A mutual tie counts for both of its ends, so there are half as many of them; circles are of a
size that gives each member its edges. The classes are the communities or, in a `mixed` graph, have nothing to do with
them. docs/where-it-helps.md says what they are for.
"""

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.datasets.demo import word_bags
from cgnn_cli.datasets.generated import Design
from cgnn_cli.datasets.splits import DEFAULT_RATIO, SPLITS_DRAWN, ratio_splits
from cgnn_cli.graph import Graph
from cgnn_cli.numerics.csr import canonical_csr

SEED = 20261119
COMMUNITIES, PEOPLE_EACH = 5, 200
TIES, CASUAL = 4, 16  # edges that leave a person, on average


def made_graph(design: Design) -> Graph:
    """Generate the graph of a design; always the same one."""
    rng = np.random.default_rng(SEED)
    count = COMMUNITIES * PEOPLE_EACH
    community = rng.permutation(np.arange(count) % COMMUNITIES)  # so that node numbers say nothing about it
    ties = [_ties(np.flatnonzero(community == each), design, rng) for each in range(COMMUNITIES)]
    casual = np.repeat(np.arange(count), CASUAL), rng.integers(count, size=count * CASUAL)
    source, target = (np.concatenate(ends) for ends in zip(*ties, casual, strict=True))
    keep = source != target
    adjacency = canonical_csr(csr_array((np.ones(keep.sum()), (source[keep], target[keep])), shape=(count, count)))
    adjacency.data[:] = 1
    labels = community if design.told else rng.permutation(community)
    return Graph(
        adjacency=adjacency,
        features=word_bags(labels, rng),
        labels=labels.astype(np.int64),
        class_names=np.array([f"class {each}".encode() for each in range(COMMUNITIES)]),
        splits=ratio_splits(labels, DEFAULT_RATIO, SPLITS_DRAWN, SEED),
        summary={"edge_lines": int(adjacency.nnz), "repeats": 0, "self_loops": 0, "unlabelled": 0, "notes": []},
    )


def _ties(members: np.ndarray, design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Edges within a community: pairs in both directions, or in one that is drawn."""
    each = TIES if design.mutual else 2 * TIES  # others that a person is tied to
    if design.circles:
        circles = np.array_split(rng.permutation(members), round(len(members) / (each + 1)))
        ends = np.concatenate([circle[np.stack(np.triu_indices(len(circle), 1))] for circle in circles], axis=1)
    else:
        ends = rng.choice(members, size=(2, len(members) * each // 2))
    if design.mutual:
        return np.concatenate(ends), np.concatenate(ends[::-1])
    first = rng.integers(2, size=ends.shape[1])
    places = np.arange(ends.shape[1])
    return ends[first, places], ends[1 - first, places]
