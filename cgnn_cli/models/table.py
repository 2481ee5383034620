"""The table of models: what each is, the operator it propagates over, and the options it reads.

Nothing here imports torch or scipy until a model is built.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from cgnn_cli.configs import TrainConfig, option_name
from cgnn_cli.errors import UsageError

if TYPE_CHECKING:
    import torch

    from cgnn_cli.models.network import Classifier


class Shape(NamedTuple):
    """Numbers of features and classes."""

    features: int
    classes: int


@dataclass(frozen=True)
class Model:
    """A model: what it is, where it comes from, and what it reads.

    operator: a name in operators/table.py, or none for a model without messages.
    directions: the directions it can take messages from, its own first.
    options: those of the training that not every model reads. module: the file of this folder with its `build`.
    """

    title: str
    paper: str
    module: str
    operator: str | None
    directions: tuple[str, ...]
    options: tuple[str, ...] = ()

    def build(self, operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
        """The seeded network over some operators."""
        network: Classifier = import_module(f"cgnn_cli.models.{self.module}").build(operators, shape, config, device)
        return network


STACK = ("layers", "hidden", "activation", "head_layers", "dropout", "jumping_knowledge", "l2_norm", "batch_norm")
PERCEPTRON = ("layers", "hidden", "activation", "dropout")
SAMPLED = ("batch_nodes", "fanout")
KNN = ("knn", "knn_share")
ONE_WAY = ("out", "in", "both", "undirected")
ATTENTION = ("heads", "attention_dropout")
STEPPING = ("propagation_steps", "teleport", "propagation_dropout")

MODELS: dict[str, Model] = {
    "cgnn": Model(
        "Commute Graph Neural Network",
        "Commute Graph Neural Networks, ICML 2025",
        "cgnn",
        "commute",
        ("both", "out", "in", "undirected"),
        ("aggregation", "combine", "self_share", "alpha", "propagation", *STEPPING, *STACK, *SAMPLED, *KNN),
    ),
    "dirgnn": Model(
        "Directed GNN, the control without weights",
        "Rossi et al., Edge Directionality Improves Learning on Heterophilic Graphs, LoG 2023",
        "dirgnn",
        "directed",
        ("both", "out", "in", "undirected"),
        ("variant", "alpha", *ATTENTION, *STACK, *SAMPLED, *KNN),
    ),
    "gcn": Model(
        "Graph Convolutional Network",
        "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
        "gcn",
        "convolution",
        ONE_WAY,
        (*STACK, *SAMPLED, *KNN),
    ),
    "gat": Model(
        "Graph Attention Network",
        "Velickovic et al., Graph Attention Networks, ICLR 2018",
        "gat",
        "pattern",
        ("out", "in", "undirected"),
        (*ATTENTION, *STACK),
    ),
    "sage": Model(
        "GraphSAGE with mean aggregation",
        "Hamilton et al., Inductive Representation Learning on Large Graphs, NeurIPS 2017",
        "sage",
        "mean",
        ONE_WAY,
        (*STACK, *SAMPLED, *KNN),
    ),
    "appnp": Model(
        "An MLP, then personalised PageRank",
        "Gasteiger et al., Predict then Propagate, ICLR 2019",
        "appnp",
        "convolution",
        ("undirected", "out", "in", "both"),
        (*STEPPING, *PERCEPTRON, *KNN),
    ),
    "mixhop": Model(
        "Several powers of the adjacency in a layer",
        "Abu-El-Haija et al., MixHop, ICML 2019",
        "mixhop",
        "convolution",
        ONE_WAY,
        ("hops", *STACK, *KNN),
    ),
    "gprgnn": Model(
        "An MLP, then steps with learnt coefficients",
        "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, ICLR 2021",
        "gprgnn",
        "convolution",
        ("undirected", "out", "in", "both"),
        ("gpr_start", *STEPPING, *PERCEPTRON, *KNN),
    ),
    "gcnii": Model(
        "A deep GCN with initial residual and identity mapping",
        "Chen et al., Simple and Deep Graph Convolutional Networks, ICML 2020",
        "gcnii",
        "convolution",
        ("undirected", "out", "in", "both"),
        ("initial_share", "identity_decay", *PERCEPTRON, *KNN),
    ),
    "dgcn": Model(
        "First- and second-order proximities of a digraph",
        "Tong et al., Directed Graph Convolutional Network, 2020",
        "dgcn",
        "second-order",
        ("both", "undirected"),
        ("dgcn_degree", "dgcn_max_degree", *STACK),
    ),
    "digcn": Model(
        "Convolution with the PageRank operator of a digraph",
        "Tong et al., Digraph Inception Convolutional Networks, NeurIPS 2020, without inception",
        "digcn",
        "pagerank",
        ("both", "undirected"),
        ("teleport", *STACK),
    ),
    "digcn-ib": Model(
        "DiGCN with inception blocks",
        "Tong et al., Digraph Inception Convolutional Networks, NeurIPS 2020",
        "digcn_ib",
        "inception",
        ("both", "undirected"),
        ("teleport", "layers", "hidden", "dropout"),
    ),
    "magnet": Model(
        "Chebyshev convolution with the magnetic Laplacian",
        "Zhang et al., MagNet: A Neural Network for Directed Graphs, NeurIPS 2021",
        "magnet",
        "magnetic",
        ("both", "undirected"),
        ("charge", "order", "layers", "hidden", "dropout"),
    ),
    "digcl": Model(
        "Contrastive training over PageRank views, then a linear classifier",
        "Tong et al., Directed Graph Contrastive Learning, NeurIPS 2021",
        "digcl",
        "views",
        ("both", "undirected"),
        (
            *("pretrain_epochs", "pacing", "temperature", "mask_first", "mask_second", "projection", "anchors"),
            *("layers", "hidden", "activation"),
        ),
    ),
    "duplex": Model(
        "Amplitude and phase embeddings with dual attention",
        "Ke et al., DUPLEX: Dual GAT for Complex Embedding of Directed Graphs, ICML 2024",
        "duplex",
        "hermitian",
        ("both", "undirected"),
        ("heads", "fusion_layer", *PERCEPTRON),
    ),
    "mlp": Model("Features alone, a floor", "", "mlp", None, (), PERCEPTRON),
    "linear": Model("Logistic regression on the features, a floor", "", "mlp", None, ()),
}
OWN_OPTIONS = frozenset(name for model in MODELS.values() for name in model.options)
BRANCH = ("graph_share", "branch_hidden", "branch_dropout")


def direction_of(config: TrainConfig) -> str:
    """The direction that messages come from: the one asked for, or the model's own; `none` without messages."""
    known = MODELS[config.model].directions
    if config.direction == "auto":
        return known[0] if known else "none"
    if config.direction not in known:
        able = f"it takes {', '.join(known)}" if known else "it takes no messages"
        raise UsageError(f"--model {config.model} has no --direction {config.direction}", able)
    return config.direction


def options_read(config: TrainConfig) -> dict[str, Any]:
    """The options that this training depends on: others are not part of its key."""
    values = dataclasses.asdict(config)
    unread = set(_unread(config))
    return {
        **{name: value for name, value in values.items() if name not in unread},
        "direction": direction_of(config),
    }


def _unread(config: TrainConfig) -> tuple[str, ...]:
    own = MODELS[config.model].options
    unread = [name for name in OWN_OPTIONS if name not in own]
    if direction_of(config) != "both":
        unread.append("alpha")
    if config.model == "cgnn":
        unread += ["self_share"] if config.combine == "sum" else []
        unread += STEPPING if config.propagation == "layers" else ["aggregation", "combine", "self_share", "alpha"]
        unread += ["head_layers", "jumping_knowledge", "l2_norm", "batch_norm"] if config.propagation == "ppr" else []
    if config.model == "dirgnn" and config.variant != "gat":
        unread += ATTENTION
    if config.model == "gprgnn" and config.gpr_start in ("one-hot", "random"):
        unread.append("teleport")
    unread += ["knn_share"] if config.knn == 0 else []
    unread += ["fanout"] if config.batch_nodes == 0 else []
    unread += [] if config.label_input else ["label_powers"]
    unread += [] if config.has_branch else BRANCH
    return tuple(unread)


def check_options(config: TrainConfig) -> None:
    """Refuse an option beyond the model's layers that it cannot serve."""
    own = MODELS[config.model].options
    for name in ("knn", "batch_nodes"):
        if getattr(config, name) and name not in own:
            able = ", ".join(other for other, model in MODELS.items() if name in model.options)
            raise UsageError(f"--model {config.model} has no {option_name(name)}", f"models that have it: {able}")
    if config.model == "dirgnn" and config.variant == "gat" and (config.knn or config.batch_nodes):
        raise UsageError("--variant gat weighs its neighbours itself", "leave --knn and --batch-nodes out")
    if config.propagation == "ppr" and config.batch_nodes:
        raise UsageError("--propagation ppr takes all nodes at once", "leave --batch-nodes out")
    if config.batch_norm and config.batch_nodes:
        raise UsageError("--batch-norm takes all nodes at once", "leave it or --batch-nodes out")
    direction_of(config)
