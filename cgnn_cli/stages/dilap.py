"""dilap: the walk P = D^-1 A~ on the rewired graph, its Perron vector pi, and the sparse digraph Laplacian T."""

import numpy as np

from cgnn_cli.configs import DilapConfig
from cgnn_cli.graph import Dilap, Rewired
from cgnn_cli.numerics.csr import is_symmetric
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.transition import sparse_laplacian, teleporting_walk, transition_matrix
from cgnn_cli.numerics.walk import Walk


def dilap(rewired: Rewired, config: DilapConfig | None = None) -> Dilap:
    """P, pi and T; `--form incidence` is Eq. 5 of the paper, `--form random-walk` is I - P."""
    config = config or DilapConfig()
    incidence = config.form == "incidence"
    if rewired.gamma is None:
        walk = Walk(transition_matrix(rewired.adjacency))
        # Out-weights are the exact answer for an undirected graph, and positive everywhere.
        start = np.asarray(rewired.adjacency.sum(axis=1)).ravel()
    else:
        walk = teleporting_walk(rewired.adjacency, float(rewired.gamma[0]))
        start = np.ones(walk.size)
    perron = perron_vector(walk, start)
    # A new walk, without the transposed matrix that the first one keeps.
    walk = Walk(walk.sparse, walk.jump)
    laplacian = sparse_laplacian(walk, incidence=incidence)
    # I - P of a teleporting walk is symmetric only where all states are equally likely to jump.
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
        },
    )
