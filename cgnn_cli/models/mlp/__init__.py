"""A floor without a graph: layers over the features alone."""

from cgnn_cli.models.option_groups import PerceptronOptions


class MlpConfig(PerceptronOptions):
    model: str = "mlp"
    title = "Features alone, a floor"
    label = "MLP"

    def numbers_a_node(self) -> int:
        return self.numbers_of_perceptron()
