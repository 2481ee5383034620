"""What a benchmark reports: lines with a goal and a verdict, tables, and the page that keeps them between markers."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

NEW_PAGE = "# Benchmarks\n"
HEADER = ("", "goal", "measured", "met")
MISSING = "not installed"


@dataclass(frozen=True)
class Line:
    """A goal and what was measured; `met` is None where a peer is missing or nothing could be measured."""

    number: str
    goal: str
    measured: str
    met: bool | None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        verdict = "not measured" if self.met is None else "yes" if self.met else "**no**"
        return self.number, self.goal, self.measured, verdict


@dataclass(frozen=True)
class Section:
    """The result of one part of the benchmark: its lines, and the tables and figures below its heading."""

    lines: list[Line]
    text: str


def table(rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first row is the header."""
    header, *body = [f"| {' | '.join(row)} |" for row in rows]
    rule = "|" + "---|" * (header.count("|") - 1)
    return "\n".join([header, rule, *body])


def percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 1e-4 else f"{100 * share:.0e} %"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def gibibytes(count: float) -> str:
    return f"{count / 2**30:.2f} GiB"


def seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def measure(parts: Mapping[str, Callable[[], Section]], page: Path) -> bool:
    """Measure each part and write it at once; whether all goals are met."""
    met = True
    for name, part in parts.items():
        started = time.perf_counter()
        section = part()
        cores = len(os.sched_getaffinity(0))
        load, threads = os.getloadavg()[0], os.environ.get("OPENBLAS_NUM_THREADS", str(cores))
        update_page(page, {name: section}, f"{cores} cores, {threads} BLAS threads, load {load:.0f}")
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
        for line in section.lines:
            met &= line.met is not False
            print("   " + " | ".join(line.cells), flush=True)
    return met


def update_page(path: Path, sections: dict[str, Section], conditions: str) -> None:
    """Put the sections between their markers, and their lines into the table of goals; all other text stays."""
    text = path.read_text(encoding="utf-8") if path.exists() else NEW_PAGE
    goals = {row[0]: row for row in _rows(_between(text, "goals") or "")}
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    for name, section in sections.items():
        goals |= {line.number: line.cells for line in section.lines}
        text = _replace(text, name, f"{section.text}\n\nMeasured on {day}, {conditions}.")
    if goals:
        text = _replace(text, "goals", table([HEADER, *(goals[number] for number in sorted(goals))]))
    path.write_text(text, encoding="utf-8")


def _block(name: str) -> re.Pattern[str]:
    return re.compile(f"(<!-- measured: {re.escape(name)} -->\n)(.*?)(<!-- end of {re.escape(name)} -->)", re.DOTALL)


def _between(text: str, name: str) -> str | None:
    found = _block(name).search(text)
    return found[2].rstrip() if found else None


def _replace(text: str, name: str, content: str) -> str:
    """The text with new content between the markers, which are added at its end where they are missing."""
    if _block(name).search(text) is None:
        text = f"{text.rstrip()}\n\n<!-- measured: {name} -->\n<!-- end of {name} -->\n"
    return _block(name).sub(lambda block: f"{block[1]}{content}\n{block[3]}", text)


def _rows(text: str) -> list[tuple[str, str, str, str]]:
    lines = [line.strip("|").split(" | ") for line in text.splitlines()[2:]]
    return [(a.strip(), b.strip(), c.strip(), d.strip()) for a, b, c, d in lines]
