"""exact: true times by a direct factorisation, dense where that fits in memory."""

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.numerics.exact import exact_hitting
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    there, back = exact_hitting(*pairs.system, memory=allowance.memory, watch=allowance.watch)
    return Solution(there, back, there + back)
