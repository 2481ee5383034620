"""APPNP."""

from cgnn_cli.models.option_groups import UNDIRECTED_FIRST, SimilarityOptions, SteppingOptions


class AppnpConfig(SimilarityOptions, SteppingOptions):
    model: str = "appnp"
    title = "An MLP, then personalised PageRank"
    label = "APPNP"
    paper = "Gasteiger et al., Predict then Propagate, ICLR 2019"
    operator = "convolution"
    directions = UNDIRECTED_FIRST

    def numbers_a_node(self) -> int:
        return self.numbers_of_perceptron()
