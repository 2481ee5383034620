"""wiki as a user imports it: hyperlinks among pages of 17 categories, no features, splits of 20/20/60."""

from pathlib import Path

import numpy as np

from tests.front_door import FrontDoor

PAGES = 2405


def import_wiki(cgnn: FrontDoor, real_data: Path) -> None:
    """Its ids follow the categories, so they are permuted."""
    number = np.random.default_rng(0).permutation(PAGES)
    edges = np.loadtxt(real_data / "wiki" / "Wiki_edgelist.txt", dtype=np.int64)
    pages, category = np.loadtxt(real_data / "wiki" / "Wiki_category.txt", dtype=np.int64).T
    np.savetxt("edges.csv", number[edges], fmt="%d", delimiter=",")
    rows = np.column_stack([number[pages], category])
    np.savetxt("labels.csv", rows[np.argsort(rows[:, 0])], fmt="%d", delimiter=",")
    cgnn.ok(*("data", "import", "wiki", "--edges", "edges.csv", "--labels", "labels.csv", "--split-ratio", "20/20/60"))
