"""MixHop."""

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import ONE_WAY, SimilarityOptions, StackOptions


class MixhopConfig(SimilarityOptions, StackOptions):
    model: str = "mixhop"
    title = "Several powers of the adjacency in a layer"
    label = "MixHop"
    paper = "Abu-El-Haija et al., MixHop, ICML 2019"
    operator = "convolution"
    directions = ONE_WAY

    hops: int = option(2, "The highest power of the adjacency in a layer.", minimum=1)

    @property
    def widening(self) -> int:
        return self.hops + 1
