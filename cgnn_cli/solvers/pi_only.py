"""pi-only: the control c = 1/pi_i + 1/pi_j, what the popularity of the two states alone says about a pair."""

from cgnn_cli import scratch
from cgnn_cli.configs import CommuteConfig
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    returns = 1 / pairs.dilap.perron
    there, back = (scratch.gathered(returns, ends) for ends in (pairs.target, pairs.source))
    return Solution(there, back, scratch.computed(len(there), lambda part: there[part] + back[part]))
