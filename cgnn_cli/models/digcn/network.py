"""DiGCN without inception: h' = L W h + b, with the PageRank operator of operators/pagerank.py (NeurIPS 2020).

It is GCN's layer over another operator.
"""

from cgnn_cli.models.gcn.network import build

__all__ = ["build"]
