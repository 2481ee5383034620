"""The commute engine side by side with its peers, as ratios within one run.

    python benchmarks/commute.py --data FOLDER [--large] [--only NAME ...] [--output docs/benchmarks.md]
    python benchmarks/commute.py --quick --output FILE

FOLDER (or CGNN_TEST_DATA) holds the datasets as a mirror does, the Gnutella graph, and standins.py, which makes the
features of arxiv and the stand-in of snap-patents. The tables and figures go between the markers of the page; prose
outside them stays. --only measures some parts again and leaves the others. --quick takes tiny random graphs: a test
of this program, not a measurement. The exit code is 1 if a goal is not met.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import ratios
import scale
from graphs import Sources
from ratios import Setting
from report import Section, measure
from tradeoff import tradeoff

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PARTS: dict[str, Callable[[Setting], Section]] = {
    "svd": ratios.svd,
    "series": ratios.products,
    "tolerance": ratios.tolerance,
    "error": tradeoff,
    "growth": scale.growth,
    "memory": scale.memory,
    "dense": ratios.dense,
    "networkit": ratios.networkit,
    "large": scale.large,
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("CGNN_TEST_DATA"), help="folder of datasets")
    parser.add_argument("--scratch", type=Path, help="keep stand-ins here, instead of in a temporary folder")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write into")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="NAME", help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--large", action="store_true", help="also the full-size stand-in of snap-patents: minutes")
    parser.add_argument("--quick", action="store_true", help="tiny random graphs and one round")
    chosen = parser.parse_args()
    if chosen.data is None and not chosen.quick:
        parser.error("give --data FOLDER or set CGNN_TEST_DATA; --quick needs no data")
    return chosen


def main() -> int:
    chosen = options()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (chosen.scratch or Path(temporary)).absolute()
        data = None if chosen.quick else Path(chosen.data).absolute()
        images = chosen.output.parent / "images"
        setting = Setting(Sources(data, scratch), images, chosen.quick, 1 if chosen.quick else 5)
        names = chosen.only or [name for name in PARTS if name != "large" or chosen.large]
        met = measure({name: partial(PARTS[name], setting) for name in names}, chosen.output)
        return 0 if met or chosen.quick else 1


if __name__ == "__main__":
    sys.exit(main())
