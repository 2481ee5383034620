"""exact: true times by a direct factorisation, dense where that fits in memory, and how many digits are certain."""

import numpy as np

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.numerics.exact import CERTAIN, exact_times
from cgnn_cli.solvers.solution import Allowance, Pairs, Solution

MOST_DIGITS = 15
UNCLEAR = 0.1  # relative error of an indirect part without a digit


def solve(pairs: Pairs, config: CommuteConfig, allowance: Allowance) -> Solution:
    found = exact_times(*pairs.system, memory=allowance.memory, watch=allowance.watch)
    times = found.there + found.back
    error = np.nan_to_num(np.maximum(found.error_there, found.error_back), nan=np.inf, posinf=np.inf)
    if not len(times):
        return Solution(found.there, found.back, times, parts=found.parts)
    error += float(pairs.dilap.summary.get("perron_correction", 0.0))  # times inherit the error of pi
    digits = int(np.clip(np.floor(-np.log10(np.maximum(error.max(), 1e-300))), 0, MOST_DIGITS))
    uncertain = int((error > CERTAIN).sum())
    warnings = []
    if uncertain:
        sums = int((found.error > CERTAIN).sum())
        warnings.append(
            f"exact: fewer than 3 digits of h are certain on {uncertain} of {len(times)} edges, and of c on {sums}: "
            "the walk visits some nodes too rarely for double precision; look for weights that differ by many orders "
            "of magnitude, or use --method escape or teleport"
        )
    unclear = ~(found.part_error <= UNCLEAR * np.abs(found.parts.indirect))
    figures = {"digits": digits, "uncertain_edges": uncertain, "uncertain_indirect": int(unclear.sum())}
    return Solution(found.there, found.back, times, figures, warnings=warnings, parts=found.parts)
