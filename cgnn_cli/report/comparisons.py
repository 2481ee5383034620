"""Which runs can be compared split by split, and the table of their differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from cgnn_cli.execution.results import Run
from cgnn_cli.graph import TEST, TRAIN
from cgnn_cli.report.paired import Paired, difference_text, holm, paired_difference
from cgnn_cli.report.run_names import Label, row_name
from cgnn_cli.report.table import Entry, Table, counted, formatted
from cgnn_cli.store.store import Store

MOST_PAIRS = 28  # of 8 runs; more runs are compared with the best only
LEVEL = 0.05
MOST_NAMED = 3
SplitRatio = Callable[[str, Sequence[int]], float | None]  # of a graph by its key, over some of its splits


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same splits of one graph; `corrected` is the p value of the t test after Holm's correction.

    `family` is how many pairs that correction counts; `picked` says that the first run was picked for its mean.
    """

    first: Run
    second: Run
    paired: Paired
    corrected: float | None
    family: int
    picked: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "dataset": self.first.dataset,
            "first": self.first.key,
            "second": self.second.key,
            **self.paired.to_json(),
            "p_holm": self.corrected,
            "holm_family": self.family,
        }


def split_ratios(store: Store, scored: int = TEST) -> SplitRatio:
    """How many nodes splits have to score for each training node, from the graphs of a store.

    None where the store has not the graph. Headers do not tell it, so a graph is read, once.
    """

    @cache
    def sizes(graph: str) -> Any:
        if store.find("graph", graph) is None:
            return None
        splits = store.load("graph", graph).elements["splits"]
        return [((row == scored).sum(), (row == TRAIN).sum()) for row in splits]

    def ratio(graph: str, splits: Sequence[int]) -> float | None:
        if (found := sizes(graph)) is None:
            return None
        return float(sum(found[split][0] for split in splits) / sum(found[split][1] for split in splits))

    return ratio


def compare_runs(runs: Sequence[Run], ratio: SplitRatio) -> list[Comparison]:
    """All pairs of the runs that share graph and splits, at least two of them; where these are many, with the best.

    Holm's correction is over all pairs, so call it with the runs of one page. Those that are left out count too: the
    best was picked by the same scores, and its lead over the others is larger than that of a run named before.
    """
    pairs: list[tuple[Run, Run, bool]] = []
    family = 0
    for group in _comparable(runs):
        ordered = sorted(group, key=lambda run: -run.mean)
        every = list(combinations(ordered, 2))
        family += len(every)
        picked = len(every) > MOST_PAIRS
        pairs += [(*pair, picked) for pair in every if not picked or pair[0] is ordered[0]]
    found = [_difference(first, second, ratio) for first, second, _ in pairs]
    corrected = holm([paired.t_test for paired in found], family)
    return [
        Comparison(first, second, paired, p, family, picked)
        for (first, second, picked), paired, p in zip(pairs, found, corrected, strict=True)
    ]


def compare_pairs(pairs: Iterable[tuple[Run, Run]], ratio: SplitRatio) -> list[Comparison]:
    """Pairs that were named before anything was seen, each over the splits that both have.

    Holm's correction is over all of them. A pair that comes twice counts once: it is for different hypotheses.
    """
    named = {(first.key, second.key): (first, second) for first, second in pairs}
    found = [_difference(*pair, ratio) for pair in named.values()]
    corrected = holm([paired.t_test for paired in found])
    return [
        Comparison(*pair, paired, p, len(named))
        for pair, paired, p in zip(named.values(), found, corrected, strict=True)
    ]


def _difference(first: Run, second: Run, ratio: SplitRatio) -> Paired:
    one, other = (dict(zip(run.splits, run.scores, strict=True)) for run in (first, second))
    common = [split for split in one if split in other]
    share = ratio(first.graph_key, common)
    return paired_difference([one[split] for split in common], [other[split] for split in common], share)


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
    sets = []
    for group in _alike(runs):
        names, rest = ", ".join(str(labels[run.key]) for run in group[:MOST_NAMED]), len(group) - MOST_NAMED
        sets.append(f"{names}{f' and {rest} more' if rest > 0 else ''} on {_told(group[0].splits)}")
    return (
        f"{count} of {counted(every, 'pair')} of runs cannot be compared, because that takes the same splits of one "
        f"graph, at least two: {'; '.join(sets)}."
    )


def _told(splits: Sequence[int]) -> str:
    if len(splits) == 1:
        return f"split {splits[0]}"
    first, last = splits[0], splits[-1]
    is_range = len(splits) > 2 and list(splits) == list(range(first, last + 1))
    return "splits " + (f"{first} to {last}" if is_range else ", ".join(map(str, splits)))


def comparison_table(comparisons: Sequence[Comparison], labels: dict[str, Label]) -> Table:
    """Differences of the test scores, with their p values; the dataset of each, where there are several."""
    datasets = list(dict.fromkeys(each.first.dataset for each in comparisons))
    several = len(datasets) > 1
    rows: list[list[Entry | str]] = []
    for each in comparisons:
        names = [row_name(labels[each.first.key]), row_name(labels[each.second.key])]
        strong = each.corrected is not None and each.corrected < LEVEL
        told = difference_text(each.paired)
        chances = [_p_value(each.paired.t_test), _p_value(each.paired.sign_flips)]
        last = Entry(_p_value(each.corrected), "best" if strong else "")
        place = [each.first.dataset] if several else []
        rows.append([*place, *names, told, str(each.paired.runs), *chances, last])
    heads = (*(["dataset"] if several else []), "run", "against")
    columns = (*heads, "difference", "splits", "p, t test", "p, sign flips", "p, Holm")
    return Table(f"{', '.join(datasets)}: {_caption(comparisons)}", columns, rows, heads=len(heads))


def _caption(comparisons: Sequence[Comparison]) -> str:
    """What was compared, how the pairs were picked, and what the correction counts; a single one needs none."""
    count, family = len(comparisons), comparisons[0].family
    picked = [each.first.key for each in comparisons if each.picked]
    best, pairs = "", f"the {family} of the page"
    if picked:
        alone = len(picked) == count and len(set(picked)) == 1
        several = "(of many runs on the same splits, of the one with the highest mean alone)"
        best = " of the run with the highest mean" if alone else f" {several}"
        pairs = f"all {family} pairs of the page, which the best was picked from,"
    unknown = any(each.paired.test_to_train is None for each in comparisons)
    needs = ", and needs their graph in the store" if unknown else ""
    corrected = f" after Holm's correction over {pairs}" if family > 1 else ""
    measured = comparisons[0].first.measured_words
    return (
        f"{counted(count, 'paired comparison')}{best}, of {measured} in percentage points, ± standard error; the t "
        f"test is corrected for overlapping splits{needs}; p below {LEVEL:g}{corrected} in bold"
    )


def _p_value(p: float | None) -> str:
    return formatted(p, ".0e" if p is not None and p < 0.001 else ".3f")
