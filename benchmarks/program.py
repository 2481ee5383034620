"""What the benchmarks that write into docs/benchmarks.md share: their options, and measuring the chosen parts."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from graphs import Sources
from ratios import Setting
from report import Section, measure

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
Parts = Mapping[str, Callable[[Setting], Section]]


class Options(argparse.ArgumentParser):
    """The options of a benchmark with several parts."""

    def __init__(self, description: str | None, parts: Parts) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument("--data", type=Path, default=os.environ.get("CGNN_TEST_DATA"), help="folder of datasets")
        self.add_argument("--scratch", type=Path, help="keep stand-ins here, instead of in a temporary folder")
        self.add_argument("--output", type=Path, default=PAGE, help="page to write into")
        self.add_argument("--only", nargs="+", choices=parts, metavar="NAME", help=f"parts: {', '.join(parts)}")
        self.add_argument("--large", action="store_true", help="also the full-size stand-in of snap-patents: minutes")
        self.add_argument("--quick", action="store_true", help="tiny random graphs and one round")

    def chosen(self) -> argparse.Namespace:
        """The options of the command line."""
        chosen = self.parse_args()
        if chosen.data is None and not chosen.quick:
            self.error("give --data FOLDER or set CGNN_TEST_DATA; --quick needs no data")
        return chosen


@contextmanager
def setting_of(chosen: argparse.Namespace) -> Iterator[Setting]:
    """What the parts are given, with a folder for stand-ins that is there as long as they need it."""
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (chosen.scratch or Path(temporary)).absolute()
        data = None if chosen.quick else Path(chosen.data).absolute()
        images = chosen.output.parent / "images"
        yield Setting(Sources(data, scratch), images, chosen.quick, 1 if chosen.quick else 5)


def run_parts(parts: Parts, large: str, chosen: argparse.Namespace) -> int:
    """Measure the chosen parts, the large one only if it is asked for; 1 if a goal is not met."""
    names = chosen.only or [name for name in parts if name != large or chosen.large]
    with setting_of(chosen) as setting:
        met = measure({name: partial(parts[name], setting) for name in names}, chosen.output)
    return 0 if met or chosen.quick else 1
