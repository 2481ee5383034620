"""GCN."""

from cgnn_cli.models.option_groups import ONE_WAY, SamplingOptions, SimilarityOptions


class GcnConfig(SimilarityOptions, SamplingOptions):
    model: str = "gcn"
    title = "Graph Convolutional Network"
    label = "GCN"
    paper = "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017"
    operator = "convolution"
    directions = ONE_WAY
