"""Which solver gives true commute times on a graph, in experiments that compare weights or rewirings."""

from __future__ import annotations

from typing import Any

from cgnn_cli.experiments.lab import Lab

MOST_EXACT = 5_500  # nodes; a dense inverse takes half a minute there
SERIES = {"commute.solver": "series", "commute.tolerance": 0.01}


def true_times(lab: Lab, dataset: str) -> dict[str, Any]:
    """Settings of exact times for a small graph, and of a series within 1 % (median) for a larger one."""
    nodes = lab.graph_summary(dataset).get("nodes", 0)
    return {"commute.solver": "exact"} if nodes <= MOST_EXACT else dict(SERIES)
