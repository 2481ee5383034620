"""Memory, disk and core limits of the machine, control groups and Slurm; estimates against measured peaks."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli import estimates, resources
from cgnn_cli.analysis.node_sets import steps_to
from cgnn_cli.configs import CommuteConfig, ComputeConfig, DilapConfig, RewireConfig
from cgnn_cli.errors import ResourceError, UsageError
from cgnn_cli.graph import Graph
from cgnn_cli.models.model_table import MODELS, train_config
from cgnn_cli.numerics import exact
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.operators.operator_table import OPERATORS
from cgnn_cli.pipeline import STAGES
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operator
from cgnn_cli.stages.rewire import rewire
from tests.front_door import FrontDoor


@pytest.mark.parametrize(
    ("text", "count"), [("1024", 1024), ("4K", 4096), ("1.5g", 3 << 29), ("2 GiB", 2 << 30), ("1TB", 1 << 40)]
)
def test_amounts_of_memory(text: str, count: int) -> None:
    assert resources.parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "much", "-1G", "0", "1X", "1e9"])
def test_nonsense_is_no_amount(text: str) -> None:
    with pytest.raises(UsageError):
        resources.parse_bytes(text)


def test_readable_bytes() -> None:
    assert [resources.readable_bytes(n) for n in (5, 1536, 3 << 20, 5 << 40)] == [
        "5 bytes",
        "1.5 KiB",
        "3.0 MiB",
        "5.0 TiB",
    ]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SLURM_MEM_PER_NODE": "100"}, 100 << 20),
        ({"SLURM_MEM_PER_CPU": "20", "SLURM_CPUS_PER_TASK": "3"}, 60 << 20),
        ({"SLURM_MEM_PER_CPU": "20"}, 20 << 20),
        ({"SLURM_MEM_PER_NODE": "100", "SLURM_MEM_PER_CPU": "20", "SLURM_CPUS_PER_TASK": "2"}, 40 << 20),
    ],
)
def test_slurm_grants(environment: dict[str, str], expected: int) -> None:
    assert resources.memory_limit(environment=environment) == expected


def test_slurm_zero_and_nonsense_are_no_limits() -> None:
    free = resources.memory_limit(environment={})
    for value in ("0", "", "all"):
        assert resources.memory_limit(environment={"SLURM_MEM_PER_NODE": value}) > free / 2


def test_control_groups_of_both_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, own = tmp_path / "cgroup", tmp_path / "own"
    monkeypatch.setattr(resources, "CGROUPS", groups)
    monkeypatch.setattr(resources, "OWN_CGROUP", own)
    inner = groups / "job" / "step"
    inner.mkdir(parents=True)
    own.write_text("0::/job/step\n")
    (inner / "memory.max").write_text("max\n")
    (groups / "job" / "memory.max").write_text("5000000\n")
    assert resources.memory_limit(environment={}) == 5_000_000
    own.write_text("7:cpu,memory:/job\n3:devices:/\n")
    old = groups / "cpu,memory" / "job"
    old.mkdir(parents=True)
    (old / "memory.limit_in_bytes").write_text("4000000\n")
    assert resources.memory_limit(environment={}) == 4_000_000


def test_allowed_cores() -> None:
    everything = resources.allowed_cores({})
    assert everything >= 1
    assert resources.allowed_cores({"SLURM_CPUS_PER_TASK": "1"}) == 1
    assert resources.allowed_cores({"SLURM_CPUS_PER_TASK": "9999"}) == everything


def test_too_little_disk(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="are free"):
        resources.check_disk("commute", 1 << 60, tmp_path / "not" / "there")


@pytest.mark.parametrize("stage", ["rewire", "dilap", "commute", "train"])
def test_case_17_a_stage_that_would_not_fit_is_refused_before_it_starts(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    previous = {"dilap": "rewire", "commute": "dilap", "train": "commute"}.get(stage)
    if previous:
        cgnn.ok(previous, "--dataset", "demo")
    message = cgnn.fails(7, stage, "--dataset", "demo", "--memory-limit", "1M")
    assert "of memory" in message and "--memory-limit" in message
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")
    cgnn.fails(7, stage, "--dataset", "demo")
    made = {path.parent.name for path in Path(".cgnn").rglob("*.h5")}
    assert {"train": "fit"}.get(stage, stage) not in made


def test_the_dense_solver_names_the_others(cgnn: FrontDoor) -> None:
    message = cgnn.fails(7, "commute", "--dataset", "demo", "--solver", "exact", "--memory-limit", "100M")
    assert "series" in message and "sketch" in message
    cgnn.ok("commute", "--dataset", "demo", "--memory-limit", "200M")


def random_graph(nodes: int, edges: int, *, sparse: bool) -> Graph:
    rng = np.random.default_rng(0)
    source, target = rng.integers(nodes, size=edges), (nodes * rng.random(edges) ** 2).astype(int)
    adjacency = canonical_csr(csr_array((np.ones(edges), (source, target)), shape=(nodes, nodes)))
    adjacency.data[:] = 1
    dense = rng.random((nodes, 32)).astype(np.float32)
    return Graph(adjacency=adjacency, features=csr_array(dense * (dense > 0.9)) if sparse else dense)


def operator_cases() -> list[tuple[str, str, str]]:
    """Every kind of operator, with a model that has it and each of its directions."""
    own = [(entry.operator, name, way) for name, entry in MODELS.items() if entry.operator for way in entry.directions]
    return [*own, *((kind, "gcn", "out") for kind in ("encoding", "knn", "twins", "degrees"))]


MEMORY = Path(__file__).parents[1] / "benchmarks" / "memory.py"
needs_peaks = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are forgotten by Linux only")


def measured(*arguments: str) -> list[tuple[str, int, int]]:
    """What the tool of the benchmark measures: of each stage its name, the estimate, and the peak or least estimate."""
    command = [sys.executable, str(MEMORY), "--json", *arguments]
    # Blocks are made for each thread that a job may use; those of BLAS would only wait for each other.
    environment = {**os.environ, "SLURM_CPUS_PER_TASK": "2", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [(name, estimate, peak) for name, estimate, peak in map(json.loads, done.stdout.splitlines())]


def assert_estimated(found: list[tuple[str, int, int]]) -> None:
    """Every estimate is within a factor of two of the peak."""
    wrong = [(name, estimate, peak) for name, estimate, peak in found if not peak / 2 <= estimate <= 2 * peak]
    assert found and not wrong


@needs_peaks
def test_estimates_of_every_stage_are_within_a_factor_of_two_of_the_peak() -> None:
    """Of what lives: `--together` lets malloc return at once what is freed, so that load changes nothing."""
    found = measured("--together", "--quick", "--edges", "10000", "100000", "--shapes", "skewed")
    for size in (found[: len(found) // 2 + 1], found[len(found) // 2 + 1 :]):
        stages = {name for name, stage in STAGES.items() if stage.memory} | {"graph"}
        assert {name.split()[0] for name, *_ in size} == stages
    assert_estimated(found)


@needs_peaks
def test_estimates_of_imports_are_within_a_factor_of_two_of_the_peak() -> None:
    found = measured("--together", "--only", "graph --edges edges.csv.gz", "--edges", "300000", "--shapes", "even")
    assert len(found) == 2 and all(peak > estimates.LEAST / 2 for _, _, peak in found)  # more than it takes by itself
    assert_estimated(found)


@needs_peaks
@pytest.mark.slow
def test_estimates_at_a_million_edges_are_within_a_factor_of_two_of_the_peak() -> None:
    found = measured("--together", "--only", "dilap", "--quick", "--edges", "1000000", "--shapes", "even")
    assert len(found) == 3  # both forms, and the rewiring that they start from
    assert_estimated(found)
    found = measured("--together", "--only", "dilap --method escape", "--edges", "1000000", "--shapes", "even")
    assert [name for name, *_ in found] == ["rewire --method escape", "dilap --method escape"]
    assert_estimated(found)


@needs_peaks
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", ["even", "skewed"])
def test_estimates_of_all_models_are_within_a_factor_of_two_of_the_peak(shape: str) -> None:
    """And of all settings of other stages, and of imports; in one process."""
    assert_estimated(measured("--together", "--edges", "100000", "--shapes", shape))


@needs_peaks
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "which", [("--quick", "--edges", "100000"), ("--only", "commute --solver exact", "--edges", "20000", "40000")]
)
def test_estimates_of_processes_of_their_own_are_within_a_factor_of_two_of_the_peak(which: tuple[str, ...]) -> None:
    """As users run them; the dense solver has a helper, whose memory counts."""
    assert_estimated(measured(*which, "--shapes", "skewed"))


@pytest.mark.parametrize(("kind", "model", "direction"), sorted(set(operator_cases())))
def test_bounds_of_entries_of_operators(kind: str, model: Any, direction: Any) -> None:
    graph = random_graph(4000, 20_000, sparse=True)
    times = commute(graph, dilap(rewire(graph)), CommuteConfig(solver="pi-only", proximity="none"))
    of_kinds: dict[str, dict[str, Any]] = {"knn": {"knn": 5}, "encoding": {"encoding": "adjacency"}}
    options = of_kinds.get(kind, {})
    config = train_config(model=model, direction=direction, charge=0.1, **options)
    made = make_operator(kind, graph, times, config)
    bound = OPERATORS[kind].entries(graph, config)
    assert made.summary["entries"] <= bound * (1.1 if kind == "inception" else 1)  # some rows of these are counted


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("method", ["path", "escape"])
def test_the_estimate_of_times_to_sets_is_within_a_factor_of_two_of_the_peak(method: Any, count: int) -> None:
    graph = random_graph(2500, 20_000, sparse=True)
    walk = dilap(rewire(graph, RewireConfig(method=method)), DilapConfig())
    sets = {str(number): np.arange(5 * number, 5 * number + 5) for number in range(count)}
    tracemalloc.start()
    try:
        steps_to(graph, walk, sets)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    estimate = estimates.set_times_memory(walk, count, 1)
    assert peak / 2 <= estimate <= 2 * peak
    assert estimates.set_times_memory(walk, count, 2) >= estimate


def test_times_to_sets_that_do_not_fit_are_refused(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    cgnn.ok("dilap", "--dataset", "demo")
    monkeypatch.setattr("cgnn_cli.workspace.memory_limit", lambda asked: 1 << 20)
    message = cgnn.fails(7, "hitting", "--dataset", "demo", "--to", 0)
    assert "solving for these sets needs about" in message and "fewer --threads or sets" in message


@needs_peaks
def test_the_estimate_of_the_dense_solver_counts_its_helper() -> None:
    found = measured("--together", "--only", "commute --solver exact", "--edges", "13000", "--shapes", "even")
    assert exact.LONG_INVERSE < 13_000 / 8 and found[-1][1] > exact.PROCESS_BYTES
    assert_estimated(found)


def test_the_estimate_of_the_dense_solver_follows_what_may_be_used() -> None:
    graph = random_graph(2500, 10_000, sparse=True)
    inputs, config = {"graph": graph, "dilap": dilap(rewire(graph))}, CommuteConfig(solver="exact")
    # Where a dense matrix does not fit, the solver itself looks for sparse factors that do.
    less = estimates.commute_memory(inputs, config, ComputeConfig(memory_limit="80M"))
    assert less < estimates.commute_memory(inputs, config)
