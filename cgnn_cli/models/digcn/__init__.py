"""DiGCN without inception."""

from cgnn_cli.models.option_groups import BOTH_OR_UNDIRECTED, StackOptions, TeleportOption


class DigcnConfig(TeleportOption, StackOptions):
    model: str = "digcn"
    title = "Convolution with the PageRank operator of a digraph"
    label = "DiGCN"
    paper = "Tong et al., Digraph Inception Convolutional Networks, NeurIPS 2020, without inception"
    operator = "pagerank"
    directions = BOTH_OR_UNDIRECTED
