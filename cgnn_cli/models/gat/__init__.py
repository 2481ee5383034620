"""GAT."""

from cgnn_cli.models.option_groups import AttentionOptions, StackOptions


class GatConfig(AttentionOptions, StackOptions):
    model: str = "gat"
    title = "Graph Attention Network"
    label = "GAT"
    paper = "Velickovic et al., Graph Attention Networks, ICLR 2018"
    operator = "pattern"
    directions = ("out", "in", "undirected")
