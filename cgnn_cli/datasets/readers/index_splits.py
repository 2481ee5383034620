"""Splits that are stored as the numbers of the nodes in each part."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cgnn_cli.datasets.readers.assembly import FETCH_AGAIN
from cgnn_cli.datasets.restricted_pickle import read_split_arrays
from cgnn_cli.datasets.stored_splits import check_splits
from cgnn_cli.errors import DataError
from cgnn_cli.graph import TEST, TRAIN, UNUSED, VALIDATION

PARTS = {"train": TRAIN, "valid": VALIDATION, "test": TEST}


def read_index_splits(path: Path, labels: np.ndarray) -> np.ndarray:
    """The splits of a published file of node numbers, one a row."""
    splits = splits_from_indices(read_split_arrays(path), len(labels), path)
    check_splits(splits, labels, path)
    return splits


def splits_from_indices(stored: Sequence[Mapping[str, np.ndarray]], count: int, path: Path) -> np.ndarray:
    """The part of every node in every split; no node is in two parts."""
    splits = np.full((len(stored), count), UNUSED, dtype=np.uint8)
    for number, parts in enumerate(stored):
        used = np.concatenate([parts[part] for part in PARTS])
        if len(used) and (used.min() < 0 or used.max() >= count):
            odd = int(used.min() if used.min() < 0 else used.max())
            raise DataError(f"{path}: split {number} has node {odd}, but the nodes are 0..{count - 1}", FETCH_AGAIN)
        for part, code in PARTS.items():
            splits[number, parts[part]] = code
        if np.count_nonzero(splits[number]) < len(used):
            node = int(np.argmax(np.bincount(used)))
            raise DataError(f"{path}: split {number} has node {node} more than once", FETCH_AGAIN)
    return splits
