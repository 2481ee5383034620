"""train: fit one model on one split, keeping the weights of the best validation epoch."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.errors import NumericalError, StoppedEarly, UsageError
from cgnn_cli.graph import Checkpoint, Fit, Graph, Operators
from cgnn_cli.models.model_table import solve_model, solved_scores
from cgnn_cli.models.parts.adam import Adam
from cgnn_cli.models.parts.classifier import Classifier, Output
from cgnn_cli.models.parts.label_walk import WEIGHTS, LabelWalk, label_walk
from cgnn_cli.numerics.calibration import probabilities_of
from cgnn_cli.numerics.classification import measure, spread
from cgnn_cli.operators.twins import twin_share
from cgnn_cli.resources import thread_count
from cgnn_cli.stages import judging
from cgnn_cli.stages.features import batches
from cgnn_cli.stages.judging import check_validation, figures_of_splits, fit_doubts, solved_figures, validation_figures
from cgnn_cli.stages.spread import SHARE_OUTPUT, Arrays, Held, share_out
from cgnn_cli.stages.task import CPU, Task, check_trainable, prepare, set_up_torch, untrained_warnings
from cgnn_cli.watch import Snapshot, Watch

DIVERGED = 1e9
TOLD = ("model", "direction", "aggregation", "encoding", "metric", "metric_class")  # of all fits alike
HISTORY = ("loss", "validation_loss", "validation_accuracy")


class Validated(NamedTuple):
    """Accuracy and loss on the validation nodes, what epochs are chosen by, and how many classes are predicted."""

    accuracy: float = 0.0
    loss: float = 0.0
    score: float = 0.0
    classes: int = 0


@dataclass
class State:
    """How far a training is: the next epoch, the history so far, and the best epoch.

    Best is the highest validation score, accuracy or another metric, among equals the lowest validation loss. `ahead`
    holds the class scores of the last validation where the next step starts from the same, see `_validate`.
    """

    epoch: int = 0
    best_epoch: int = -1
    best_score: float = -1.0
    best_classes: int = 0
    best_loss: float = 0.0
    best_weights: dict[str, np.ndarray] = field(default_factory=dict)
    history: dict[str, list[float]] = field(default_factory=dict)
    ahead: Tensor | None = None

    def is_better(self, score: float, loss: float) -> bool:
        return (score, -loss) > (self.best_score, -self.best_loss)

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
    if not config.learns:
        return solved(graph, config, split, watch)
    check_trainable(graph, split)
    check_validation(graph, config, split)
    walk = label_walk(graph, config, split, watch.progress) if config.label_walk else None
    task = prepare(graph, operators, config, split, set_up_torch(compute), walk)
    optimiser = Adam(task.network.parameters(), config.lr, config.weight_decay, task.network.undecayed)
    total = task.network.pretrain_epochs + config.epochs
    snapshot = watch.resume()
    state = State() if snapshot is None else _restore(snapshot, task, optimiser)
    if shared := share_out(task, split, compute, watch, walk, optimiser):
        task = shared.task
    while state.goes_on(task):
        if shared is None:
            run_epoch(task, optimiser, state)
        else:
            shared.together(f"{__name__}:share_epoch", partial(run_epoch, task, optimiser, state), epoch=state.epoch)
        latest = {name: values[-1] for name, values in state.history.items()}
        watch.record({"epoch": state.epoch - 1, **latest})
        watch.progress(state.epoch, total, f"loss {latest['loss']:.3f}  validation {state.best_score:.3f}")
        stop = watch.stop_requested() and state.goes_on(task)
        if stop or watch.snapshot_due():
            watch.save(_snapshot(state, task, optimiser, compute))
        if stop:
            raise StoppedEarly(f"stopped after epoch {state.epoch - 1} of split {split}; the state is saved")
    return Fit(
        weights=state.best_weights | ({WEIGHTS: walk.columns} if walk else {}),
        history={name: np.array(values) for name, values in state.history.items()},
        summary={
            "split": split,
            **config.told(),
            "best_epoch": state.best_epoch,
            "epochs": state.epoch,
            **validation_figures(graph, config, split, state.best_score, state.best_classes),
            "validation_accuracy": state.history["validation_accuracy"][state.best_epoch],
            **({"walk": walk.figures} if walk else {}),
            **twin_figures(graph, config, [split]),
            **untrained_warnings(graph, [split]),
            **operators.summary,
        },
    )


def solved(graph: Graph, config: TrainConfig, split: int, watch: Watch) -> Fit:
    """What a model that learns nothing finds on one split."""
    check_trainable(graph, split)
    check_validation(graph, config, split)
    found = solve_model(graph, config, split, watch)
    told = {"split": split, **config.told()}
    told |= solved_figures(graph, config, split, solved_scores(found.weights, config))
    return replace(found, summary={**told, **found.summary, **untrained_warnings(graph, [split])})


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


def run_epoch(task: Task, optimiser: Adam, state: State) -> None:
    """One step, one validation, and the bookkeeping of both; without labels there is nothing to validate."""
    ahead, state.ahead = state.ahead, None
    loss = _step(task, optimiser, state.epoch, ahead)
    unlabelled = state.epoch < task.network.pretrain_epochs
    found = Validated() if unlabelled else _validate(task, state)
    values = dict(zip(HISTORY, (loss, found.loss, found.accuracy), strict=True))
    if task.config.metric != "accuracy":
        values["validation_score"] = found.score
    for name, value in values.items():
        state.history.setdefault(name, []).append(value)
    if not unlabelled and state.is_better(found.score, found.loss):
        state.best_score, state.best_loss, state.best_epoch = found.score, found.loss, state.epoch
        state.best_classes = found.classes
        state.best_weights = _copy_weights(task.network)
    state.epoch += 1


def share_epoch(held: Held, values: dict[str, Any], arrays: Arrays) -> Arrays:
    """In another rank: its part of an epoch's steps, and of the class scores that rank 0 validates."""
    task, optimiser = held[values["number"]]
    with task.team.at_work():
        _step(task, optimiser, values["epoch"])
        task.network.eval()
        if task.in_chunks:
            task.output()
    return ()


def _snapshot(state: State, task: Task, optimiser: Adam, compute: ComputeConfig) -> Snapshot:
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
    names = ("epoch", "best_epoch", "best_score", "best_classes", "best_loss")
    by = {"threads": thread_count(compute.threads, 1)}
    if batches(task.config):
        by["ranks"] = 1 if task.team is None else task.team.size
    return Snapshot(elements, {**by, **{name: getattr(state, name) for name in names}})


def _restore(snapshot: Snapshot, task: Task, optimiser: Adam) -> State:
    """Put a snapshot back into the network, the optimiser and the random numbers."""
    elements, values = snapshot.elements, snapshot.values
    task.network.load_state_dict(_as_tensors(elements["weights"]))
    optimiser.load_state(elements["optimiser"])
    torch.set_rng_state(torch.from_numpy(np.array(elements["random"]["cpu"])))
    if task.device.type == "cuda" and "cuda" in elements["random"]:
        torch.cuda.set_rng_state(torch.from_numpy(np.array(elements["random"]["cuda"])), task.device)
    return State(
        epoch=values["epoch"],
        best_epoch=values["best_epoch"],
        best_score=values.get("best_score", values.get("best_accuracy", -1.0)),  # as 0.1.0 called it
        best_classes=values.get("best_classes", 0),
        best_loss=values["best_loss"],
        best_weights=elements.get("best_weights", {}),  # none yet while pretraining
        history={name: values.tolist() for name, values in elements["history"].items()},
    )


def _as_tensors(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def _step(task: Task, optimiser: Adam, epoch: int, ahead: Tensor | None = None) -> float:
    """The steps of an epoch, one for each batch; returns the mean loss."""
    task.network.train()
    total = 0.0
    for share, parts in task.steps(epoch, ahead):
        optimiser.zero_grad()
        for weight, loss in parts:
            value = loss.item() if task.team is None else task.team.mean(loss.item())
            if not value < DIVERGED:
                raise NumericalError(
                    f"the training loss became {value:.3g} in epoch {epoch} (learning rate {task.config.lr:g})",
                    "use a smaller --lr, or scale the features with --feature-scaling",
                )
            (weight * loss).backward()
            total += share * weight * value
        optimiser.step()
    return total


def _validate(task: Task, state: State) -> Validated:
    """What the validation nodes say after an epoch.

    The weights are those that the next step starts from. Where nothing is drawn at random, it starts from the same
    class scores too, and they are not computed twice; where something is, this may still hold for the first layer.
    """
    task.network.eval()
    task.network.keeps_first = task.has_steady_start and not task.is_steady
    chosen = task.nodes["val"]
    with torch.set_grad_enabled(task.is_steady):
        everything = task.output().logits
    state.ahead = everything if task.is_steady else None
    logits, labels = everything.detach()[chosen], task.labels[chosen]
    guesses = logits.argmax(dim=1)
    accuracy, loss = float((guesses == labels).double().mean()), float(task.loss(logits, labels))
    score, metric = accuracy, task.config.metric
    if metric != "accuracy":
        score = measure(metric, labels.cpu().numpy(), probabilities_of(logits.cpu().numpy()), task.focus)
    return Validated(accuracy, loss, score, int(guesses.unique().numel()))


def _copy_weights(network: Classifier) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def collect(fits: dict[int, Fit]) -> Checkpoint:
    """The models of several splits in one checkpoint."""
    fits = dict(sorted(fits.items()))
    told = [fit.summary for fit in fits.values()]
    twins = [summary["test_twins"] for summary in told if "test_twins" in summary]
    walks = [summary["walk"] for summary in told if "walk" in summary]
    warnings = [warning for summary in told for warning in summary.get("warnings", ())]
    warnings += fit_doubts(told)
    return Checkpoint(
        fits={str(split): fit.to_elements() for split, fit in fits.items()},
        summary={
            "splits": list(fits),
            **{name: told[0][name] for name in TOLD if name in told[0]},
            "validation_accuracy": spread(np.array([summary["validation_accuracy"] for summary in told])),
            **figures_of_splits(told),
            "epochs": [summary["epochs"] for summary in told],
            **({"walks": walks} if walks else {}),
            **({"test_twins": float(np.mean(twins)), "notes": twin_notes(float(np.mean(twins)))} if twins else {}),
            **({"warnings": warnings} if warnings else {}),
        },
    )


def decide(
    graph: Graph,
    operators: Operators,
    fits: dict[int, Fit],
    config: TrainConfig,
    compute: ComputeConfig,
    watch: Watch | None = None,
) -> dict[int, Fit]:
    """The models with what is decided on them after their training, by the validation nodes of each split."""
    found = {}
    for split, trained in fits.items():
        alone = Checkpoint(fits={str(split): trained.to_elements()})
        logits = scores_of(graph, operators, alone, config, split, compute, watch).logits.cpu().numpy()
        found[split] = judging.decide(graph, config, split, trained, logits)
    return found


@torch.no_grad()
def forward(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    split: int,
    device: torch.device = CPU,
) -> Output:
    """Run a trained model over a whole graph in evaluation mode: its own, or one with the same features and classes."""
    if not config.learns:
        scores = torch.from_numpy(solved_scores(checkpoint.fit(split).weights, config)).to(device)
        return Output(scores, scores)
    return trained_task(graph, operators, checkpoint, config, split, device).output()


@torch.no_grad()
def scores_of(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    split: int,
    compute: ComputeConfig,
    watch: Watch | None = None,
) -> Output:
    """What `forward` gives, by the ranks that share the chunks of a large graph, where there are several."""
    device = set_up_torch(compute)
    if not batches(config):
        return forward(graph, operators, checkpoint, config, split, device)
    task, walk = trained_task(graph, operators, checkpoint, config, split, device), None
    if config.label_walk:
        walk = LabelWalk(checkpoint.fit(split).weights[WEIGHTS])
    shared = share_out(task, split, compute, watch or Watch(), walk) if task.in_chunks else None
    return task.output() if shared is None else shared.together(SHARE_OUTPUT, shared.task.output)


def trained_task(
    graph: Graph, operators: Operators, checkpoint: Checkpoint, config: TrainConfig, split: int, device: torch.device
) -> Task:
    """A trained model with its input, in evaluation mode."""
    weights = dict(checkpoint.fit(split).weights)
    walk = LabelWalk(weights.pop(WEIGHTS)) if config.label_walk else None
    task = prepare(graph, operators, config, split, device, walk)
    shapes = ((name, tuple(tensor.shape), weights[name].shape) for name, tensor in task.network.state_dict().items())
    for name, here, trained in shapes:
        if here != trained:
            raise UsageError(
                f"the model keeps {name} of shape {trained} from its own graph, and this graph takes {here}",
                "train a model on this graph",
            )
    task.network.load_state_dict(_as_tensors(weights))
    task.network.eval()
    return task
