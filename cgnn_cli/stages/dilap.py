"""dilap: the walk P = D^-1 A~ on the rewired graph, its Perron vector pi, and the sparse digraph Laplacian T."""

import numpy as np

from cgnn_cli.configs import DilapConfig
from cgnn_cli.graph import Dilap, Rewired
from cgnn_cli.numerics.csr import diagonal_of, is_symmetric
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.transition import escaping_walk, sparse_laplacian, teleporting_walk, transition_matrix
from cgnn_cli.numerics.walk import Walk


def dilap(rewired: Rewired, config: DilapConfig | None = None) -> Dilap:
    """P, pi and T; `--form incidence` is Eq. 5 of the paper, `--form random-walk` is I - P."""
    config = config or DilapConfig()
    incidence = config.form == "incidence"
    # Out-weights are the exact answer for an undirected graph, and positive everywhere.
    start = np.asarray(rewired.adjacency.sum(axis=1)).ravel()
    if rewired.gamma is not None:
        walk = teleporting_walk(rewired.adjacency, float(rewired.gamma[0]))
        start = np.ones(walk.size)
    elif rewired.jump is not None:
        walk = escaping_walk(rewired.adjacency, rewired.jump)
    else:
        walk = Walk(transition_matrix(rewired.adjacency))
    perron = perron_vector(walk, start)
    # A new walk, without the transposed matrix that the first one keeps.
    walk = Walk(walk.sparse, walk.jump)
    laplacian = sparse_laplacian(walk, incidence=incidence)
    # I - P of a walk that jumps is symmetric only where all states are equally likely to jump.
    even = walk.jump is None or np.ptp(walk.jump) == 0
    return Dilap(
        transition=walk.sparse,
        perron=perron.vector,
        laplacian=laplacian,
        nodes=rewired.nodes,
        jump=walk.jump,
        form=None if walk.jump is None else np.array([config.form.encode()]),
        summary={
            "nodes": len(rewired.nodes),
            "entries": int(laplacian.nnz),
            "perron_iterations": perron.iterations,
            "perron_residual": perron.residual,
            "perron_correction": perron.correction,
            "perron_minimum": float(perron.vector.min()),
            "perron_maximum": float(perron.vector.max()),
            "symmetric": incidence or (bool(even) and is_symmetric(laplacian)),
            **_pace(walk, perron.vector, rewired),
        },
    )


def _pace(walk: Walk, perron: np.ndarray, rewired: Rewired) -> dict[str, float | None]:
    """The share of steps that jump, and the factor by which steps along self-loops make all commute times longer.

    A commute is a cycle, of which the share pi_k (1 - S_kk) leaves k otherwise: without self-loops those are all.
    """
    moving = 1 - float(perron @ diagonal_of(walk.sparse))
    found: dict[str, float | None] = {"self_loop_factor": 1 / moving if moving > 0 else None}
    if walk.jump is not None or rewired.jump is not None:
        found["jump_rate"] = 0.0 if walk.jump is None else float(perron @ walk.jump)
    return found
