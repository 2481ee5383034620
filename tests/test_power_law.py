"""benchmarks/power_law.py: the graphs that `make bench-scale` makes are what it says of them."""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[1]
NODES, EDGES = 20_000, 200_000


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets, from the files."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import power_law
    finally:
        sys.path.pop(0)
    folder, again = tmp_path_factory.mktemp("made") / "graph", tmp_path_factory.mktemp("again") / "graph"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(power_law, "PIECE", EDGES // 7)
        for each in (folder, again):
            power_law.write(each, NODES, EDGES, files=4)
    assert len(list(folder.iterdir())) == 4
    for path in folder.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()
    found = pq.read_table(folder)
    return found["source"].to_numpy(), found["target"].to_numpy()


def test_degrees_of_a_made_graph(ends: tuple[np.ndarray, np.ndarray]) -> None:
    source, target = ends
    assert len(source) == EDGES and not (source == target).any()
    into, out = (np.bincount(each, minlength=NODES) for each in (target, source))
    assert NODES**0.5 / 2 < into.max() < 2 * NODES**0.5
    assert abs(np.corrcoef(into, out)[0, 1]) < 0.05 and out.max() < 40
    # The share of nodes with an in-degree above x falls like x^-(2.2 - 1), between the mean and the largest.
    low, high = 8, 64
    slope = np.log((into > high).mean() / (into > low).mean()) / np.log(high / low)
    assert slope == pytest.approx(-1.2, abs=0.15)
