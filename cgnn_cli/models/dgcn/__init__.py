"""DGCN."""

from typing import Literal

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import BOTH_OR_UNDIRECTED, StackOptions


class DgcnConfig(StackOptions):
    model: str = "dgcn"
    title = "First- and second-order proximities of a digraph"
    label = "DGCN"
    paper = "Tong et al., Directed Graph Convolutional Network, 2020"
    operator = "second-order"
    directions = BOTH_OR_UNDIRECTED
    widening = 3

    dgcn_degree: Literal["paper", "swapped"] = option(
        "paper", "Which degrees divide the second-order edges; swapped: as in a published code."
    )
    dgcn_max_degree: int = option(
        0, "Nodes with more neighbours than this join none of them with each other; 0: no limit.", minimum=0
    )
