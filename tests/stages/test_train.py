"""Training: it learns, keeps the best epoch, is reproducible, and refuses what cannot be learnt."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from cgnn_cli.analysis.prediction import predict_classes
from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig, TrainConfig
from cgnn_cli.errors import DataError, NumericalError, StoppedEarly, UsageError
from cgnn_cli.graph import CommuteTimes, Fit, Graph, Operators
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.models.gat import GatConfig
from cgnn_cli.models.model_table import learners
from cgnn_cli.models.parts.classifier import Network, Output
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.features import scale_features
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.task import Task, check_trainable, choose_device, prepare
from cgnn_cli.stages.train import collect, fit, forward
from cgnn_cli.watch import Snapshot, Watch
from tests.models.samples import changed

SMALL = CgnnConfig(hidden=16, epochs=120, patience=40, dropout=0.2)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two communities with informative edges and weak features: learnable, but not from the features alone."""
    rng = np.random.default_rng(3)
    labels = np.arange(120) % 2
    same = labels[:, None] == labels[None, :]
    dense = (rng.random((120, 120)) < np.where(same, 0.10, 0.01)).astype(float)
    np.fill_diagonal(dense, 0)
    features = rng.standard_normal((120, 8)) + 0.7 * labels[:, None]
    splits = np.stack([np.random.default_rng(r).permutation(np.repeat([1, 2, 3], 40)) for r in range(2)])
    return Graph(
        adjacency=canonical_csr(csr_array(dense)),
        features=features.astype(np.float32),
        labels=labels,
        class_names=np.array([b"left", b"right"]),
        splits=splits.astype(np.uint8),
    )


@pytest.fixture(scope="module")
def times(graph: Graph) -> CommuteTimes:
    walk = dilap(rewire(graph, RewireConfig()), DilapConfig())
    return commute(graph, walk, CommuteConfig(solver="exact", proximity="ratio"))


@pytest.fixture(scope="module")
def operators(graph: Graph, times: CommuteTimes) -> Operators:
    return make_operators(graph, times, SMALL)


@pytest.fixture(scope="module")
def trained(graph: Graph, operators: Operators) -> Fit:
    return fit(graph, operators, SMALL, 0)


@pytest.mark.parametrize("model", ["cgnn", "dirgnn"])
def test_it_learns(graph: Graph, times: CommuteTimes, model: str) -> None:
    config = changed(SMALL, model=model)
    operators = make_operators(graph, times, config)
    checkpoint = collect({split: fit(graph, operators, config, split) for split in (0, 1)})
    assert evaluate(graph, operators, checkpoint, config).accuracy.min() >= 0.85


def test_history_best_epoch_and_patience(trained: Fit) -> None:
    accuracy, loss = trained.history["validation_accuracy"], trained.history["validation_loss"]
    best = trained.summary["best_epoch"]
    assert trained.summary["validation_accuracy"] == accuracy.max() == accuracy[best]
    ties = np.flatnonzero(accuracy == accuracy.max())
    assert loss[best] == loss[ties].min()
    assert trained.summary["epochs"] == len(loss) == min(120, best + SMALL.patience + 1)


def test_kept_weights_are_those_of_the_best_epoch(graph: Graph, operators: Operators, trained: Fit) -> None:
    output = forward(graph, operators, collect({0: trained}), SMALL, 0)
    assert graph.splits is not None and graph.labels is not None
    nodes = graph.splits[0] == 2
    predicted = output.logits.argmax(dim=1).numpy()
    assert (predicted[nodes] == graph.labels[nodes]).mean() == trained.summary["validation_accuracy"]


def test_two_runs_give_the_same_bits_and_another_seed_others(graph: Graph, operators: Operators, trained: Fit) -> None:
    again = fit(graph, operators, SMALL, 0)
    other = fit(graph, operators, dataclasses.replace(SMALL, seed=1), 0)
    for name, weights in trained.weights.items():
        np.testing.assert_array_equal(weights, again.weights[name])
    assert any(not np.array_equal(trained.weights[name], other.weights[name]) for name in trained.weights)


def test_the_test_labels_are_never_read_in_training(graph: Graph, operators: Operators, trained: Fit) -> None:
    assert graph.labels is not None and graph.splits is not None
    hidden = np.where(graph.splits[0] == 3, -1, graph.labels)
    blind = fit(dataclasses.replace(graph, labels=hidden), operators, SMALL, 0)
    for name, weights in trained.weights.items():
        np.testing.assert_array_equal(weights, blind.weights[name])


class Listener(Watch):
    """Notes what it is told; asks to stop after some epochs, keeping the snapshot."""

    def __init__(self, stop_after: int = -1, snapshot: Snapshot | None = None) -> None:
        self.seen: list[tuple[int, int]] = []
        self.metrics: list[dict[str, Any]] = []
        self.stop_after, self.snapshot = stop_after, snapshot

    def progress(self, done: int, total: int, message: str) -> None:
        self.seen.append((done, total))

    def record(self, metrics: dict[str, Any]) -> None:
        self.metrics.append(metrics)

    def resume(self) -> Snapshot | None:
        return self.snapshot

    def save(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def stop_requested(self) -> bool:
        return len(self.seen) == self.stop_after


def test_progress_and_metrics_are_reported(graph: Graph, operators: Operators) -> None:
    listener = Listener()
    result = fit(graph, operators, dataclasses.replace(SMALL, epochs=4), 0, watch=listener)
    assert listener.seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [row["epoch"] for row in listener.metrics] == [0, 1, 2, 3]
    assert [row["loss"] for row in listener.metrics] == result.history["loss"].tolist()


@pytest.mark.parametrize("stops", [[1], [17], [3, 4, 30]])
def test_an_interrupted_training_ends_with_the_same_bits(
    graph: Graph, operators: Operators, trained: Fit, stops: list[int]
) -> None:
    snapshot = None
    for stop in stops:
        listener = Listener(stop, snapshot)
        with pytest.raises(StoppedEarly):
            fit(graph, operators, SMALL, 0, watch=listener)
        snapshot = listener.snapshot
    torch.manual_seed(12345)  # nothing may depend on what happened in between
    resumed = fit(graph, operators, SMALL, 0, watch=Listener(snapshot=snapshot))
    assert resumed.summary == trained.summary
    for name, weights in trained.weights.items():
        np.testing.assert_array_equal(weights, resumed.weights[name])
    for name, values in trained.history.items():
        np.testing.assert_array_equal(values, resumed.history[name])


STEADY = dataclasses.replace(SMALL, dropout=0.0, epochs=12, jumping_knowledge="max", l2_norm=True)


def test_without_dropout_a_validation_is_the_next_step_s_forward_pass(
    graph: Graph, operators: Operators, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[bool] = []
    plain = Task.output

    def counted(task: Task) -> Output:
        passes.append(task.network.training)
        return plain(task)

    monkeypatch.setattr(Task, "output", counted)
    once = fit(graph, operators, STEADY, 0)
    assert passes == [True] + [False] * 12
    passes.clear()
    monkeypatch.setattr(Task, "is_steady", property(lambda task: False))
    twice = fit(graph, operators, STEADY, 0)
    assert passes == [True, False] * 12
    assert_same_bits(once, twice)
    listener = Listener(5)
    monkeypatch.undo()
    with pytest.raises(StoppedEarly):
        fit(graph, operators, STEADY, 0, watch=listener)
    assert_same_bits(once, fit(graph, operators, STEADY, 0, watch=Listener(snapshot=listener.snapshot)))


def assert_same_bits(a: Fit, b: Fit) -> None:
    for name, weights in a.weights.items():
        np.testing.assert_array_equal(weights, b.weights[name])
    for name, values in a.history.items():
        np.testing.assert_array_equal(values, b.history[name])


@pytest.mark.parametrize(
    "unsteady",
    [
        CgnnConfig(dropout=0.1),
        CgnnConfig(dropout=0.0, input_dropout=0.1),
        CgnnConfig(dropout=0.0, propagation="ppr", propagation_dropout=0.1),
        CgnnConfig(dropout=0.0, batch_norm=True),
        CgnnConfig(dropout=0.0, batch_nodes=5),
        GatConfig(dropout=0.0, attention_dropout=0.1),
    ],
)
def test_what_draws_or_averages_is_not_steady(graph: Graph, operators: Operators, unsteady: TrainConfig) -> None:
    task = prepare(graph, operators, STEADY, 0, torch.device("cpu"))
    assert task.is_steady
    assert not dataclasses.replace(task, config=unsteady).is_steady
    assert dataclasses.replace(task, config=CgnnConfig(dropout=0.0, propagation_dropout=0.1)).is_steady
    task.network.draws = True
    assert not dataclasses.replace(task).is_steady


def test_a_branch_counts_where_there_is_one(graph: Graph, operators: Operators) -> None:
    task = prepare(graph, operators, STEADY, 0, torch.device("cpu"))
    with_branch = dataclasses.replace(STEADY, degree_features=True)
    assert not dataclasses.replace(task, config=with_branch).is_steady
    assert dataclasses.replace(task, config=dataclasses.replace(with_branch, branch_dropout=0.0)).is_steady


@pytest.mark.parametrize("model", learners())
def test_a_steady_network_does_in_training_what_it_does_afterwards(
    graph: Graph, times: CommuteTimes, model: Any
) -> None:
    config = changed(STEADY, model=model)
    task = prepare(graph, make_operators(graph, times, config), config, 0, torch.device("cpu"))
    with torch.no_grad():
        in_training = task.network.train()(task.x).logits
        assert torch.equal(in_training, task.network.eval()(task.x).logits)


def test_a_request_to_stop_in_the_last_epoch_finishes(graph: Graph, operators: Operators) -> None:
    listener = Listener(stop_after=4)
    assert fit(graph, operators, dataclasses.replace(SMALL, epochs=4), 0, watch=listener).summary["epochs"] == 4


def test_divergence_names_the_epoch_and_the_learning_rate(graph: Graph, operators: Operators) -> None:
    with pytest.raises(NumericalError, match=r"epoch \d+ \(learning rate 1e\+09\)"):
        fit(graph, operators, dataclasses.replace(SMALL, lr=1e9, activation="elu"), 0)


def test_what_cannot_be_trained_on(graph: Graph) -> None:
    assert graph.splits is not None
    with pytest.raises(DataError, match="no labels"):
        check_trainable(dataclasses.replace(graph, labels=None, class_names=None), 0)
    with pytest.raises(DataError, match="single class"):
        check_trainable(dataclasses.replace(graph, class_names=np.array([b"one"])), 0)
    with pytest.raises(UsageError, match="splits 0 to 1"):
        check_trainable(graph, 2)
    without = np.where(graph.splits == 2, 0, graph.splits).astype(np.uint8)
    with pytest.raises(DataError, match="split 0 has no val nodes"):
        check_trainable(dataclasses.replace(graph, splits=without), 0)


def test_devices() -> None:
    assert choose_device("auto").type in ("cpu", "cuda")
    for name in ("nonsense", "meta"):
        with pytest.raises(UsageError):
            choose_device(name)


@pytest.mark.parametrize("scaling", ["none", "row", "l2", "standard"])
def test_feature_scaling(scaling: str) -> None:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((30, 5)) * (rng.random((30, 5)) < 0.6)
    dense[3] = 0
    dense[:, 4] = 0
    scaled = np.asarray(scale_features(dense, scaling))
    sparse = scale_features(csr_array(dense), scaling)
    assert not isinstance(sparse, np.ndarray)
    if scaling == "row":
        np.testing.assert_allclose(np.abs(scaled).sum(axis=1), np.where(np.abs(dense).sum(axis=1) > 0, 1, 0))
    elif scaling == "l2":
        np.testing.assert_allclose((scaled**2).sum(axis=1), np.where(np.abs(dense).sum(axis=1) > 0, 1, 0))
    elif scaling == "standard":
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 1, 1, 0])
        np.testing.assert_allclose(sparse.toarray()[:, :4], dense[:, :4] / dense[:, :4].std(axis=0))
        return
    np.testing.assert_allclose(sparse.toarray(), scaled)


def test_predictions_are_the_mean_of_the_splits(graph: Graph, operators: Operators, trained: Fit) -> None:
    checkpoint = collect({0: trained, 1: fit(graph, operators, SMALL, 1)})
    both = predict_classes(graph, operators, checkpoint, SMALL, [0, 1])
    each = [forward(graph, operators, checkpoint, SMALL, split).logits.softmax(dim=1).numpy() for split in (0, 1)]
    mean = (each[0] + each[1]) / 2
    np.testing.assert_allclose(both.probability, mean.max(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(both.classes, mean.argmax(axis=1))
    assert both.hidden.shape == (120, 16)


@pytest.mark.parametrize("changes", [{}, {"batch_norm": True}, {"jumping_knowledge": "max", "l2_norm": True}])
def test_a_first_layer_that_a_validation_and_the_next_step_share_changes_no_bit(
    graph: Graph, operators: Operators, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bool] = []
    first = Network._first_layer

    def counted(network: Network, x: Any) -> torch.Tensor:
        made.append(network.training and network.kept_first is None)
        return first(network, x)

    monkeypatch.setattr(Network, "_first_layer", counted)
    config = dataclasses.replace(SMALL, epochs=6, dropout=0.5, **changes)
    shared = fit(graph, operators, config, 0)
    assert made == [True] + 11 * [False]  # the first step of all has no validation before it
    monkeypatch.setattr(Task, "has_steady_start", False)
    apart = fit(graph, operators, config, 0)
    assert made[12:] == 6 * [True, False]
    assert all(np.array_equal(shared.weights[name], apart.weights[name]) for name in apart.weights)
    assert np.array_equal(shared.history["loss"], apart.history["loss"])


@pytest.mark.parametrize("changes", [{"input_dropout": 0.3}, {"label_walk": True}, {"batch_nodes": 16}])
def test_where_the_input_is_drawn_or_changes_no_first_layer_is_shared(
    graph: Graph, operators: Operators, changes: dict[str, Any]
) -> None:
    task = prepare(graph, operators, SMALL, 0, choose_device("cpu"))
    assert task.has_steady_start
    assert not dataclasses.replace(task, config=dataclasses.replace(SMALL, **changes)).has_steady_start
