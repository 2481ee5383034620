"""Golden numbers: when they move, the stage's algorithm version must be raised in the same change.

To renew them: `python -m tests.stages.test_golden`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.models.model_table import train_config
from cgnn_cli.pipeline import STAGES
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.train import collect, fit

GOLDEN = Path(__file__).with_name("golden.json")


def fingerprint(array: np.ndarray) -> list[float]:
    """A few figures that move when almost any entry does."""
    values = np.asarray(array, dtype=np.float64).ravel()
    ramp = np.linspace(1, 2, len(values))
    return [len(values), float(np.abs(values).sum()), float(values @ ramp), float(np.median(values))]


def current_numbers() -> dict[str, dict[str, Any]]:
    graph = demo_graph()
    rewired = rewire(graph, RewireConfig())
    walk = dilap(rewired, DilapConfig())
    solvers = {
        "svd": CommuteConfig(),
        "exact": CommuteConfig(solver="exact", proximity="inverse"),
        "pi-only": CommuteConfig(solver="pi-only", proximity="exp", scale="row-mean"),
    }
    times = {name: commute(graph, walk, config) for name, config in solvers.items()}
    config = train_config(epochs=8, hidden=8)
    operators = make_operators(graph, times["exact"], config)
    trained = fit(graph, operators, config, 0)
    scores = evaluate(graph, operators, collect({0: trained}), config)
    assert graph.splits is not None
    numbers = {
        "graph": {"adjacency": fingerprint(graph.adjacency.indices), "splits": fingerprint(graph.splits)},
        "rewire": {"order": fingerprint(rewired.order if rewired.order is not None else np.array([]))},
        "dilap": {"perron": fingerprint(walk.perron), "laplacian": fingerprint(walk.laplacian.data)},
        "commute": {
            f"{name} {element}": fingerprint(getattr(result, element))
            for name, result in times.items()
            for element in ("hitting", "commute", "weight_out", "weight_in")
        },
        "operators": {name: fingerprint(matrix.data) for name, matrix in operators.matrices.items()},
        "fit": {"loss": fingerprint(trained.history["loss"])},
        "eval": {"accuracy": fingerprint(scores.accuracy)},
    }
    return {stage: {"algorithm": STAGES[stage].algorithm, **values} for stage, values in numbers.items()}


def test_case_21_numbers_move_only_with_the_algorithm_version() -> None:
    golden = json.loads(GOLDEN.read_text())
    numbers = current_numbers()
    assert set(golden) == set(numbers)
    for stage, values in golden.items():
        assert values["algorithm"] == numbers[stage]["algorithm"], f"renew the golden numbers of {stage}"
        for name in values.keys() - {"algorithm"}:
            assert numbers[stage][name] == pytest.approx(values[name], rel=1e-4, abs=1e-9), f"{stage} {name} moved"


def renew() -> None:
    """Write the numbers anew; those of a stage may change only together with its algorithm version."""
    old, new = json.loads(GOLDEN.read_text()), current_numbers()
    for stage, values in new.items():
        same_version = old.get(stage, {}).get("algorithm") == values["algorithm"]
        moved = [
            name for name in values if old.get(stage, {}).get(name) != pytest.approx(values[name], rel=1e-4, abs=1e-9)
        ]
        if same_version and moved and stage in old:
            raise SystemExit(f"{stage} {moved[0]} moved: raise its algorithm version in pipeline.py first")
    GOLDEN.write_text(json.dumps(new, indent=1) + "\n")


if __name__ == "__main__":
    renew()
