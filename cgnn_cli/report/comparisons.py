"""Which runs can be compared split by split, and the table of their differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from cgnn_cli.report.labels import Label, row_name
from cgnn_cli.report.paired import Paired, holm, paired_difference
from cgnn_cli.report.runs import Run
from cgnn_cli.report.table import DASH, Entry, Table

MOST_PAIRS = 28  # of 8 runs; more runs are compared with the best only
LEVEL = 0.05
MOST_NAMED = 3


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same splits of one graph; `corrected` is the p value of the t test after Holm's correction.

    `family` is how many pairs that correction counts, where these were picked from more than are shown.
    """

    first: Run
    second: Run
    paired: Paired
    corrected: float | None
    family: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.first.dataset,
            "first": self.first.key,
            "second": self.second.key,
            **self.paired.to_json(),
            "p_holm": self.corrected,
            **({} if self.family is None else {"holm_family": self.family}),
        }


def compare_runs(runs: Sequence[Run]) -> list[Comparison]:
    """All pairs of the runs that share graph and splits, at least two of them; where these are many, with the best.

    Holm's correction is over all pairs, so call it with the runs of one table. Those that are left out count too: the
    best was picked by the same accuracies, and its lead over the others is larger than that of a run named before.
    """
    pairs, family = [], 0
    for group in _comparable(runs):
        ordered = sorted(group, key=lambda run: -run.mean)
        every = list(combinations(ordered, 2))
        family += len(every)
        pairs += every if len(every) <= MOST_PAIRS else [(ordered[0], other) for other in ordered[1:]]
    found = [paired_difference(first.accuracies, second.accuracies) for first, second in pairs]
    corrected = holm([paired.t_test for paired in found], family)
    return [Comparison(*pair, paired, p, family) for pair, paired, p in zip(pairs, found, corrected, strict=True)]


def compare_pairs(pairs: Iterable[tuple[Run, Run]]) -> list[Comparison]:
    """Pairs that were named before anything was seen, each over the splits that both have.

    Holm's correction is over all of them. A pair that comes twice counts once: it is for different hypotheses.
    """
    named = {(first.key, second.key): (first, second) for first, second in pairs}
    found = [_common_difference(*pair) for pair in named.values()]
    corrected = holm([paired.t_test for paired in found])
    return [Comparison(*pair, paired, p) for pair, paired, p in zip(named.values(), found, corrected, strict=True)]


def _common_difference(first: Run, second: Run) -> Paired:
    one, other = (dict(zip(run.splits, run.accuracies, strict=True)) for run in (first, second))
    common = [split for split in one if split in other]
    return paired_difference([one[split] for split in common], [other[split] for split in common])


def not_comparable(first: Run, second: Run) -> str:
    """Why two runs cannot be compared split by split; empty if they can."""
    if first.key == second.key:
        return "they are one and the same run"
    if first.graph_key != second.graph_key:
        return "their graphs differ"
    if len(set(first.splits) & set(second.splits)) < 2:
        return f"fewer than two splits in common: {_told(first.splits)}, and {_told(second.splits)}"
    return ""


def _alike(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs by graph and splits."""
    groups: dict[tuple[str, tuple[int, ...]], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.graph_key, tuple(run.splits)), []).append(run)
    return list(groups.values())


def _comparable(runs: Sequence[Run]) -> list[list[Run]]:
    return [group for group in _alike(runs) if len(group) > 1 and len(group[0].splits) > 1]


def uncompared(runs: Sequence[Run], labels: dict[str, Label]) -> str:
    """A sentence on the pairs of runs that cannot be compared, with the splits of each run; empty if there are none."""
    every = math.comb(len(runs), 2)
    count = every - sum(math.comb(len(group), 2) for group in _comparable(runs))
    if not count:
        return ""
    sets = "; ".join(f"{_named(group, labels)} on {_told(group[0].splits)}" for group in _alike(runs))
    return (
        f"{count} of {every} pair{'s' if every > 1 else ''} of runs cannot be compared, because that takes the same "
        f"splits of one graph, at least two: {sets}."
    )


def _named(runs: Sequence[Run], labels: dict[str, Label]) -> str:
    names = [str(labels[run.key]) for run in runs[:MOST_NAMED]]
    rest = len(runs) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")


def _told(splits: Sequence[int]) -> str:
    if len(splits) == 1:
        return f"split {splits[0]}"
    first, last = splits[0], splits[-1]
    is_range = len(splits) > 2 and list(splits) == list(range(first, last + 1))
    return "splits " + (f"{first} to {last}" if is_range else ", ".join(map(str, splits)))


def comparison_table(comparisons: Sequence[Comparison], labels: dict[str, Label]) -> Table:
    """Differences of test accuracy, with their p values; the dataset of each, where there are several."""
    datasets = list(dict.fromkeys(each.first.dataset for each in comparisons))
    several = len(datasets) > 1
    rows: list[list[Entry | str]] = [
        [
            *([each.first.dataset] if several else []),
            row_name(labels[each.first.key]),
            row_name(labels[each.second.key]),
            _difference(each.paired),
            str(each.paired.runs),
            _p_value(each.paired.t_test),
            _p_value(each.paired.sign_flips),
            Entry(_p_value(each.corrected), "best" if each.corrected is not None and each.corrected < LEVEL else ""),
        ]
        for each in comparisons
    ]
    count = len(comparisons)
    best, corrected = _picked(comparisons)
    caption = (
        f"{', '.join(datasets)}: {count} paired comparison{'s' if count > 1 else ''}{best}, of test accuracy "
        f"in percentage points, ± standard error; p below {LEVEL:g}{corrected} in bold"
    )
    heads = (*(["dataset"] if several else []), "run", "against")
    columns = (*heads, "difference", "splits", "p, t test", "p, sign flips", "p, Holm")
    return Table(caption, columns, rows, heads=len(heads))


def _picked(comparisons: Sequence[Comparison]) -> tuple[str, str]:
    """How the pairs were picked, and what the correction counts; a single one needs none."""
    count, family = len(comparisons), comparisons[0].family
    if family is None or family == count:
        return "", f" after Holm's correction over the {count}" if count > 1 else ""
    alone = len({each.first.key for each in comparisons}) == 1
    several = "(of many runs on the same splits, of the one with the highest mean alone)"
    return (
        f" {'of the run with the highest mean' if alone else several}",
        f" after Holm's correction over all {family} pairs, which the best was picked from,",
    )


def _difference(paired: Paired) -> str:
    return f"{100 * paired.mean:+.2f}" + ("" if paired.error is None else f" ± {100 * paired.error:.2f}")


def _p_value(p: float | None) -> str:
    if p is None:
        return DASH
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"
