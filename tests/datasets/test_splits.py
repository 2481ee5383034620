"""Split protocols: what they draw, and what they refuse."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgnn_cli.datasets.files.stored_splits import check_splits, splits_from_masks
from cgnn_cli.datasets.splits import (
    DEFAULT_RATIO,
    draw_per_class,
    parse_ratio,
    per_class_split,
    per_class_splits,
    ratio_splits,
)
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import TEST, TRAIN, UNUSED, VALIDATION

PATH = Path("splits.npz")
LABELS = np.repeat([0, 1, -1, 2], [50, 30, 7, 25])


@pytest.mark.parametrize("text", ["48/32/20", "0.48/0.32/0.2", "4.8e1/32/20"])
def test_ratio_is_scaled(text: str) -> None:
    assert parse_ratio(text) == pytest.approx(DEFAULT_RATIO)


@pytest.mark.parametrize(
    "text", ["", "48/32", "1/2/3/4", "a/b/c", "50/50/0", "-1/2/3", "nan/1/1", "inf/1/1", "1e308/1e308/1"]
)
def test_ratio_nonsense_is_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match="--split-ratio"):
        parse_ratio(text)


@given(
    st.lists(st.integers(3, 40), min_size=1, max_size=5),
    st.tuples(*[st.floats(0.01, 100)] * 3),
    st.integers(0, 1000),
)
def test_ratio_splits_divide_every_class(sizes: list[int], parts: tuple[float, float, float], seed: int) -> None:
    ratio = parse_ratio("/".join(map(str, parts)))
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(-1, len(sizes)), [4, *sizes]))
    splits = ratio_splits(labels, ratio, 2, seed)
    assert splits.shape == (2, len(labels))
    assert splits.dtype == np.uint8
    assert (splits[:, labels < 0] == UNUSED).all()
    for label, size in enumerate(sizes):
        counts = np.bincount(splits[0, labels == label], minlength=4)[1:]
        assert counts.sum() == size
        assert counts.min() >= 1
        assert abs(counts - np.multiply(ratio, size)).max() <= 2.5


def test_ratio_splits_are_seeded_split_by_split() -> None:
    splits = ratio_splits(LABELS, DEFAULT_RATIO, 3, seed=5)
    assert np.array_equal(splits[2], ratio_splits(LABELS, DEFAULT_RATIO, 1, seed=7)[0])
    assert not np.array_equal(splits[0], splits[1])
    assert np.bincount(splits[0]).tolist() == [7, 50, 34, 21]


def test_ratio_splits_shuffle_class_by_class() -> None:
    generator, expected = np.random.default_rng(5), np.zeros(len(LABELS), dtype=np.uint8)
    for label, counts in enumerate([(24, 16, 10), (14, 10, 6), (12, 8, 5)]):
        expected[generator.permutation(np.flatnonzero(label == LABELS))] = np.repeat([TRAIN, VALIDATION, TEST], counts)
    assert np.array_equal(ratio_splits(LABELS, DEFAULT_RATIO, 1, seed=5)[0], expected)


@given(st.lists(st.integers(1, 5), max_size=5), st.tuples(*[st.floats(0.01, 100)] * 3), st.integers(0, 1000))
def test_small_classes_fill_train_first(sizes: list[int], parts: tuple[float, float, float], seed: int) -> None:
    ratio = parse_ratio("/".join(map(str, parts)))
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(sizes) + 1), [*sizes, 3]))
    for split in ratio_splits(labels, ratio, 2, seed):
        for label, size in enumerate(sizes):
            counts = np.bincount(split[labels == label], minlength=4).tolist()
            if size < 3:
                assert counts == [0, 1, size - 1, 0]
            else:
                assert counts[0] == 0 and min(counts[1:]) >= 1


def test_which_of_two_nodes_trains_is_drawn() -> None:
    labels = np.array([0, 0, 1, 1, 1])
    assert {tuple(split[:2]) for split in ratio_splits(labels, DEFAULT_RATIO, 20, 0)} == {(1, 2), (2, 1)}


@pytest.mark.parametrize(
    ("labels", "parts"),
    [([0, 0, 1, -1], "no test nodes"), ([0, 1, 2], "no val and no test nodes")],
)
def test_a_part_that_stays_empty(labels: list[int], parts: str) -> None:
    with pytest.raises(DataError, match=parts) as caught:
        ratio_splits(np.array(labels), DEFAULT_RATIO, 2, 0)
    assert "--splits" in caught.value.hint


def test_a_part_without_a_share_may_stay_empty() -> None:
    assert sorted(ratio_splits(np.array([0, 0]), (0.5, 0.5, 0.0), 1, 0)[0]) == [TRAIN, VALIDATION]


def test_a_class_that_is_too_small_for_per_class_is_named() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1])
    with pytest.raises(DataError, match="class 'rare' has 2"):
        per_class_split(labels, 3, 1, 0, class_names=["common", "rare"])
    with pytest.raises(DataError, match="class 1 has 2") as caught:
        per_class_split(labels, 3, 1, 0)
    assert "--per-class 2" in caught.value.hint
    with pytest.raises(DataError, match="leaves 2 labelled"):
        per_class_split(labels, 2, 2, 0)


def test_nothing_to_split() -> None:
    with pytest.raises(DataError, match="no node has a label"):
        ratio_splits(np.full(5, -1), DEFAULT_RATIO, 1, 0)


def test_per_class_split_counts_and_seeds() -> None:
    splits = per_class_splits(LABELS, 5, 40, 3, seed=10)
    assert [np.bincount(split).tolist() for split in splits] == [[7, 15, 40, 50]] * 3
    assert all((np.bincount(LABELS[split == TRAIN]) == 5).all() for split in splits)
    assert np.array_equal(splits[1], per_class_split(LABELS, 5, 40, seed=11))
    assert not np.array_equal(splits[0], splits[1])


def test_per_class_draws_from_the_legacy_generator() -> None:
    train, validation = draw_per_class(LABELS, 2, 3, seed=4)
    generator = np.random.RandomState(4)
    expected = [generator.choice(np.flatnonzero(label == LABELS), 2, replace=False) for label in range(3)]
    assert train.tolist() == np.concatenate(expected).tolist()
    others = [node for node in np.flatnonzero(LABELS >= 0) if node not in train]
    assert validation.tolist() == generator.choice(others, 3, replace=False).tolist()


@pytest.mark.realdata
def test_citeseer_split_of_the_papers(real_data: Path) -> None:
    labels = np.load(real_data / "citeseer" / "citeseer.npz", allow_pickle=False)["labels"].astype(np.int64)
    train, validation = draw_per_class(labels, 20, 500, seed=1020)
    assert train[:5].tolist() == [1670, 596, 966, 294, 2573]
    assert validation[:5].tolist() == [1944, 3143, 2312, 2881, 2480]
    digests = [hashlib.sha256(np.sort(ids).astype("<i8").tobytes()).hexdigest()[:16] for ids in (train, validation)]
    assert digests == ["bc44c8e9836f3408", "0c5a8f051aba72ac"]
    assert (per_class_split(labels, 20, 500, seed=1020) == TEST).sum() == 2692


def masks_of(splits: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{part}_mask": splits == code for part, code in {"train": TRAIN, "val": VALIDATION, "test": TEST}.items()}


def test_masks_of_every_shape() -> None:
    splits = np.array([[1, 2, 3, 0], [3, 2, 1, 1]], dtype=np.uint8)
    masks = masks_of(splits)
    assert np.array_equal(splits_from_masks(masks, 4, PATH), splits)
    assert np.array_equal(splits_from_masks({name: mask.T for name, mask in masks.items()}, 4, PATH), splits)
    plural = {name + "s": mask.astype(np.uint8) for name, mask in masks_of(splits[0]).items()}
    assert np.array_equal(splits_from_masks(plural, 4, PATH), splits[:1])


def test_masks_that_do_not_fit() -> None:
    masks = masks_of(np.array([[1, 2, 3], [1, 2, 3]]))
    with pytest.raises(DataError, match="split 1 has node 0 in val and in another part"):
        splits_from_masks({**masks, "val_mask": np.array([[0, 1, 0], [1, 1, 0]])}, 3, PATH)
    with pytest.raises(DataError, match=r"no val_mask; it holds test_mask, train_mask"):
        splits_from_masks({name: mask for name, mask in masks.items() if name != "val_mask"}, 3, PATH)
    with pytest.raises(DataError, match="the graph has 5 nodes"):
        splits_from_masks(masks, 5, PATH)
    with pytest.raises(DataError, match="other values"):
        splits_from_masks({**masks, "train_mask": np.array([0, 1, 2])}, 3, PATH)
    with pytest.raises(DataError, match="different numbers of splits"):
        splits_from_masks({**masks, "train_mask": np.array([1, 0, 0])}, 3, PATH)


def test_stored_splits_are_checked() -> None:
    labels = np.array([0, 1, 0, -1])
    check_splits(np.array([[1, 2, 3, 0]]), labels, PATH)
    with pytest.raises(DataError, match=r"split 1 uses 1 node\(s\) without a label, first 'd'"):
        check_splits(np.array([[1, 2, 3, 0], [1, 2, 3, 3]]), labels, PATH, "abcd".__getitem__)
    with pytest.raises(DataError, match="split 0 has no val nodes"):
        check_splits(np.array([[1, 1, 3, 0]]), labels, PATH)
