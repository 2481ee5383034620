"""pi-only: the control c = 1/pi_i + 1/pi_j, what the popularity of the two states alone says about a pair."""

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    there, back = 1 / pairs.dilap.perron[pairs.target], 1 / pairs.dilap.perron[pairs.source]
    return Solution(there, back, there + back)
