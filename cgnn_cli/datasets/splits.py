"""Split protocols: which nodes train, validate and test. Nodes without a label (-1) are in no part of a split."""

import math
from collections.abc import Sequence

import numpy as np

from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import SPLIT_PARTS, TEST, TRAIN, UNUSED, VALIDATION

Ratio = tuple[float, float, float]
DEFAULT_RATIO: Ratio = (0.48, 0.32, 0.20)
DEFAULT_VALIDATION = 500
SPLITS_DRAWN = 10  # of a graph that comes without splits
LARGEST_SEED = 2**32 - 1
Names = Sequence[str] | None


def parse_ratio(text: str) -> Ratio:
    """`48/32/20` as shares of train, validation and test that sum to 1."""
    try:
        parts = [float(part) for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) != 3 or not all(math.isfinite(part) and part > 0 for part in parts) or math.isinf(sum(parts)):
        hint = "for example 48/32/20"
        raise UsageError(f"--split-ratio must be three positive numbers, train/validation/test, got {text!r}", hint)
    train, validation, test = (part / sum(parts) for part in parts)
    return train, validation, test


def ratio_splits(labels: np.ndarray, ratio: Ratio, count: int, seed: int) -> np.ndarray:
    """`count` random splits in which each class is divided by `ratio`; split r is drawn with seed + r.

    A class of 3 nodes or more is in every part. The only node of a class trains; of two, one trains and one validates.
    """
    splits = np.stack([_ratio_split(labels, ratio, np.random.default_rng(seed + split)) for split in range(count)])
    shares = zip(SPLIT_PARTS.items(), ratio, strict=True)
    empty = [part for (part, code), share in shares if share > 0 and not (splits[0] == code).any()]
    if empty:
        message = f"a split by ratio leaves no {' and no '.join(empty)} nodes: no class has 3 labelled nodes"
        raise DataError(message, "label more nodes, merge classes, or give the splits with --splits")
    return splits


def _ratio_split(labels: np.ndarray, ratio: Ratio, generator: np.random.Generator) -> np.ndarray:
    split = np.full(len(labels), UNUSED, dtype=np.uint8)
    for _, members in _members(labels):
        train, validation, _ = _part_sizes(len(members), ratio)
        shuffled = generator.permutation(members)
        split[shuffled[:train]] = TRAIN
        split[shuffled[train : train + validation]] = VALIDATION
        split[shuffled[train + validation :]] = TEST
    return split


def _part_sizes(size: int, ratio: Ratio) -> tuple[int, int, int]:
    """How many nodes of a class train, validate and test."""
    train = min(max(round(ratio[0] * size), 1), max(size - 2, 1))
    validation = min(max(round(ratio[1] * size), 1), max(size - train - 1, 1), size - train)
    return train, validation, size - train - validation


def filled_by_ratio(
    split: np.ndarray, fresh: np.ndarray, labels: np.ndarray, ratio: Ratio, generator: np.random.Generator
) -> np.ndarray:
    """A split with parts for some fresh nodes: each class comes as near to the ratio as the kept parts allow."""
    filled = split.copy()
    for _, members in _members(labels):
        _fill(filled, members, fresh, _part_sizes(len(members), ratio), generator)
    return filled


def filled_per_class(
    split: np.ndarray, fresh: np.ndarray, labels: np.ndarray, per_class: int, generator: np.random.Generator
) -> np.ndarray:
    """A split with parts for some fresh nodes: those of a class that lacks training nodes train, all others test."""
    filled = split.copy()
    for _, members in _members(labels):
        new = generator.permutation(members[fresh[members]])
        lacking = max(per_class - int((split[members] == TRAIN).sum()), 0)
        filled[new[:lacking]], filled[new[lacking:]] = TRAIN, TEST
    return filled


def filled_by_time(
    split: np.ndarray,
    fresh: np.ndarray,
    labels: np.ndarray,
    time: np.ndarray,
    before: float,
    start: float,
    shares: Ratio,
    generator: np.random.Generator,
) -> np.ndarray:
    """A split with parts for some fresh nodes by their times, as `time_splits` gives them."""
    filled = split.copy()
    filled[fresh & (time >= before)] = VALIDATION
    filled[fresh & (time >= start)] = TEST
    early = fresh & (time < before)
    if before < start:
        filled[early] = TRAIN
    elif early.any():
        share = shares[0] / (shares[0] + shares[1])
        for _, members in _members(np.where(early | ((split > UNUSED) & (split < TEST)), labels, -1)):
            train = _held_in(len(members), share)
            _fill(filled, members, early, (train, len(members) - train, 0), generator)
    return filled


def _fill(
    split: np.ndarray,
    members: np.ndarray,
    fresh: np.ndarray,
    sizes: tuple[int, int, int],
    generator: np.random.Generator,
) -> None:
    """Give the fresh ones of some members parts, by chance those that lack nodes of the sizes they should have."""
    new = members[fresh[members]]
    lacking = [max(size - int((split[members] == code).sum()), 0) for code, size in enumerate(sizes, start=TRAIN)]
    split[new] = generator.permutation(np.repeat([TRAIN, VALIDATION, TEST], lacking))[: len(new)]


def time_splits(
    labels: np.ndarray, time: np.ndarray, before: float, start: float, shares: Ratio, count: int, seed: int
) -> np.ndarray:
    """Splits by the time of each node: nodes of earlier than `before` train, those from `start` on test.

    Those between validate, which makes one split. Where there are none between because the two are one moment, the
    earlier nodes of each class are divided at random, `count` times, by the shares of train and validation. Nodes
    without a time are in no part.
    """
    split = np.full(len(labels), UNUSED, dtype=np.uint8)
    known = (labels >= 0) & ~np.isnan(time)
    split[known & (time < before)] = TRAIN
    split[known & (time >= before)] = VALIDATION
    split[known & (time >= start)] = TEST
    counts = ", ".join(f"{part} {int((split == code).sum())}" for part, code in SPLIT_PARTS.items())
    if not (split == TRAIN).any() or not (split == TEST).any() or (before < start and not (split == VALIDATION).any()):
        hint = "choose other dates; a node's time is that of its first edge, or of a column of the labels"
        raise DataError(f"the dates leave a part of the split without labelled nodes: {counts}", hint)
    if before < start:
        return split[np.newaxis]
    share = shares[0] / (shares[0] + shares[1])
    draws = (np.random.default_rng(seed + number) for number in range(count))
    return np.stack([_hold_out(split, labels, share, generator) for generator in draws])


def _hold_out(split: np.ndarray, labels: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """A split with a part of each class's training nodes taken to validate; one node of a class stays to train."""
    divided = split.copy()
    for _, members in _members(np.where(split == TRAIN, labels, -1)):
        divided[generator.permutation(members)[_held_in(len(members), share) :]] = VALIDATION
    return divided


def _held_in(size: int, share: float) -> int:
    """How many of a class stay to train."""
    return max(min(round(share * size), size - 1), 1)


def thin_classes(splits: np.ndarray, labels: np.ndarray, class_names: Sequence[str]) -> list[str]:
    """What is said of classes that some split leaves without nodes in a part."""
    said = []
    for label, members in _members(labels):
        lacking = [
            f"no {part} node in {missing} of {len(splits)} split(s)"
            for part, code in SPLIT_PARTS.items()
            if (missing := int((~(splits[:, members] == code).any(axis=1)).sum()))
        ]
        if lacking:
            said.append(f"class {class_names[label]!r} ({len(members)} labelled node(s)) has {', '.join(lacking)}")
    return said


def draw_per_class(
    labels: np.ndarray, per_class: int, val: int, seed: int, *, class_names: Names = None
) -> tuple[np.ndarray, np.ndarray]:
    """The train and validation nodes of the split that digraph papers use, in the order drawn.

    From the legacy RandomState(seed): `per_class` nodes of each class in turn, then `val` of all others.
    """
    generator = np.random.RandomState(seed)
    drawn = []
    for label, members in _members(labels):
        if len(members) < per_class:
            raise DataError(
                f"class {shown(label, class_names)} has {len(members)} labelled node(s), not {per_class} (--per-class)",
                f"use --per-class {len(members)} or less, or --split-ratio",
            )
        drawn.append(generator.choice(members, per_class, replace=False))
    train = np.concatenate(drawn)
    others = np.setdiff1d(np.flatnonzero(labels >= 0), train)
    if len(others) <= val:
        raise DataError(
            f"--per-class {per_class} leaves {len(others)} labelled node(s), too few for --val {val} and some to test",
            "use a smaller --val or --per-class, or --split-ratio",
        )
    return train, generator.choice(others, val, replace=False)


def per_class_split(
    labels: np.ndarray, per_class: int, val: int, seed: int, *, class_names: Names = None
) -> np.ndarray:
    """One split of `draw_per_class`; all other labelled nodes test."""
    train, validation = draw_per_class(labels, per_class, val, seed, class_names=class_names)
    split = np.where(labels >= 0, TEST, UNUSED).astype(np.uint8)
    split[train], split[validation] = TRAIN, VALIDATION
    return split


def per_class_splits(
    labels: np.ndarray, per_class: int, val: int, count: int, seed: int, *, class_names: Names = None
) -> np.ndarray:
    """`count` splits of `per_class_split`; split r is drawn with seed + r."""
    return np.stack(
        [per_class_split(labels, per_class, val, seed + split, class_names=class_names) for split in range(count)]
    )


def shown(number: int, names: Names) -> str:
    """A class or node as it goes into a message: its name, or its number where it has none."""
    return str(number) if names is None else repr(names[number])


def _members(labels: np.ndarray) -> list[tuple[int, np.ndarray]]:
    classes = np.unique(labels[labels >= 0])
    if not len(classes):
        raise DataError("no node has a label, so there is nothing to split", "give labels, or no split option")
    return [(int(label), np.flatnonzero(labels == label)) for label in classes]
