"""The commute engine side by side with its peers, as ratios within one run.

    python benchmarks/commute.py --data FOLDER [--large] [--only NAME ...] [--output docs/benchmarks.md]
    python benchmarks/commute.py --quick --output FILE

FOLDER (or CGNN_TEST_DATA) holds the datasets as a mirror does, the Gnutella graph, and standins.py, which makes the
features of arxiv and the stand-in of snap-patents. The tables and figures go between the markers of the page; prose
outside them stays. --only measures some parts again and leaves the others. --quick takes tiny random graphs: a test
of this program, not a measurement. The exit code is 1 if a goal is not met.
"""

import sys

import ratios
import scale
import sets
from program import Options, Parts, run_parts
from tradeoff import tradeoff

PARTS: Parts = {
    "svd": ratios.svd,
    "series": ratios.products,
    "tolerance": ratios.tolerance,
    "error": tradeoff,
    "growth": scale.growth,
    "memory": scale.memory,
    "dense": ratios.dense,
    "networkit": ratios.networkit,
    "sets": sets.sets,
    "large": scale.large,
}

if __name__ == "__main__":
    sys.exit(run_parts(PARTS, "large", Options(__doc__, PARTS).chosen()))
