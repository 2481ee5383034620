"""DiGCN with inception blocks."""

from cgnn_cli.models.option_groups import BOTH_OR_UNDIRECTED, DropoutOption, TeleportOption


class DigcnIbConfig(TeleportOption, DropoutOption):
    model: str = "digcn-ib"
    title = "DiGCN with inception blocks"
    label = "DiGCN-IB"
    paper = "Tong et al., Digraph Inception Convolutional Networks, NeurIPS 2020"
    operator = "inception"
    directions = BOTH_OR_UNDIRECTED
    widening = 2
