"""GraphSAGE."""

from cgnn_cli.models.option_groups import ONE_WAY, SamplingOptions, SimilarityOptions


class SageConfig(SimilarityOptions, SamplingOptions):
    model: str = "sage"
    title = "GraphSAGE with mean aggregation"
    label = "GraphSAGE"
    paper = "Hamilton et al., Inductive Representation Learning on Large Graphs, NeurIPS 2017"
    operator = "mean"
    directions = ONE_WAY
