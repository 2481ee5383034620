"""Arrays that may be larger than memory: files without names where they are large, and the same numbers."""

from pathlib import Path

import numpy as np
import pytest

from cgnn_cli import mapped, resources, scratch

LARGE = 1000  # bytes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(resources, "MAPPED_FROM", LARGE)
    monkeypatch.setattr(scratch, "SLICE", 7)
    return tmp_path


def test_large_arrays_lie_in_files_that_have_no_name(folder: Path) -> None:
    with scratch.lying_in(folder, 1 << 30):
        large, small = scratch.zeros((50, 3)), scratch.zeros(LARGE // 8 - 1)
    assert mapped.is_mapped(large) and mapped.is_mapped(large.T[1:]) and not mapped.is_mapped(small)
    assert list(folder.iterdir()) == [] and not large.any() and not small.any()
    large[:] = 7
    assert large.sum() == 1050 and not mapped.is_mapped(large.copy())


def test_without_a_folder_all_arrays_are_ordinary(folder: Path) -> None:
    assert not mapped.is_mapped(scratch.empty(LARGE))
    with scratch.lying_in(folder, 1 << 30), scratch.lying_in(folder, 1 << 20):
        assert scratch.block_entries() == max((1 << 20) // 256, resources.LEAST_ENTRIES)
    assert not mapped.is_mapped(scratch.computed(LARGE, lambda part: 1.0))


@pytest.mark.parametrize("length", [0, 1, 7, 50, 1000])
def test_what_is_made_in_slices_is_what_numpy_makes_at_once(folder: Path, length: int) -> None:
    values = np.random.default_rng(length).standard_normal(length)
    mask = values > 0
    places = np.argsort(values)
    with scratch.lying_in(folder, 1 << 30):
        np.testing.assert_array_equal(scratch.computed(length, lambda part: np.exp(values[part])), np.exp(values))
        np.testing.assert_array_equal(scratch.selected(length, lambda part: mask[part]), np.flatnonzero(mask))
        np.testing.assert_array_equal(scratch.compressed(values, mask), values[mask])
        np.testing.assert_array_equal(scratch.gathered(values, places), values[places])
        assert scratch.count(length, lambda part: mask[part]) == mask.sum()
        assert scratch.compressed(values, np.ones(length, bool)) is values
        pieces = scratch.Pieces()
        for part in scratch.parts(length):
            pieces.add(values[part])
        joined = pieces.joined()
    np.testing.assert_array_equal(joined, values)
    assert mapped.is_mapped(joined) == (8 * length >= LARGE)
    assert list(folder.iterdir()) == []
