"""Hitting times by elimination without a subtraction (Grassmann, Taksar and Heyman, 1985): right to the last digits.

A state is eliminated by sharing out its visits, and the time they take, among the states it leaves for. Only additions,
products and quotients of positive numbers occur, so no digit is lost however slowly the walk mixes and however rarely a
state is visited. That takes n^3/3 multiplications for the states that nothing is asked of, once, and m^3/3 for each of
the goals among the m others.
"""

import numpy as np

from cgnn_cli.numerics.walk import Walk

MOST_ELIMINATION = 2e9  # multiplications: seconds


def elimination_work(size: int, kept: int, goals: int) -> float:
    """Multiplications."""
    return (float(size) ** 3 + goals * float(kept) ** 3) / 3


def eliminated_times(walk: Walk, kept: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """h(i, j) in steps for each of the kept states i, a line each, and each goal j, a column; goals number kept ones.

    Not finite where a double cannot hold what is passed on.
    """
    others = np.delete(np.arange(walk.size), kept)
    order = np.concatenate([kept, others])
    moves, times = walk.to_dense()[np.ix_(order, order)], np.ones(walk.size)
    found = np.empty((len(kept), len(goals)))
    with np.errstate(all="ignore"):
        _eliminate(moves, times, len(kept))
        moves, times = moves[: len(kept), : len(kept)].copy(), times[: len(kept)]
        for column, goal in enumerate(goals):
            order = np.concatenate([[goal], np.delete(np.arange(len(kept)), goal)])
            left, taken = moves[np.ix_(order, order)], times[order]
            _eliminate(left, taken, 1)
            taken[0] = 0
            for state in range(1, len(kept)):
                taken[state] += left[state, :state] @ taken[:state]
            found[order, column] = taken
    return found


def eliminated_absorption(moves: np.ndarray, exits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Expected steps until the walk ends, and the chance of each end, a column each, from every state.

    moves: chances of steps between states, whose diagonal is not read; exits: chances to come to each end in a step.
    """
    ends, size = exits.shape[1], len(moves)
    whole, times = np.zeros((ends + size, ends + size)), np.ones(ends + size)
    whole[ends:, :ends], whole[ends:, ends:] = exits, moves
    chances = np.eye(ends + size, ends)
    times[:ends] = 0
    with np.errstate(all="ignore"):
        _eliminate(whole, times, ends)
        for state in range(ends, ends + size):
            times[state] += whole[state, :state] @ times[:state]
            chances[state] = whole[state, :state] @ chances[:state]
    return times[ends:], chances[ends:]


def _eliminate(moves: np.ndarray, times: np.ndarray, least: int) -> None:
    """Leave only the first states: `times` become those until another state is reached, for the eliminated ones too."""
    for last in range(len(times) - 1, least - 1, -1):
        leaving = moves[last, :last].sum()
        moves[last, :last] /= leaving
        times[last] /= leaving
        arriving = moves[:last, last].copy()
        times[:last] += arriving * times[last]
        moves[:last, :last] += np.multiply.outer(arriving, moves[last, :last])
