"""GCNII."""

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import UNDIRECTED_FIRST, PerceptronOptions, SimilarityOptions


class GcniiConfig(SimilarityOptions, PerceptronOptions):
    model: str = "gcnii"
    title = "A deep GCN with initial residual and identity mapping"
    label = "GCNII"
    paper = "Chen et al., Simple and Deep Graph Convolutional Networks, ICML 2020"
    operator = "convolution"
    directions = UNDIRECTED_FIRST

    initial_share: float = option(0.1, "Share of the first layer in every other.", minimum=0, maximum=1)
    identity_decay: float = option(0.5, "Lambda: layer l maps by (1 - b) I + b W with b = ln(lambda/l + 1).", above=0)
