"""train: fit one model on one split, keeping the weights of the best validation epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor

from cgnn_cli.configs import TrainConfig
from cgnn_cli.errors import DataError, NumericalError, UsageError
from cgnn_cli.graph import SPLIT_PARTS, Checkpoint, CommuteTimes, Fit, Graph
from cgnn_cli.models.network import Network, Output
from cgnn_cli.models.normalise import inverse_or_zero, scaled
from cgnn_cli.models.propagate import Input, as_input
from cgnn_cli.models.table import MODELS

DIVERGED = 1e9
Progress = Callable[[int, int, str], None]


def silent(done: int, total: int, message: str) -> None:
    """A progress report that nobody hears."""


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
    return device


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
    """A network with its input and the nodes of one split, on one device."""

    network: Network
    x: Input
    labels: Tensor
    nodes: dict[str, Tensor]


def prepare(graph: Graph, times: CommuteTimes | None, config: TrainConfig, split: int, device: torch.device) -> Task:
    """Build the seeded network and move the split to the device."""
    check_trainable(graph, split)
    assert graph.features is not None and graph.labels is not None and graph.splits is not None
    torch.manual_seed(config.seed + split)
    network = MODELS[config.model].build(graph, times, config, int(graph.features.shape[1]), device)
    row = graph.splits[split]
    nodes = {name: torch.from_numpy(np.flatnonzero(row == code)).to(device) for name, code in SPLIT_PARTS.items()}
    x = as_input(scale_features(graph.features, config.feature_scaling), device)
    return Task(network, x, torch.from_numpy(graph.labels.astype(np.int64)).to(device), nodes)


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


@dataclass
class _Best:
    """The best epoch so far: by validation accuracy, ties by validation loss."""

    score: tuple[float, float] = (-1.0, 0.0)
    epoch: int = -1
    weights: dict[str, np.ndarray] = field(default_factory=dict)


def fit(
    graph: Graph,
    times: CommuteTimes | None,
    config: TrainConfig,
    split: int,
    *,
    device: str = "cpu",
    threads: int = 1,
    progress: Progress = silent,
) -> Fit:
    """Train on one split: Adam on the training nodes, evaluation-mode validation after each epoch, early stopping."""
    torch.set_num_threads(threads)
    task = prepare(graph, times, config, split, choose_device(device))
    optimiser = torch.optim.Adam(task.network.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    history: dict[str, list[float]] = {"loss": [], "validation_loss": [], "validation_accuracy": []}
    best = _Best()
    for epoch in range(config.epochs):
        history["loss"].append(_step(task, optimiser, epoch, config))
        accuracy, loss = _validate(task)
        history["validation_loss"].append(loss)
        history["validation_accuracy"].append(accuracy)
        if (accuracy, -loss) > best.score:
            best = _Best((accuracy, -loss), epoch, _copy_weights(task.network))
        progress(epoch + 1, config.epochs, f"validation {best.score[0]:.3f}")
        if epoch - best.epoch >= config.patience:
            break
    return Fit(
        weights=best.weights,
        history={name: np.array(values) for name, values in history.items()},
        summary={"split": split, "best_epoch": best.epoch, "epochs": epoch + 1, "validation_accuracy": best.score[0]},
    )


def _step(task: Task, optimiser: torch.optim.Optimizer, epoch: int, config: TrainConfig) -> float:
    task.network.train()
    optimiser.zero_grad(set_to_none=True)
    chosen = task.nodes["train"]
    loss = F.cross_entropy(task.network(task.x).logits[chosen], task.labels[chosen])
    if not loss.item() < DIVERGED:
        raise NumericalError(
            f"the training loss became {loss.item():.3g} in epoch {epoch} (learning rate {config.lr:g})",
            "use a smaller --lr, or scale the features with --feature-scaling",
        )
    loss.backward()
    optimiser.step()
    return float(loss.item())


@torch.no_grad()
def _validate(task: Task) -> tuple[float, float]:
    task.network.eval()
    chosen = task.nodes["val"]
    logits, labels = task.network(task.x).logits[chosen], task.labels[chosen]
    return float((logits.argmax(dim=1) == labels).double().mean()), float(F.cross_entropy(logits, labels))


def _copy_weights(network: Network) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def collect(fits: dict[int, Fit]) -> Checkpoint:
    """The models of several splits in one checkpoint."""
    accuracies = np.array([fits[split].summary["validation_accuracy"] for split in sorted(fits)])
    return Checkpoint(
        fits={str(split): fits[split].to_elements() for split in sorted(fits)},
        summary={
            "splits": sorted(fits),
            "validation_accuracy": {
                "mean": float(accuracies.mean()),
                "std": float(accuracies.std()),
                "runs": len(fits),
            },
            "epochs": [fits[split].summary["epochs"] for split in sorted(fits)],
        },
    )


@torch.no_grad()
def forward(
    graph: Graph,
    times: CommuteTimes | None,
    checkpoint: Checkpoint,
    config: TrainConfig,
    split: int,
    device: str = "cpu",
) -> Output:
    """Run a trained model over the whole graph in evaluation mode."""
    task = prepare(graph, times, config, split, choose_device(device))
    weights = checkpoint.fit(split).weights
    task.network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})
    task.network.eval()
    output: Output = task.network(task.x)
    return output
