"""For those who write their own models with torch-geometric: commute times on a `Data`, and CGNN's layer.

The only part of the package that imports torch_geometric. Everywhere an edge goes from edge_index[0] to edge_index[1],
i -> j; the weight_out of that edge is C_out[i, j], what the source i gives its out-neighbour j, and its weight_in is
C_in[j, i], what the target j gives its in-neighbour i.
"""

from cgnn_cli.pyg.conv import CGNNConv
from cgnn_cli.pyg.conversion import graph_from_pyg, graph_to_pyg
from cgnn_cli.pyg.transform import AddCommuteTimes

__all__ = ["AddCommuteTimes", "CGNNConv", "graph_to_pyg", "graph_from_pyg"]
