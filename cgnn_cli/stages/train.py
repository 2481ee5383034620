"""train: fit one model on one split, keeping the weights of the best validation epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor

from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.errors import DataError, NumericalError, StoppedEarly, UsageError
from cgnn_cli.graph import SPLIT_PARTS, TRAIN, UNUSED, Checkpoint, Fit, Graph, Operators
from cgnn_cli.models.adam import Adam
from cgnn_cli.models.branch import WithBranch, similar_labels
from cgnn_cli.models.network import Classifier, Output, hide_entries
from cgnn_cli.models.propagate import Input, Propagator, as_input, lay_out
from cgnn_cli.models.sampling import on_part, operators_in, output_by_chunks, rows_of, sampled_part
from cgnn_cli.models.table import MODELS, Shape, direction_of
from cgnn_cli.operators.normalise import inverse_or_zero, scaled
from cgnn_cli.operators.twins import twin_share
from cgnn_cli.resources import thread_count
from cgnn_cli.watch import Snapshot, Watch

DIVERGED = 1e9
CPU = torch.device("cpu")
HISTORY = ("loss", "validation_loss", "validation_accuracy")


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


def set_up_torch(compute: ComputeConfig) -> torch.device:
    """Threads, determinism and device, as the settings say."""
    torch.set_num_threads(thread_count(compute.threads, 1))
    if compute.deterministic != torch.are_deterministic_algorithms_enabled():  # the setter imports torch's compiler
        torch.use_deterministic_algorithms(compute.deterministic)
    return choose_device(compute.device)


def scale_features(features: np.ndarray | csr_array, scaling: str) -> np.ndarray | csr_array:
    """row: rows to absolute sum 1; l2: rows to length 1; standard: columns to mean 0 and variance 1.

    Sparse features are not centred by `standard`, only divided by the deviation of their columns.
    """
    if scaling == "none":
        return features
    if scaling == "standard":
        if isinstance(features, np.ndarray):
            centred = features - features.mean(axis=0)
            return centred * inverse_or_zero(centred.std(axis=0))
        sparse = csr_array(features, dtype=np.float64)
        variance = np.asarray(sparse.multiply(sparse).mean(axis=0) - np.square(sparse.mean(axis=0))).ravel()
        return scaled(sparse, np.ones(sparse.shape[0]), inverse_or_zero(np.sqrt(np.maximum(variance, 0))))
    powers = abs(features) if scaling == "row" else features * features
    totals = np.asarray(powers.sum(axis=1), dtype=np.float64).ravel()
    factor = inverse_or_zero(totals if scaling == "row" else np.sqrt(totals))
    return features * factor[:, None] if isinstance(features, np.ndarray) else scaled(features, factor)


@dataclass(frozen=True)
class Task:
    """A network with its input and the nodes of one split, on one device; the whole graph stays on the CPU for batches.

    seed: of this split; batches and their neighbours are drawn from it, the epoch and the number of the batch.
    """

    network: Classifier
    x: Input
    labels: Tensor
    nodes: dict[str, Tensor]
    config: TrainConfig
    device: torch.device
    seed: int

    def with_hidden_features(self, x: Input) -> Input:
        """The features, some of them hidden while training."""
        share = self.config.input_dropout
        if not share or not self.network.training:
            return x
        return x.with_dropout(share) if isinstance(x, Propagator) else hide_entries(x, share)

    def output(self) -> Output:
        """Class scores and last hidden layer of all nodes, in 32 bits."""
        with self.reduced_precision():
            if self.config.batch_nodes:
                output = output_by_chunks(self.network, self.x, self.device)
            else:
                output = self.network(self.with_hidden_features(self.x))
        return Output(output.logits.float(), output.hidden.float())

    @property
    def is_steady(self) -> bool:
        """Whether the network does in training what it does afterwards: nothing is drawn, no batch is averaged."""
        config = self.config
        drawn = any((config.dropout, config.input_dropout, config.propagation_dropout))
        return not (drawn or config.batch_norm or config.batch_nodes or (config.has_branch and config.branch_dropout))

    def reduced_precision(self) -> torch.autocast:
        """Dense products in 16 bits, if that is asked for."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16")

    def losses(self, epoch: int, ahead: Tensor | None = None) -> Iterator[tuple[float, Tensor]]:
        """The loss of each step of an epoch, and its share of the nodes; `ahead` are class scores that are known."""
        if epoch < self.network.pretrain_epochs:
            with self.reduced_precision():
                yield 1.0, self.network.pretrain_loss(self.x, epoch).float()
        elif self.config.batch_nodes:
            yield from self._batch_losses(epoch)
        else:
            chosen = self.nodes["train"]
            logits = self.output().logits if ahead is None else ahead
            yield 1.0, F.cross_entropy(logits[chosen], self.labels[chosen])

    def _batch_losses(self, epoch: int) -> Iterator[tuple[float, Tensor]]:
        whole = [operator.matrix for operator in operators_in(self.network)]
        order = np.random.default_rng([self.seed, epoch]).permutation(self.nodes["train"].numpy())
        hops, fanout, size = self.config.layers, self.config.fanout, self.config.batch_nodes
        for number, start in enumerate(range(0, len(order), size), start=1):
            batch = order[start : start + size]
            # from 1: a seed that ends in 0 draws the same as the seed without it, here the order of the nodes
            rng = np.random.default_rng([self.seed, epoch, number])
            part = sampled_part(whole, batch, hops, fanout, rng)
            with on_part(self.network, part, self.device), self.reduced_precision():
                output: Output = self.network(self.with_hidden_features(rows_of(self.x, part.nodes, self.device)))
            labels = self.labels[torch.from_numpy(batch)].to(self.device)
            yield len(batch) / len(order), F.cross_entropy(output.logits[: len(batch)].float(), labels)


def prepare(graph: Graph, operators: Operators, config: TrainConfig, split: int, device: torch.device) -> Task:
    """Build the seeded network and move the split to the device; for batches the graph stays where it is."""
    check_trainable(graph, split)
    assert graph.features is not None and graph.labels is not None and graph.splits is not None
    seed, home = config.seed + split, CPU if config.batch_nodes else device
    torch.manual_seed(seed)
    shape = Shape(int(graph.features.shape[1]), graph.class_count)
    network = MODELS[config.model].build(with_similar(operators.matrices, config), shape, config, home)
    if config.has_branch:
        known = torch.from_numpy(known_of_nodes(graph, operators, config, split)).to(home, torch.float32)
        network = WithBranch(network, known, shape.classes, config)
    row = graph.splits[split]
    nodes = {name: torch.from_numpy(np.flatnonzero(row == code)).to(home) for name, code in SPLIT_PARTS.items()}
    x = as_input(scale_features(graph.features, config.feature_scaling), home)
    lay_out(network.parameters(), x)
    labels = torch.from_numpy(graph.labels.astype(np.int64)).to(home)
    return Task(network.to(device), x, labels, nodes, config, device, seed)


def with_similar(matrices: dict[str, Any], config: TrainConfig) -> dict[str, Any]:
    """The operators, each with a share of the nodes that have similar features (`--knn`)."""
    if not config.knn:
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
    """Refuse a graph or split that nothing can be learnt from."""
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
    used = graph.labels[(row != UNUSED) & (graph.labels >= 0)]
    untrained = np.setdiff1d(used, graph.labels[row == SPLIT_PARTS["train"]])
    if len(untrained):
        raise DataError(
            f"split {split} has no train node of class {graph.class_labels()[untrained[0]]}",
            "train on some node of every class, or take the class out of the split",
        )


@dataclass
class _State:
    """How far a training is: the next epoch, the history so far, and the best epoch.

    Best is the highest validation accuracy, among equals the lowest validation loss. `ahead` holds the class scores of
    the last validation where the next step starts from the same, see `_validate`.
    """

    epoch: int = 0
    best_epoch: int = -1
    best_accuracy: float = -1.0
    best_loss: float = 0.0
    best_weights: dict[str, np.ndarray] = field(default_factory=dict)
    history: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in HISTORY})
    ahead: Tensor | None = None

    def is_better(self, accuracy: float, loss: float) -> bool:
        return (accuracy, -loss) > (self.best_accuracy, -self.best_loss)

    def goes_on(self, task: Task) -> bool:
        """Whether there is another epoch: those without labels come first, and count for nothing here."""
        before, config = task.network.pretrain_epochs, task.config
        return self.epoch < before + config.epochs and self.epoch - max(self.best_epoch, before - 1) <= config.patience


def fit(
    graph: Graph,
    operators: Operators,
    config: TrainConfig,
    split: int,
    compute: ComputeConfig | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Train on one split: Adam on the training nodes, evaluation-mode validation after each epoch, early stopping.

    An interrupted training that goes on from a snapshot ends with the same weights, bit for bit, on one machine's
    CPU with the same number of threads.
    """
    compute, watch = compute or ComputeConfig(), watch or Watch()
    task = prepare(graph, operators, config, split, set_up_torch(compute))
    optimiser = Adam(task.network.parameters(), config.lr, config.weight_decay, task.network.undecayed)
    total = task.network.pretrain_epochs + config.epochs
    snapshot = watch.resume()
    state = _State() if snapshot is None else _restore(snapshot, task, optimiser)
    while state.goes_on(task):
        _epoch(task, optimiser, state)
        latest = {name: values[-1] for name, values in state.history.items()}
        watch.record({"epoch": state.epoch - 1, **latest})
        watch.progress(state.epoch, total, f"loss {latest['loss']:.3f}  validation {state.best_accuracy:.3f}")
        stop = watch.stop_requested() and state.goes_on(task)
        if stop or watch.snapshot_due():
            watch.save(_snapshot(state, task, optimiser, thread_count(compute.threads, 1)))
        if stop:
            raise StoppedEarly(
                f"stopped after epoch {state.epoch - 1} of split {split}; the state is saved",
                "run the same command again to go on",
            )
    return Fit(
        weights=state.best_weights,
        history={name: np.array(values) for name, values in state.history.items()},
        summary={
            "split": split,
            "model": config.model,
            "direction": direction_of(config),
            "best_epoch": state.best_epoch,
            "epochs": state.epoch,
            "validation_accuracy": state.best_accuracy,
            **twin_figures(graph, config, [split]),
        },
    )


def twin_figures(graph: Graph, config: TrainConfig, splits: list[int]) -> dict[str, Any]:
    """What `--label-input` can look up: the share of test nodes with a twin among the training nodes."""
    if not config.label_input:
        return {}
    assert graph.splits is not None
    return {"test_twins": twin_share(graph.edges, graph.splits[splits])}


def twin_notes(share: float) -> list[str]:
    """How a result of `--label-input` is to be read."""
    return [
        f"label-input: {100 * share:.1f} % of the test nodes have a training node with the identical out-neighbours; "
        "where that is many, accuracy says how well labels of duplicates are looked up"
    ]


def _epoch(task: Task, optimiser: Adam, state: _State) -> None:
    """One step, one validation, and the bookkeeping of both; without labels there is nothing to validate."""
    loss = _step(task, optimiser, state)
    unlabelled = state.epoch < task.network.pretrain_epochs
    accuracy, validation_loss = (0.0, 0.0) if unlabelled else _validate(task, state)
    for name, value in zip(HISTORY, (loss, validation_loss, accuracy), strict=True):
        state.history[name].append(value)
    if not unlabelled and state.is_better(accuracy, validation_loss):
        state.best_accuracy, state.best_loss, state.best_epoch = accuracy, validation_loss, state.epoch
        state.best_weights = _copy_weights(task.network)
    state.epoch += 1


def _snapshot(state: _State, task: Task, optimiser: Adam, threads: int) -> Snapshot:
    """All that the rest of a training depends on."""
    elements: dict[str, Any] = {
        "weights": _copy_weights(task.network),
        "best_weights": state.best_weights,
        "history": {name: np.array(values) for name, values in state.history.items()},
        "optimiser": optimiser.state(),
        "random": {"cpu": torch.get_rng_state().numpy()},
    }
    if task.device.type == "cuda":
        elements["random"]["cuda"] = torch.cuda.get_rng_state(task.device).numpy()
    names = ("epoch", "best_epoch", "best_accuracy", "best_loss")
    return Snapshot(elements, {"threads": threads, **{name: getattr(state, name) for name in names}})


def _restore(snapshot: Snapshot, task: Task, optimiser: Adam) -> _State:
    """Put a snapshot back into the network, the optimiser and the random numbers."""
    elements, values = snapshot.elements, snapshot.values
    task.network.load_state_dict(_as_tensors(elements["weights"]))
    optimiser.load_state(elements["optimiser"])
    torch.set_rng_state(torch.from_numpy(np.array(elements["random"]["cpu"])))
    if task.device.type == "cuda" and "cuda" in elements["random"]:
        torch.cuda.set_rng_state(torch.from_numpy(np.array(elements["random"]["cuda"])), task.device)
    return _State(
        epoch=values["epoch"],
        best_epoch=values["best_epoch"],
        best_accuracy=values["best_accuracy"],
        best_loss=values["best_loss"],
        best_weights=elements.get("best_weights", {}),  # none yet while pretraining
        history={name: elements["history"][name].tolist() for name in HISTORY},
    )


def _as_tensors(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def _step(task: Task, optimiser: Adam, state: _State) -> float:
    """The steps of an epoch, one for each batch; returns the mean loss."""
    task.network.train()
    ahead, state.ahead = state.ahead, None
    total = 0.0
    for share, loss in task.losses(state.epoch, ahead):
        if not loss.item() < DIVERGED:
            raise NumericalError(
                f"the training loss became {loss.item():.3g} in epoch {state.epoch} (learning rate {task.config.lr:g})",
                "use a smaller --lr, or scale the features with --feature-scaling",
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += share * float(loss.item())
    return total


def _validate(task: Task, state: _State) -> tuple[float, float]:
    """Accuracy and loss on the validation nodes.

    The weights are those that the next step starts from. Where nothing is drawn at random, it starts from the same
    class scores too, and they are not computed twice.
    """
    task.network.eval()
    chosen = task.nodes["val"]
    with torch.set_grad_enabled(task.is_steady):
        everything = task.output().logits
    state.ahead = everything if task.is_steady else None
    logits, labels = everything.detach()[chosen], task.labels[chosen]
    return float((logits.argmax(dim=1) == labels).double().mean()), float(F.cross_entropy(logits, labels))


def _copy_weights(network: Classifier) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def collect(fits: dict[int, Fit]) -> Checkpoint:
    """The models of several splits in one checkpoint."""
    accuracies = np.array([fits[split].summary["validation_accuracy"] for split in sorted(fits)])
    any_fit = next(iter(fits.values()))
    twins = [fit.summary["test_twins"] for fit in fits.values() if "test_twins" in fit.summary]
    return Checkpoint(
        fits={str(split): fits[split].to_elements() for split in sorted(fits)},
        summary={
            "splits": sorted(fits),
            **{name: any_fit.summary[name] for name in ("model", "direction")},
            "validation_accuracy": {
                "mean": float(accuracies.mean()),
                "std": float(accuracies.std()),
                "runs": len(fits),
            },
            "epochs": [fits[split].summary["epochs"] for split in sorted(fits)],
            **({"test_twins": float(np.mean(twins)), "notes": twin_notes(float(np.mean(twins)))} if twins else {}),
        },
    )


@torch.no_grad()
def forward(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    split: int,
    device: torch.device = CPU,
) -> Output:
    """Run a trained model over the whole graph in evaluation mode."""
    task = prepare(graph, operators, config, split, device)
    task.network.load_state_dict(_as_tensors(checkpoint.fit(split).weights))
    task.network.eval()
    return task.output()
