"""Options that several models have in common: each group once, for the models' configurations to inherit.

Every group speaks for its own options: which change nothing, what cannot go together, and the memory they need.
"""

from typing import Literal

from cgnn_cli.configs import TrainConfig, option
from cgnn_cli.errors import UsageError

ONE_WAY = ("out", "in", "both", "undirected")
UNDIRECTED_FIRST = ("undirected", "out", "in", "both")
BOTH_FIRST = ("both", "out", "in", "undirected")
BOTH_OR_UNDIRECTED = ("both", "undirected")


class LayerOptions(TrainConfig):
    """Layers of one width."""

    layers: int = option(2, "Number of graph layers; of linear layers in models that propagate afterwards.", minimum=1)
    hidden: int = option(64, "Width of the hidden layers.", minimum=1)

    @property
    def widening(self) -> int:
        """How many panels the model has where others have one: parts side by side, orders, views or branches."""
        return 1

    @property
    def width(self) -> int:
        return self.hidden * self.widening

    def numbers_a_node(self) -> int:
        """What a layer keeps for its gradient: input, activation, mask and output; and two panels in passing."""
        return super().numbers_a_node() + self.width * (4 * self.layers + 2)


class ActivationOption(LayerOptions):
    activation: Literal["relu", "elu", "gelu", "tanh"] = option("relu", "Activation between layers.")


class DropoutOption(LayerOptions):
    dropout: float = option(0.5, "Dropout after each hidden layer.", minimum=0, maximum=0.99)


class PerceptronOptions(DropoutOption, ActivationOption):
    """Layers with activation and dropout between them."""

    def numbers_of_perceptron(self) -> int:
        """Of layers that see no other nodes; the last one gives the class scores."""
        return TrainConfig.numbers_a_node(self) + self.width * (4 * self.layers - 3)


class StackOptions(PerceptronOptions):
    """Graph layers with a head: models/parts/classifier.py."""

    head_layers: int = option(
        1, "Linear layers after the graph layers; 0: the last graph layer gives the classes.", minimum=0
    )
    jumping_knowledge: Literal["none", "max", "cat"] = option("none", "Combine the outputs of all graph layers.")
    l2_norm: bool = option(False, "Scale the rows of each hidden layer to length 1.")
    batch_norm: bool = option(False, "Batch normalisation of each hidden layer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_layers == 0 and self.jumping_knowledge != "none":
            raise UsageError("--jumping-knowledge needs a head", "use --head-layers 1")

    def numbers_a_node(self) -> int:
        """The options keep a panel a layer each; a layer of the head keeps three."""
        a_layer = self.l2_norm + self.batch_norm + (self.jumping_knowledge != "none")
        head = 3 * max(self.head_layers - 1, 0) - 1
        return super().numbers_a_node() + self.width * (a_layer * self.layers + head)


class SamplingOptions(StackOptions):
    """Training on some nodes at a time: models/parts/sampling.py."""

    batch_nodes: int = option(
        0, "Train on this many nodes at a time, with sampled neighbours; 0: all at once.", minimum=0, refused=True
    )
    fanout: int = option(10, "batch-nodes: neighbours that are sampled of each node in each layer.", minimum=1)

    def unread(self) -> set[str]:
        return super().unread() | (set() if self.batch_nodes else {"fanout"})

    @property
    def reach(self) -> int | None:
        """A layer takes messages once; nodes could not be sampled otherwise."""
        return self.layers

    def check(self) -> None:
        super().check()
        if self.batch_norm and self.batch_nodes:
            raise UsageError("--batch-norm takes all nodes at once", "leave it or --batch-nodes out")


class SimilarityOptions(TrainConfig):
    """Similar nodes among the neighbours: operators/similar.py."""

    knn: int = option(
        0, "Mix in this many of the most similar nodes (by features) for every node; 0: none.", minimum=0, refused=True
    )
    knn_share: float = option(0.3, "Share of the similar nodes in the messages.", minimum=0, maximum=1)

    def unread(self) -> set[str]:
        return super().unread() | (set() if self.knn else {"knn_share"})

    def operator_kinds(self) -> tuple[str, ...]:
        return super().operator_kinds() + (("knn",) if self.knn else ())


class TwoWayOptions(TrainConfig):
    """Out- and in-neighbours apart: models/parts/directed_layer.py."""

    alpha: float = option(0.5, "Share of the out-neighbours among the messages.", minimum=0, maximum=1)

    def unread(self) -> set[str]:
        return super().unread() | (set() if self.resolved_direction == "both" else {"alpha"})

    @property
    def share_of_out(self) -> float:
        """The share of the out-neighbours: all where only they are asked for; edges both ways count as out."""
        return {"both": self.alpha, "in": 0.0}.get(self.resolved_direction, 1.0)


class TeleportOption(TrainConfig):
    teleport: float = option(
        0.1, "Share of each step that returns to its start (cgnn: with --propagation ppr).", minimum=0, maximum=1
    )


class SteppingOptions(TeleportOption, PerceptronOptions):
    """A perceptron, then steps of propagation."""

    propagation_steps: int = option(10, "Steps of propagation after the MLP (cgnn: with --propagation ppr).", minimum=1)
    propagation_dropout: float = option(
        0.0, "Dropout of what is propagated (cgnn: with --propagation ppr).", minimum=0, maximum=0.99
    )


class HeadOptions(LayerOptions):
    """Attention: a weight an entry, head and layer, its dropout, and what the gradient of one layer needs."""

    heads: int = option(1, "Attention heads (dirgnn: with --variant gat).", minimum=1)

    @property
    def widening(self) -> int:
        return self.heads

    def numbers_an_entry(self) -> int:
        return self.heads * (3 * self.layers + 8)


class AttentionOptions(HeadOptions):
    attention_dropout: float = option(
        0.0, "Dropout of the attention weights (dirgnn: with --variant gat).", minimum=0, maximum=0.99
    )
