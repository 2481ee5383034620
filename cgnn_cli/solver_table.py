"""The table of solvers: what each computes, the options it reads and the memory it needs.

A solver is a module with `solve(pairs, config, allowance) -> Solution`, in solvers/ or anywhere else once it is
registered. Nothing here imports more than the standard library until times are solved for.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cgnn_cli.resources import private_bytes

PAPER_RANK = 5
PARTS_STEPS = 2  # of a series that knows what c is made of
BLOCK_BYTES = 1 << 26  # of the blocks of rows that the series works on
DENSE_BLOCK_BYTES, DENSE_GAIN = 1 << 23, 20  # of dense ones, and what makes them worth it: numerics/powers.py
CACHED_STATES = 3 << 19


@dataclass(frozen=True)
class WalkSize:
    """What the memory of a solver grows with: states, possible steps, pairs of them in a row, and edges.

    waits: whether the walk may stay in every state. jobs, memory: what the solver may use.
    """

    states: int
    steps: int
    edges: int
    two_steps: float = 0.0
    waits: bool = True
    jobs: int = 1
    memory: int = 1 << 30


@dataclass(frozen=True)
class Solver:
    """A way to commute times: its title in the help, its module, and what it reads and needs.

    options: those of CommuteConfig that it reads; no others go into a key. steps: how many it sums by default.
    true_times: expected steps, not scores. only_pi: c = 1/pi_i + 1/pi_j, so that `--proximity ratio` has nothing to
    weigh. parts: it tells what c is made of. memory: bytes beside the arrays over the edges. resumable: it saves its
    state when it is asked to stop. over_ranks: the ranks of torchrun share its work.
    remedy: what makes its times better. caveat: what they are not; a note of the artifact, which is told when it is
    made, and not to those who name the `--rank` themselves.
    most_nodes, quick_nodes: of graphs that it fits, and of those that it is done with in half a minute; None: any.
    """

    title: str
    module: str
    options: tuple[str, ...] = ()
    steps: int = 0
    true_times: bool = False
    only_pi: bool = False
    parts: bool = False
    memory: Callable[[WalkSize, Any], int] = lambda size, config: 0
    resumable: bool = False
    over_ranks: bool = True
    remedy: str = ""
    caveat: str = ""
    most_nodes: int | None = None
    quick_nodes: int | None = None

    def solve(self, pairs: Any, config: Any, allowance: Any) -> Any:
        """Times of pairs of states, a `Solution`."""
        return import_module(self.module).solve(pairs, config, allowance)


def _svd_memory(size: WalkSize, config: Any) -> int:
    """The transposed Laplacian, two bases of Lanczos, and the vectors that are found, in six forms."""
    basis = max(2 * config.rank + 1, 20)
    cut = 2 if size.states > CACHED_STATES else 1  # a large matrix is copied in blocks of columns
    return cut * private_bytes(8 * size.steps, 4 * size.steps) + 8 * size.states * (2 * basis + 6 * config.rank)


def _exact_memory(size: WalkSize, config: Any) -> int:
    """The matrix, its inverse and two copies for LAPACK, in a process; where that is too much, sparse factors."""
    from cgnn_cli.numerics.exact import dense_bytes

    return min(dense_bytes(size.states) + 8 * size.states**2, size.memory)


def _series_memory(size: WalkSize, config: Any) -> int:
    """Six matrices over the pairs, then three numbers for each of their entries and a block of rows for each thread.

    Beside them are two parts of c. Before all, a tolerance solves for sampled pairs, on a small walk by a dense matrix,
    on a large one in processes.
    """
    from cgnn_cli.numerics.exact import dense_bytes
    from cgnn_cli.numerics.pair_times import dense_pays
    from cgnn_cli.numerics.verify import SAMPLED

    sampled = 0.0
    if config.tolerance is not None:
        dense = dense_pays(size.states, 2 * SAMPLED)
        sampled = dense_bytes(size.states) if dense else solving_memory(size, 2 * SAMPLED)
    blocks = min(_blocks_of_rows(size, config.step_count), size.memory)
    entries, edges = size.steps + size.states, size.edges if private_bytes(8 * size.edges) else 0  # large: in files
    lazy = 0 if size.waits else 2 * private_bytes(8 * entries, 4 * entries)
    series = lazy + max(112 * edges, (24 + 48) * edges + blocks) + 16 * edges + 80 * size.states
    return int(max(series, sampled))


def _blocks_of_rows(size: WalkSize, steps: int) -> float:
    """What each thread works on, or all rows where those are less: sparse, or dense where almost all is reached.

    Compiled loops make of the last step what is wanted alone.
    """
    from cgnn_cli.numerics.masked import COMPILED

    growth = size.two_steps / max(size.steps, 1)
    reached = min(size.two_steps * growth ** max(steps - 2, 0), float(size.states) * size.steps)
    most: float = max(BLOCK_BYTES, 96 * size.states)
    rows = 12 * (2 * size.steps + (reached / max(growth, 1) if COMPILED else reached))
    if steps > 2 and size.states * size.steps < DENSE_GAIN * reached:
        most, rows = max(DENSE_BLOCK_BYTES, 64 * 24 * size.states), 24.0 * size.states**2
    elif steps > 2:  # whose blocks are bounded by walks, and their rows have about a third of so many entries
        most, rows = 0.3 * most + 96 * size.states, rows / 2
    return min(most * size.jobs, rows + 96 * (2 * size.edges + size.states))


def _sketch_memory(size: WalkSize, config: Any) -> int:
    """A series, then some 25 arrays over the pairs while it solves."""
    return max(_series_memory(size, config), 200 * size.edges + solving_memory(size, config.probes))


def solving_memory(size: WalkSize, solves: int) -> int:
    """A worker solves with 14 vectors, and a walk of its own; it is a process where there is much to solve."""
    from cgnn_cli.apart import PROCESS_BYTES
    from cgnn_cli.numerics.threads import WORTH_PROCESSES

    own = PROCESS_BYTES if size.jobs > 1 and solves * size.steps >= WORTH_PROCESSES else 0
    return size.jobs * (14 * 8 * size.states + 12 * size.steps + own)


SOLVERS: dict[str, Solver] = {
    "svd": Solver(
        "the paper's rank-truncated scores",
        "cgnn_cli.solvers.svd",
        ("rank", "solver_seed"),
        memory=_svd_memory,
        caveat="svd gives the paper's rank-{rank} truncation scores, not expected steps; `--solver series` gives true "
        "commute times, and `--verify 64` measures the error of any solver",
    ),
    # Its own module judges whether the dense matrix fits, and tries a sparse factorisation where it does not.
    "exact": Solver(
        "dense, small graphs",
        "cgnn_cli.solvers.exact",
        true_times=True,
        parts=True,
        memory=_exact_memory,
        over_ranks=False,
        most_nodes=20_000,
        quick_nodes=5_500,
    ),
    "series": Solver(
        "fast, any size",
        "cgnn_cli.solvers.series",
        ("steps", "tolerance", "tail", "solver_seed"),
        steps=2,
        true_times=True,
        parts=True,
        memory=_series_memory,
        resumable=True,
        remedy="more --steps or a --tolerance",
    ),
    "sketch": Solver(
        "series and random probes, with an error bar",
        "cgnn_cli.solvers.sketch",
        ("steps", "probes", "solver_seed"),
        steps=3,
        true_times=True,
        memory=_sketch_memory,
        resumable=True,
        remedy="more --steps or --probes",
    ),
    "pi-only": Solver("the control c = 1/pi_i + 1/pi_j", "cgnn_cli.solvers.pi_only", only_pi=True),
}


def register(name: str, solver: Solver) -> None:
    """Add a solver, also from outside the package."""
    if name in SOLVERS:
        raise ValueError(f"there is a solver {name} already")
    SOLVERS[name] = solver


def solver_names() -> tuple[str, ...]:
    return tuple(SOLVERS)


def exact_or_series(nodes: int, *, quickly: bool = False) -> str:
    """The solver of true times for a graph of so many nodes."""
    exact = SOLVERS["exact"]
    most = exact.quick_nodes if quickly else exact.most_nodes
    return "exact" if most is None or nodes <= most else "series"


def caveat_of(solver: str, summary: dict[str, Any]) -> str:
    """The note of commute times by a solver on what they are not, by their summary; empty where there is none."""
    return SOLVERS[solver].caveat.format(rank=summary.get("rank")) if solver in SOLVERS else ""


def missing_parts(solver: str, summary: dict[str, Any], elements: Container[str]) -> str:
    """What to say of commute times that could be stored with the parts of c, and are not: those of 0.1.0."""
    able = solver in SOLVERS and SOLVERS[solver].parts and summary.get("steps", PARTS_STEPS) >= PARTS_STEPS
    if not able or "indirect" in elements:
        return ""
    return (
        "no popularity, direct and indirect parts of c: these times are of cgnn 0.1.0; "
        "`cgnn commute --force` with the same options adds them"
    )


def solvers_with(option: str) -> list[str]:
    """The solvers that read an option."""
    return [name for name, solver in SOLVERS.items() if option in solver.options]


def describe_solvers() -> str:
    """All solvers in a few sentences; those of true times share one."""
    true = [f"{name} ({solver.title})" for name, solver in SOLVERS.items() if solver.true_times]
    sentences = {
        solver.true_times or name: f"True expected steps: {', '.join(true)}."
        if solver.true_times
        else f"{name}: {solver.title}."
        for name, solver in SOLVERS.items()
    }
    return " ".join(sentences.values())
