"""The way from payments to suspects, on a small graph; `make payments` goes it on large ones, with bounds."""

from pathlib import Path

import numpy as np
import pytest

from tests.payments import Size, average_precision_by_degrees, degrees_and_amounts, make_payments, measured, problems

SMALL = Size(accounts=1_500, payments=9_000, merchants=30, in_rings=90, labelled=600, trials=3, epochs=30, top=20)


@pytest.mark.slow
def test_the_way_from_payments_to_suspects(tmp_path: Path) -> None:
    """Three trials have the encoding that tells rings; nothing is trained but by tune, and no time is absurd."""
    found = measured(SMALL, 0, tmp_path)
    assert found["average precision"] > found["by degrees and amounts"] + 0.2, found
    assert not any("time of" in text or "degrees" in text for text in problems(found)), found
    assert found["edges beyond 1e9"] == 0
    assert (tmp_path / "review.html").stat().st_size > 10_000


def test_the_graph_of_payments_has_no_flag_but_its_rings() -> None:
    size = Size()
    made = make_payments(size, 5)
    assert len(made.source) == size.payments and len(set(made.ids)) == size.accounts
    assert len(np.unique(np.concatenate([made.source, made.target]))) == size.accounts
    assert made.in_ring.sum() == size.in_rings and not (made.source == made.target).any()
    assert 0.035 < made.in_ring[made.labelled].mean() < 0.045
    received = np.sort(np.bincount(made.target, minlength=size.accounts))
    assert received[-1] > 5_000 and received[-size.merchants] > 10 * np.median(received), "hubs"
    columns = degrees_and_amounts(made)
    means = [columns[made.in_ring == member].mean(axis=0) for member in (True, False)]
    assert np.abs(means[0] - means[1]).max() < 1.0, "in logarithms"
    assert average_precision_by_degrees(made) < 0.2
    order = np.argsort(made.ids)
    third = made.in_ring[order][: size.accounts // 3].mean()
    assert 0.03 < third < 0.05, "ids say nothing"
    first = made.in_ring[made.source[: size.payments // 3]].mean()
    assert abs(first - made.in_ring[made.source].mean()) < 0.01, "nor does the order of the rows"
