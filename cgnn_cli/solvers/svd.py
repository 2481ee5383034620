"""svd: the paper's scores, from a rank-truncated pseudo-inverse of the digraph Laplacian (Eq. 9)."""

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.numerics.lowrank import RESIDUAL_GOAL, svd_times, truncated_svd
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution

EQUAL_VALUES = 1e-6  # relative to the largest


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    dilap, jobs = pairs.dilap, allowance.jobs
    rank = min(config.rank, max(len(dilap.perron) - 1, 1))
    notes = [SOLVERS["svd"].caveat.format(rank=rank)]
    if rank < config.rank:
        notes.append(f"--rank {config.rank} is more than this walk has; {rank} was used")
    symmetric = bool(dilap.summary["symmetric"])
    factors = truncated_svd(dilap.laplacian_operator(), rank, config.solver_seed, symmetric=symmetric, jobs=jobs)
    if factors.residual > RESIDUAL_GOAL:
        notes.append(
            f"the svd stopped at a residual of {factors.residual:.1e} (goal {RESIDUAL_GOAL:.0e}), "
            "so its scores depend a little on --solver-seed"
        )
    if factors.gap <= EQUAL_VALUES:
        notes.append(f"singular values {rank} and {rank + 1} are equal, so the scores depend on --solver-seed")
    figures = {"rank": rank, "svd_residual": factors.residual, "svd_iterations": factors.iterations}
    scores = svd_times(factors, dilap.perron, pairs.source, pairs.target, jobs=jobs)
    return Solution(*scores, figures=figures, notes=notes)
