"""How labelled nodes come into the parts of splits: what an import is told, and its updates remember."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.times import parse_moment
from cgnn_cli.datasets.splits import (
    DEFAULT_RATIO,
    DEFAULT_VALIDATION,
    SPLITS_DRAWN,
    filled_by_ratio,
    filled_by_time,
    filled_per_class,
    parse_ratio,
    per_class_splits,
    ratio_splits,
    time_splits,
)
from cgnn_cli.errors import CorruptError, UsageError
from cgnn_cli.graph import Graph

RULE = "split_rule"  # in the summary of an import
KEPT_HINT = "import the dataset again"
TIMELESS = "labelled node(s) have no time, and are in no split"


@dataclass(frozen=True)
class SplitRule:
    """The options of an import that make splits. from_file: they were given, so there is no rule for other nodes."""

    split_ratio: str | None = None
    per_class: int | None = None
    val: int | None = None
    train_before: str | None = None
    test_from: str | None = None
    time_column: str | None = None
    split_count: int = SPLITS_DRAWN
    split_seed: int = 0
    from_file: bool = False

    @classmethod
    def of(cls, options: ImportOptions) -> Self:
        given = {name: getattr(options, name) for name in NAMES if name not in ("from_file", "time_column")}
        dated = None if options.train_before is None else options.time_column
        return cls(**given, time_column=dated, from_file=options.splits is not None)

    @classmethod
    def kept(cls, before: Graph) -> Self | None:
        """That of an imported graph; None where it has no splits."""
        found = before.summary.get(RULE, {})
        if not _is_rule(found):
            raise CorruptError("the rule of the splits, as the dataset's record has it, is damaged", KEPT_HINT)
        return None if before.splits is None else cls(**{name: found[name] for name in NAMES if name in found})

    def drawn_anew(self, asked: Self) -> Self | None:
        """The rule with another number or seed of splits, where an update asks for nothing else; None otherwise."""
        count, seed = asked.split_count, asked.split_seed
        if self.from_file or asked != type(self)(split_count=count, split_seed=seed):
            return None
        return dataclasses.replace(self, split_count=count, split_seed=seed)

    def told(self) -> dict[str, Any]:
        """What is not as usual, as a summary has it."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value != getattr(type(self), name)}

    @property
    def ratio(self) -> tuple[float, float, float]:
        return DEFAULT_RATIO if self.split_ratio is None else parse_ratio(self.split_ratio)

    @property
    def moments(self) -> tuple[float, float] | None:
        """Before when nodes train, and from when on they test."""
        if self.train_before is None:
            return None
        before = parse_moment("--train-before", self.train_before)
        return before, before if self.test_from is None else parse_moment("--test-from", self.test_from)

    def draw(self, labels: np.ndarray, class_names: list[str], time: np.ndarray | None) -> np.ndarray:
        """The splits of a graph that has none; `time` of each node, where they are by a date."""
        if self.per_class is not None:
            val = DEFAULT_VALIDATION if self.val is None else self.val
            return per_class_splits(
                labels, self.per_class, val, self.split_count, self.split_seed, class_names=class_names
            )
        if self.moments is not None and time is not None:
            return time_splits(labels, time, *self.moments, self.ratio, self.split_count, self.split_seed)
        return ratio_splits(labels, self.ratio, self.split_count, self.split_seed)

    def fill(self, splits: np.ndarray, fresh: np.ndarray, labels: np.ndarray, time: np.ndarray | None) -> np.ndarray:
        """Splits in which nodes that had no label before get a part, and all others keep theirs."""
        if self.from_file or not fresh.any():
            return splits
        filled = []
        for number, split in enumerate(splits):  # drawn otherwise by each update
            generator = np.random.default_rng([self.split_seed + number, int((split > 0).sum())])
            if self.per_class is not None:
                filled.append(filled_per_class(split, fresh, labels, self.per_class, generator))
            elif self.moments is not None and time is not None:
                filled.append(filled_by_time(split, fresh, labels, time, *self.moments, self.ratio, generator))
            else:
                filled.append(filled_by_ratio(split, fresh, labels, self.ratio, generator))
        return np.stack(filled)


NAMES = tuple(field.name for field in dataclasses.fields(SplitRule))
TEXTS, COUNTS = ("split_ratio", "train_before", "test_from", "time_column"), ("per_class", "val", "split_count")


def _is_rule(found: Any) -> bool:
    """Whether what a record has may be a rule: it may come from elsewhere."""
    if not isinstance(found, dict):
        return False
    whole = {name: value for name, value in found.items() if name in (*COUNTS, "split_seed")}
    if any(type(value) is not int or value < (name in COUNTS) for name, value in whole.items()):
        return False
    if not all(isinstance(found[name], str) for name in TEXTS if name in found):
        return False
    try:
        rule = SplitRule(**{name: found[name] for name in NAMES if name in found})
        return isinstance(rule.from_file, bool) and (rule.ratio, rule.moments) != ()
    except UsageError:
        return False
