"""DirGNN: the same two directed channels without weights (Rossi et al., LoG 2023); the control for CGNN.

sage: h' = W_self h + alpha mean_out(W_out h) + (1 - alpha) mean_in(W_in h)
gcn:  h' = alpha P W_out h + (1 - alpha) P^T W_in h,  P = D_out^-1/2 A D_in^-1/2, no self term
"""

import numpy as np
import torch
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import Graph
from cgnn_cli.models.directed import DirectedLayer
from cgnn_cli.models.network import Network
from cgnn_cli.models.normalise import degree_root, degrees, row_mean
from cgnn_cli.models.propagate import Propagator


def operators(graph: Graph, variant: str) -> tuple[csr_array, csr_array]:
    """The matrices of both directions."""
    edges = graph.edges
    pattern = csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    if variant == "sage":
        return row_mean(pattern), row_mean(csr_array(pattern.T.tocsr()))
    normalised = degree_root(pattern, *degrees(pattern))
    return normalised, csr_array(normalised.T.tocsr())


def build(graph: Graph, config: TrainConfig, features: int, device: torch.device) -> Network:
    """A DirGNN for this graph."""
    out_op, in_op = (Propagator(matrix, device) for matrix in operators(graph, config.variant))
    share = 1.0 if config.variant == "sage" else 0.0

    def make_layer(inputs: int, outputs: int) -> DirectedLayer:
        return DirectedLayer(inputs, outputs, out_op, in_op, alpha=config.alpha, self_share=share)

    return Network(make_layer, features, graph.class_count, config).to(device)
