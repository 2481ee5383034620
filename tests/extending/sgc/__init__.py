"""SGC: class scores that are linear in the features, after some steps of propagation."""

from cgnn_cli.configs import TrainConfig, option
from cgnn_cli.models.model_table import register


class SgcConfig(TrainConfig):
    model: str = "sgc"
    title = "A linear layer, then steps of propagation"
    label = "SGC"
    paper = "Wu et al., Simplifying Graph Convolutional Networks, ICML 2019"
    operator = "convolution"
    directions = ("undirected", "out", "in", "both")

    sgc_steps: int = option(2, "Steps of propagation.", minimum=1)

    def numbers_a_node(self) -> int:
        return super().numbers_a_node() + 64 * self.sgc_steps


register(SgcConfig)
