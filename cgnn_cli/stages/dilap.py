"""dilap: the walk P = D^-1 A~ on the rewired graph, its Perron vector pi, and the sparse digraph Laplacian T."""

import numpy as np

from cgnn_cli.configs import DilapConfig
from cgnn_cli.graph import Dilap, Rewired
from cgnn_cli.numerics.perron import perron_vector
from cgnn_cli.numerics.transition import incidence_laplacian, is_symmetric, random_walk_laplacian, transition_matrix


def dilap(rewired: Rewired, config: DilapConfig | None = None) -> Dilap:
    """P, pi and T; `--form incidence` is Eq. 5 of the paper, `--form random-walk` is I - P."""
    config = config or DilapConfig()
    transition = transition_matrix(rewired.adjacency)
    # Out-weights are the exact answer for an undirected graph, and positive everywhere.
    perron = perron_vector(transition, np.asarray(rewired.adjacency.sum(axis=1)).ravel())
    laplacian = (incidence_laplacian if config.form == "incidence" else random_walk_laplacian)(transition)
    return Dilap(
        transition=transition,
        perron=perron.vector,
        laplacian=laplacian,
        nodes=rewired.nodes,
        summary={
            "nodes": len(rewired.nodes),
            "entries": int(laplacian.nnz),
            "perron_iterations": perron.iterations,
            "perron_residual": perron.residual,
            "perron_correction": perron.correction,
            "perron_minimum": float(perron.vector.min()),
            "perron_maximum": float(perron.vector.max()),
            "symmetric": is_symmetric(laplacian),
        },
    )
