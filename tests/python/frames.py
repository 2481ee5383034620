"""A small graph of payments as data frames: two groups that mostly pay among themselves, each with its own amounts."""

from typing import Any

import numpy as np
import pandas as pd

SMALL: dict[str, Any] = {"epochs": 8, "hidden": 4, "verbose": False}
FLAGS = ("--epochs", 8, "--hidden", 4)


def payments(count: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Edges, labels of three quarters of the accounts, and features of all."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"ACC{number:03d}" for number in rng.permutation(count)])
    group = np.arange(count) % 2
    source = rng.integers(count, size=6 * count)
    target = (source + 2 * rng.integers(1, count // 2, size=6 * count) + (rng.random(6 * count) < 0.1)) % count
    edges = pd.DataFrame({"payer": ids[source], "payee": ids[target], "amount": rng.integers(1, 90, 6 * count) / 4})
    known = rng.permutation(count)[: 3 * count // 4]
    labels = pd.DataFrame({"account": ids[known], "status": np.where(group[known] == 1, "shop", "person")})
    numbers = (rng.standard_normal((count, 3)) + group[:, None]).round(3)
    features = pd.DataFrame({"account": ids, **{f"f{place}": numbers[:, place] for place in range(3)}})
    return edges, labels, features
