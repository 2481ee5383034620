"""degrees: c = m (1/d_i + 1/d_j), with in-degrees d and m steps in all: what times tend to on a large dense graph."""

import numpy as np

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.solver_table import Solver, register
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    """Hitting times from the in-degree of the node that is hit."""
    steps = pairs.dilap.transition
    hitting = steps.nnz / np.bincount(steps.indices, minlength=steps.shape[0])
    there, back = hitting[pairs.target], hitting[pairs.source]
    return Solution(there, back, there + back, figures={"steps_in_all": int(steps.nnz)})


register("degrees", Solver("times from in-degrees alone", __name__))
