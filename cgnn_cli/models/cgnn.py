"""CGNN: two directed message channels, each neighbour weighed by its commute-time proximity.

    h_i' = s W_self h_i + (1 - s) (alpha m_out(i) + (1 - alpha) m_in(i))        --combine mean
    h_i' =   W_self h_i +          alpha m_out(i) + (1 - alpha) m_in(i)         --combine sum

m_out(i) aggregates C_out[i, j] W_out h_j over out-neighbours, m_in(i) C_in[i, j] W_in h_j over in-neighbours.
"Commute Graph Neural Networks", ICML 2025. With all weights 1 it is DirGNN (dirgnn.py).
"""

import torch
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph
from cgnn_cli.models.directed import DirectedLayer
from cgnn_cli.models.network import Network
from cgnn_cli.models.normalise import degree_root, degrees, row_mean, row_weighted_mean
from cgnn_cli.models.propagate import Propagator


def operators(graph: Graph, times: CommuteTimes, aggregation: str) -> tuple[csr_array, csr_array]:
    """The matrices of both directions: row i holds what node i takes from its out- and from its in-neighbours."""
    edges = graph.edges
    weight_out = csr_array((times.weight_out, edges.indices, edges.indptr), shape=edges.shape)
    weight_in = csr_array(csr_array((times.weight_in, edges.indices, edges.indptr), shape=edges.shape).T.tocsr())
    if aggregation == "mean":
        return row_mean(weight_out), row_mean(weight_in)
    if aggregation == "weighted-mean":
        return row_weighted_mean(weight_out), row_weighted_mean(weight_in)
    out, into = degrees(edges)
    if aggregation == "sym":
        return degree_root(weight_out, out, into), degree_root(weight_in, into, out)
    return degree_root(weight_out, out, out), degree_root(weight_in, into, into)


def build(graph: Graph, times: CommuteTimes, config: TrainConfig, features: int, device: torch.device) -> Network:
    """A CGNN for this graph and these commute weights."""
    out_op, in_op = (Propagator(matrix, device) for matrix in operators(graph, times, config.aggregation))
    share = config.self_share if config.combine == "mean" else 1.0
    message_share = 1 - share if config.combine == "mean" else 1.0

    def make_layer(inputs: int, outputs: int) -> DirectedLayer:
        return DirectedLayer(
            inputs, outputs, out_op, in_op, alpha=config.alpha, self_share=share, message_share=message_share
        )

    return Network(make_layer, features, graph.class_count, config).to(device)
