"""A floor without a graph: logistic regression on the features."""

from cgnn_cli.configs import TrainConfig


class LinearConfig(TrainConfig):
    model: str = "linear"
    title = "Logistic regression on the features, a floor"
    label = "Linear"
