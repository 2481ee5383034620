"""A training's task: the network, its input and the nodes of one split, on one device."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor, nn

from cgnn_cli.class_weights import parsed
from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import SPLIT_PARTS, TRAIN, UNUSED, Graph, Operators
from cgnn_cli.models.model_table import build_network
from cgnn_cli.models.option_groups import SamplingOptions, SimilarityOptions
from cgnn_cli.models.parts.branch import WithBranch, similar_labels
from cgnn_cli.models.parts.classifier import Classifier, Network, Output, Shape, hide_entries
from cgnn_cli.models.parts.feature_rows import FeatureRows
from cgnn_cli.models.parts.label_walk import LabelWalk
from cgnn_cli.models.parts.propagate import Input, Propagator, lay_out, with_last
from cgnn_cli.models.parts.sampling import (
    dense_rows,
    on_part,
    operators_in,
    output_by_chunks,
    rows_of,
    sampled_part,
    takes_chunks,
)
from cgnn_cli.operators.normalise import inverse_or_zero
from cgnn_cli.ranks.team import Team
from cgnn_cli.resources import thread_count
from cgnn_cli.stages.features import batches, input_of

CPU = torch.device("cpu")


def choose_device(name: str) -> torch.device:
    """auto takes CUDA where there is one; naming a device that is absent is an error, never a silent CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"--device {name} is not a device", "use auto, cpu, cuda or cuda:0") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"--device {name}: this machine or this torch has no CUDA", "use --device cpu or auto")
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"--device {name} is not supported", "use auto, cpu, cuda or cuda:0")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"--device {name}: this machine has {torch.cuda.device_count()} GPUs", "use a lower number")
    return device


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads on the CPU for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def set_up_torch(compute: ComputeConfig) -> torch.device:
    """Threads, determinism and device, as the settings say."""
    torch.set_num_threads(thread_count(compute.threads, 1))
    if compute.deterministic != torch.are_deterministic_algorithms_enabled():  # the setter imports torch's compiler
        torch.use_deterministic_algorithms(compute.deterministic)
    return choose_device(compute.device)


@dataclass(frozen=True)
class Task:
    """A network with its input and the nodes of one split, on one device; the whole graph stays on the CPU for batches.

    seed: of this split; batches and their neighbours are drawn from it, the epoch and the number of the batch.
    class_weights: of each class in the loss, with a mean of 1 over the training nodes. focus: the class that the
    metric is about, where it is about one.
    folds: with `--label-walk`, training nodes and the columns that x has while these are learnt from.
    team: the ranks that share the work, of which each has a part of every batch; averaging: the network in a training
    with them.
    """

    network: Classifier
    x: Input | FeatureRows
    labels: Tensor
    nodes: dict[str, Tensor]
    config: TrainConfig
    device: torch.device
    seed: int
    folds: tuple[tuple[Tensor, Tensor], ...] = ()
    class_weights: Tensor | None = None
    focus: int | None = None
    team: Team | None = None
    averaging: nn.Module | None = None

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Mean cross entropy of some nodes, weighted by class where that is asked for."""
        if self.class_weights is None:
            return F.cross_entropy(logits, labels)
        weights = self.class_weights.to(logits.device)[labels]
        return (weights * F.cross_entropy(logits, labels, reduction="none")).mean()

    def with_hidden_features(self, x: Input) -> Input:
        """The features, some of them hidden while training."""
        share = self.config.input_dropout
        if not share or not self.network.training:
            return x
        return x.with_dropout(share) if isinstance(x, Propagator) else hide_entries(x, share)

    def _input(self, x: Input, columns: Tensor | None) -> Input:
        """What the network sees in training; features are hidden, the columns of a fold are not."""
        hidden = self.with_hidden_features(x)
        return hidden if columns is None else with_last(hidden, columns)

    def output(self, columns: Tensor | None = None) -> Output:
        """Class scores and last hidden layer of all nodes, in 32 bits, from x or with the columns of a fold."""
        with self.reduced_precision():
            if batches(self.config):
                output = output_by_chunks(self.network, self.x, self.device, team=self.team)
            else:
                output = self.network(self._input(self.whole_input, columns))
        return Output(output.logits.float(), output.hidden.float())

    @cached_property
    def is_steady(self) -> bool:
        """Whether the network does in training what it does afterwards: nothing is drawn, no batch is averaged."""
        if self.network.draws or batches(self.config) or self.config.label_walk:
            return False
        read = self.config.to_dict()
        return not any(value for name, value in read.items() if name.endswith("dropout") or name == "batch_norm")

    @cached_property
    def has_steady_start(self) -> bool:
        """Whether at least the first layer makes in training what it makes afterwards."""
        if not isinstance(self.network, Network) or self.network.draws or batches(self.config):
            return False
        drawn = ("input_dropout", "attention_dropout", "label_walk")
        return not any(self.config.to_dict().get(name) for name in drawn)

    @property
    def whole_input(self) -> Input:
        """The input of all nodes, for what takes them at once."""
        return self.x.of(np.arange(len(self.labels))) if isinstance(self.x, FeatureRows) else self.x

    @property
    def in_chunks(self) -> bool:
        """Whether the output of all nodes is made in chunks, which a team shares."""
        return bool(batches(self.config)) and takes_chunks(self.network, self.device)

    def reduced_precision(self) -> torch.autocast:
        """Dense products in 16 bits, if that is asked for."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16")

    def steps(self, epoch: int, ahead: Tensor | None = None) -> Iterator[tuple[float, Iterable[tuple[float, Tensor]]]]:
        """The steps of an epoch: the share of the nodes that each has, and the parts of its loss with their weights.

        `ahead` are class scores that are known. With folds a step has a part for each: a part is computed when it is
        asked for, so that one forward pass at a time waits for its gradient.
        """
        if epoch < self.network.pretrain_epochs:
            with self.reduced_precision():
                yield 1.0, [(1.0, self.network.pretrain_loss(self.whole_input, epoch).float())]
        elif sampling := batches(self.config):
            yield from self._batch_steps(epoch, sampling)
        elif self.folds:
            yield 1.0, self._fold_losses()
        else:
            chosen = self.nodes["train"]
            logits = self.output().logits if ahead is None else ahead
            yield 1.0, [(1.0, self.loss(logits[chosen], self.labels[chosen]))]

    def _fold_losses(self) -> Iterator[tuple[float, Tensor]]:
        for nodes, columns in self.folds:
            logits = self.output(columns).logits
            yield len(nodes) / len(self.nodes["train"]), self.loss(logits[nodes], self.labels[nodes])

    def _batch_steps(self, epoch: int, sampling: SamplingOptions) -> Iterator[tuple[float, list[tuple[float, Tensor]]]]:
        whole, network = [operator.matrix for operator in operators_in(self.network)], self.averaging or self.network
        drawn = self._batches(np.random.default_rng([self.seed, epoch]), sampling.batch_nodes)
        for number, (batch, columns) in enumerate(drawn, start=1):
            # from 1: a seed that ends in 0 draws the same as the seed without it, here the order of the nodes
            own, weight, rng = self._own_part(batch, [self.seed, epoch, number])
            part = sampled_part(whole, own, sampling.layers, sampling.fanout, rng)
            rows = None if columns is None else dense_rows(columns, part.nodes, self.device)
            with on_part(self.network, part, self.device), self.reduced_precision():
                output: Output = network(self._input(rows_of(self.x, part.nodes, self.device), rows))
            labels = self.labels[torch.from_numpy(own)].to(self.device)
            loss = self.loss(output.logits[: len(own)].float(), labels)
            yield len(batch) / len(self.nodes["train"]), [(1.0, weight * loss)]

    @property
    def leaves_out(self) -> bool:
        """Whether some parameters play no part in the class scores, as by a model's options; asked of one node."""
        sampling = batches(self.config)
        assert sampling is not None
        whole = [operator.matrix for operator in operators_in(self.network)]
        node = self.nodes["train"][:1].numpy()
        part = sampled_part(whole, node, sampling.layers, sampling.fanout, np.random.default_rng(self.seed))
        with on_part(self.network, part, self.device):
            scores = self.network(rows_of(self.x, part.nodes, self.device)).logits[:1]
        found = torch.autograd.grad(scores.sum(), list(self.network.parameters()), allow_unused=True)
        return any(each is None for each in found)

    def _own_part(self, batch: np.ndarray, seed: list[int]) -> tuple[np.ndarray, float, np.random.Generator]:
        """What is to be done of a batch here, the weight of its loss, and what its neighbours are drawn by.

        The ranks of a team hide entries by numbers of their own, which depend on nothing before.
        """
        if self.team is None:
            return batch, 1.0, np.random.default_rng(seed)
        rng = np.random.default_rng([*seed, self.team.rank])
        torch.manual_seed(int(rng.integers(2**63)))
        return *self.team.part(batch), rng

    def _batches(self, rng: np.random.Generator, size: int) -> Iterator[tuple[np.ndarray, Tensor | None]]:
        """The training nodes in random order, some at a time; with folds one fold after another, and its columns."""
        order = rng.permutation(self.nodes["train"].numpy())
        whole: list[tuple[np.ndarray, Tensor | None]] = [(order, None)]
        for members, columns in [(order[np.isin(order, nodes)], columns) for nodes, columns in self.folds] or whole:
            for start in range(0, len(members), size):
                yield members[start : start + size], columns


def prepare(
    graph: Graph,
    operators: Operators,
    config: TrainConfig,
    split: int,
    device: torch.device,
    walk: LabelWalk | None = None,
) -> Task:
    """Build the seeded network and move the split to the device; for batches the graph stays where it is."""
    assert graph.labels is not None and graph.splits is not None
    seed, home = config.seed + split, CPU if batches(config) else device
    torch.manual_seed(seed)
    x = input_of(graph, operators, config, walk, home)
    shape = Shape(x.shape[1], graph.class_count)
    network = build_network(with_similar(operators.matrices, config), shape, config, home)
    if config.has_branch:
        known = torch.from_numpy(known_of_nodes(graph, operators, config, split)).to(home, torch.float32)
        network = WithBranch(network, known, shape.classes, config)
    row = graph.splits[split]
    nodes = {name: torch.from_numpy(np.flatnonzero(row == code)).to(home) for name, code in SPLIT_PARTS.items()}
    lay_out(network.parameters(), x)
    labels = torch.from_numpy(graph.labels.astype(np.int64)).to(home)
    folds = (
        [] if walk is None else [(torch.from_numpy(a).to(home), torch.from_numpy(b).to(home)) for a, b in walk.folds]
    )
    found = class_weights(graph, config, split)
    weights = None if found is None else torch.from_numpy(found).to(home, torch.float32)
    focus = graph.class_in_focus(config)
    return Task(network.to(device), x, labels, nodes, config, device, seed, tuple(folds), weights, focus)


def class_weights(graph: Graph, config: TrainConfig, split: int) -> np.ndarray | None:
    """The weight of each class in the loss, scaled to a mean of 1 over the training nodes."""
    if config.class_weights == "none":
        return None
    assert graph.labels is not None and graph.splits is not None
    counts = np.bincount(graph.labels[graph.splits[split] == TRAIN], minlength=graph.class_count)
    if config.class_weights == "balanced":
        weights = inverse_or_zero(counts.astype(np.float64))
    else:
        weights = np.ones(graph.class_count)
        for name, weight in parsed(config.class_weights).items():
            weights[graph.class_number(name)] = weight
    return np.asarray(weights * counts.sum() / (weights @ counts))


def with_similar(matrices: dict[str, Any], config: TrainConfig) -> dict[str, Any]:
    """The operators, each with a share of the nodes that have similar features (`--knn`)."""
    if not (isinstance(config, SimilarityOptions) and config.knn):
        return matrices
    similar, share = matrices["knn"], np.float32(config.knn_share)
    mixed = {"step", "out", "in"} & matrices.keys()
    return {**matrices, **{name: csr_array((1 - share) * matrices[name] + share * similar) for name in mixed}}


def known_of_nodes(graph: Graph, operators: Operators, config: TrainConfig, split: int) -> np.ndarray:
    """What the branch sees: degree features, and training labels of similar nodes."""
    assert graph.labels is not None and graph.splits is not None
    parts = [operators.matrices["degrees"]] if config.degree_features else []
    if config.label_input:
        labels = np.where(graph.splits[split] == TRAIN, graph.labels, -1)
        parts.append(similar_labels(operators.matrices["twins"], labels, graph.class_count, config.powers()))
    return np.hstack(parts)


def check_trainable(graph: Graph, split: int) -> None:
    """Refuse a graph or split that nothing can be learnt from, or a class that the split could train and does not."""
    if graph.labels is None or graph.splits is None:
        raise DataError(
            "this graph has no labels, so there is nothing to train on",
            "import it again with --labels; rewire, dilap and commute work without",
        )
    if graph.class_count < 2:
        raise DataError("this graph has a single class, so there is nothing to learn")
    if not 0 <= split < graph.split_count:
        raise UsageError(f"--split {split}: this dataset has the splits 0 to {graph.split_count - 1}")
    row = graph.splits[split]
    for name, code in SPLIT_PARTS.items():
        if name != "test" and not (row == code).any():
            raise DataError(f"split {split} has no {name} nodes")
    for number in untrained_classes(graph, split):
        if (graph.labels == number).sum() > 1:
            raise DataError(
                f"split {split} has no train node of class {graph.class_labels()[number]}",
                "train on some node of every class, or take the class out of the split",
            )


def untrained_classes(graph: Graph, split: int) -> list[int]:
    """The classes that a split validates or tests without training on them."""
    assert graph.labels is not None and graph.splits is not None
    row = graph.splits[split]
    used = graph.labels[(row != UNUSED) & (graph.labels >= 0)]
    return np.setdiff1d(used, graph.labels[row == TRAIN]).tolist()


def untrained_warnings(graph: Graph, splits: list[int]) -> dict[str, list[str]]:
    """For the summary of what was trained: the classes whose only node a split does not train on."""
    names = graph.class_labels()
    found = [
        f"split {split} has no train node of class {names[number]}, whose only node is in another part: "
        "no model can learn it, so that node counts as an error"
        for split in splits
        for number in untrained_classes(graph, split)
    ]
    return {"warnings": found} if found else {}
