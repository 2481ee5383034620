"""Splits the user gives: masks in an .npz file, or a table with a column a split."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from cgnn_cli.datasets.files.archives import read_masks
from cgnn_cli.datasets.files.arrays import NPY_MAGIC
from cgnn_cli.datasets.files.nodes import Nodes
from cgnn_cli.datasets.files.reading import read_array_or_table
from cgnn_cli.datasets.files.tables import IDS_HINT, Reading, Table
from cgnn_cli.datasets.files.titles import names_node
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError
from cgnn_cli.graph import SPLIT_PARTS, UNUSED

SPLIT_WORDS = {"": UNUSED, **SPLIT_PARTS, "valid": SPLIT_PARTS["val"], "validation": SPLIT_PARTS["val"]}
Name = Callable[[int], str]


def read_splits(path: Path, nodes: Nodes, reading: Reading, id_column: str | None = None) -> np.ndarray:
    """The splits in a file, one a row."""
    content = read_array_or_table(path, reading)
    if isinstance(content, Table):
        return _table_splits(content, nodes, reading, id_column)
    if content.startswith(NPY_MAGIC):
        hint = "store train_mask, val_mask and test_mask"
        raise DataError(f"{path} is a .npy file, but splits are .npz or CSV", hint)
    if nodes.names is not None:
        raise DataError(f"{path} has masks for nodes 0..N-1, but the nodes have ids of their own", IDS_HINT)
    return splits_from_masks(read_masks(content, path), nodes.count, path)


def _table_splits(table: Table, nodes: Nodes, reading: Reading, id_column: str | None) -> np.ndarray:
    if len(table.columns) < 2:
        raise DataError(f"{table.path} has one column, but it needs a node id and a column a split", IDS_HINT)
    if table.header is None:
        table = table.take_header(_has_header(table, nodes) if reading.header is None else reading.header, reading)
    named = [place for place, title in enumerate(table.header or ()) if names_node(title)]
    asked = id_column if id_column in (table.header or ()) else None  # that of other tables need not be here
    ids = table.find_column(asked, "--id-column", named[0] if len(named) == 1 else 0)
    table.check_exact(ids, "node ids")
    positions = nodes.positions(table.columns[ids])
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        hint = "check the ids"
        raise DataError(f"{table.where(row)}: {shorten(table.columns[ids][row])} is no node of the graph", hint)
    table.check_single_rows(positions, ids)
    columns = [column for column in range(len(table.columns)) if column != ids]
    splits = np.full((len(columns), nodes.count), UNUSED, dtype=np.uint8)
    for split, column in enumerate(columns):
        splits[split, positions] = _split_parts(table, column)
    return splits


def _has_header(table: Table, nodes: Nodes) -> bool:
    """A first row with a node of the graph is none; else it is one where it says more than parts, or names the ids."""
    first = table.row(0)
    if nodes.has(first[0]):
        return False
    return not all(_part(field) in SPLIT_WORDS for field in first[1:]) or names_node(first[0])


def holds_splits(table: Table) -> bool:
    """Whether every column but the first holds parts of splits and nothing else; the first row may be a header."""
    rest = [column[1:] if table.header is None else column for column in table.columns[1:]]
    return bool(rest) and all(
        any(word for word in words) and all(_part(word) in SPLIT_WORDS for word in words)
        for words in (column.encoded[1] for column in rest)
    )


def _part(field: str) -> str:
    return field.strip().lower()


def _split_parts(table: Table, column: int) -> np.ndarray:
    codes, words = table.columns[column].encoded
    parts = np.array([SPLIT_WORDS.get(_part(word), -1) for word in words])[codes]
    if (parts < 0).any():
        row = int(np.argmax(parts < 0))
        field = shorten(words[codes[row]])
        raise DataError(f"{table.where(row)}: {field} is no part of a split", "use train, val, test or nothing")
    return parts


def splits_from_masks(masks: Mapping[str, np.ndarray], node_count: int, path: Path) -> np.ndarray:
    """Stored train, val and test masks of shape N, S x N or N x S as splits."""
    parts = {part: _mask_rows(_find_mask(masks, part, path), part, node_count, path) for part in SPLIT_PARTS}
    shapes = {part: mask.shape for part, mask in parts.items()}
    if len(set(shapes.values())) > 1:
        hint = "store one mask a split and part"
        raise DataError(f"{path}: the masks have different numbers of splits: {shapes}", hint)
    splits = np.full(parts["train"].shape, UNUSED, dtype=np.uint8)
    for part, mask in parts.items():
        taken = (splits != UNUSED) & mask
        if taken.any():
            split, node = np.argwhere(taken)[0]
            hint = "make the masks disjoint"
            raise DataError(f"{path}: split {split} has node {node} in {part} and in another part", hint)
        splits[mask] = SPLIT_PARTS[part]
    return splits


def check_splits(splits: np.ndarray, labels: np.ndarray, path: Path, name: Name | None = None) -> None:
    """Stored splits use labelled nodes only, and no part of them is empty."""
    for number, split in enumerate(splits):
        unlabelled = np.flatnonzero((split != UNUSED) & (labels < 0))
        if len(unlabelled):
            first = str(unlabelled[0]) if name is None else shorten(name(int(unlabelled[0])))
            message = f"{path}: split {number} uses {len(unlabelled)} node(s) without a label, first {first}"
            raise DataError(message, "label them or take them out of the split")
        for part, code in SPLIT_PARTS.items():
            if not (split == code).any():
                raise DataError(f"{path}: split {number} has no {part} nodes", "give each part of a split some nodes")


def _find_mask(masks: Mapping[str, np.ndarray], part: str, path: Path) -> np.ndarray:
    for name in (f"{part}_mask", f"{part}_masks"):
        if name in masks:
            return np.asarray(masks[name])
    hint = "store train_mask, val_mask and test_mask with numpy.savez"
    raise DataError(f"{path} has no {part}_mask; it holds {', '.join(sorted(masks)) or 'nothing'}", hint)


def _mask_rows(mask: np.ndarray, part: str, node_count: int, path: Path) -> np.ndarray:
    if mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
        raise DataError(f"{path}: {part}_mask holds other values than true and false", "store masks as booleans")
    if mask.ndim == 1:
        mask = mask[np.newaxis]
    if mask.ndim == 2 and mask.shape[1] != node_count:
        mask = mask.T
    if mask.ndim != 2 or mask.shape[1] != node_count or not len(mask):
        hint = "masks have one entry a node: N, splits x N or N x splits"
        raise DataError(f"{path}: {part}_mask has shape {mask.shape}, but the graph has {node_count} nodes", hint)
    return mask.astype(bool)
