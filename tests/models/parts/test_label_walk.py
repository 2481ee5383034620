"""--label-walk: columns that are made without the labels that are learnt from them."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.errors import StoppedEarly, UsageError
from cgnn_cli.estimates import eval_memory, fit_memory
from cgnn_cli.graph import TEST, TRAIN, VALIDATION, Fit, Graph, Operators
from cgnn_cli.models.model_table import learners, train_config
from cgnn_cli.models.parts.adam import Adam
from cgnn_cli.models.parts.label_walk import WEIGHTS, Fold, LabelWalk, folds_of, label_walk
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.pipeline import FitConfig
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.task import CPU, Task, prepare
from cgnn_cli.stages.train import collect, fit, forward
from tests.models.samples import changed, communities, times_of
from tests.stages.test_train import Listener, assert_same_bits

NAMED: dict[str, Any] = {"label_walk": True, "walk_direction": "undirected", "death_rate": 0.05}
SMALL = train_config("sage", hidden=8, epochs=6, dropout=0.3, **NAMED)


def silence(done: int, total: int, message: str) -> None:
    """Nobody is told."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return communities(0.4, inside=0.08, across=0.02)


def labels_of(graph: Graph) -> np.ndarray:
    assert graph.labels is not None
    return graph.labels


def started(graph: Graph, config: TrainConfig, walk: LabelWalk | None = None) -> Task:
    times = times_of(graph, solver="pi-only") if config.model == "cgnn" else None
    walk = walk or label_walk(graph, config, 0, silence)
    return prepare(graph, make_operators(graph, times, config), config, 0, CPU, walk)


def walked(graph: Graph, **options: Any) -> np.ndarray:
    """The probabilities that `--model absorption` finds."""
    return fit(graph, Operators(matrices={}), train_config("absorption", **options), 0).weights["probabilities"]


def test_folds_are_of_one_size_and_know_no_labels() -> None:
    trained = np.random.default_rng(0).random(103) < 0.6
    folds = folds_of(trained, seed=4)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.flatnonzero(trained))
    sizes = [len(fold) for fold in folds]
    assert len(sizes) == 5 and max(sizes) - min(sizes) <= 1
    assert all(np.array_equal(a, b) for a, b in zip(folds, folds_of(trained, seed=4), strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(folds, folds_of(trained, seed=5), strict=True))
    assert [len(fold) for fold in folds_of(np.arange(9) < 3, seed=0)] == [1, 1, 1]


@pytest.mark.parametrize("options", [{}, {"walk_direction": "in"}, {"walk_direction": "out", "death_rate": 0.3}])
def test_columns_are_those_of_absorption_with_and_without_the_labels_of_a_fold(
    graph: Graph, options: dict[str, Any]
) -> None:
    config = train_config("sage", label_walk=True, **options)
    walk = label_walk(graph, config, 0, silence)
    np.testing.assert_array_equal(walk.columns, walked(graph, **options))
    assert graph.splits is not None and walk.figures is not None and len(walk.folds) == 5
    named = {"walk_direction": walk.figures["direction"], "death_rate": walk.figures["death_rate"]}
    for fold in walk.folds:
        assert (graph.splits[0, fold.nodes] == TRAIN).all()
        splits = graph.splits.copy()
        splits[0, fold.nodes] = 0
        np.testing.assert_array_equal(fold.columns, walked(dataclasses.replace(graph, splits=splits), **named))


@pytest.mark.parametrize("model", learners())
def test_a_label_changes_nothing_that_its_node_is_told_in_training(graph: Graph, model: str) -> None:
    """With the walk fixed; what other folds are told does change."""
    config = changed(SMALL, model=model)
    task = started(graph, config)
    own, other = task.folds[2], task.folds[3]
    node = int(own[0][4])
    labels = labels_of(graph).copy()
    labels[node] = 1 - labels[node]
    there = started(dataclasses.replace(graph, labels=labels), config)
    there.network.load_state_dict(task.network.state_dict())
    task.network.eval(), there.network.eval()
    with torch.no_grad():
        here = [task.output(columns).logits for _, columns in (own, other)]
        changed_there = [there.output(columns).logits for _, columns in (there.folds[2], there.folds[3])]
    assert torch.equal(here[0], changed_there[0]) and not torch.equal(here[1], changed_there[1])
    assert not torch.equal(task.output().logits, there.output().logits)


def pushed_back(task: Task, epoch: int) -> float:
    """The loss of an epoch of one step, whose gradient is left in the network."""
    ((share, parts),) = task.steps(epoch)
    total = 0.0
    for weight, loss in parts:
        (weight * loss).backward()
        total += weight * float(loss.detach())
    assert share == 1
    return total


def held_out_accuracy(task: Task, epochs: int = 40, folds: int = 2) -> float:
    """Learn from all folds but one at a time, and find the labels of that one by its own columns."""
    start = {name: value.clone() for name, value in task.network.state_dict().items()}
    right = []
    for number, (nodes, columns) in enumerate(task.folds[:folds]):
        task.network.load_state_dict(start)
        rest = dataclasses.replace(task, folds=task.folds[:number] + task.folds[number + 1 :])
        optimiser = Adam(task.network.parameters(), lr=0.02, weight_decay=0)
        task.network.train()
        for epoch in range(epochs):
            optimiser.zero_grad()
            pushed_back(rest, epoch)
            optimiser.step()
        task.network.eval()
        with torch.no_grad():
            right.append((task.output(columns).logits[nodes].argmax(dim=1) == task.labels[nodes]).float())
    return float(torch.cat(right).mean())


def test_labels_without_meaning_are_found_by_chance() -> None:
    """Columns that are safe for each node by itself are no help against its neighbours': the mistake would be seen."""
    rng = np.random.default_rng(5)
    count, classes = 600, 4
    dense = np.triu(rng.random((count, count)) < 3 / count, 1)
    graph = Graph(
        adjacency=canonical_csr(csr_array((dense | dense.T).astype(float))),
        labels=rng.integers(classes, size=count),
        class_names=np.array([b"a", b"b", b"c", b"d"]),
        splits=np.where(np.arange(count) % 10, TRAIN, np.where(np.arange(count) % 20, VALIDATION, TEST))[None].astype(
            np.uint8
        ),
    )
    config = train_config("sage", direction="undirected", hidden=32, dropout=0.0, encoding="none", **NAMED)
    walk = label_walk(graph, config, 0, silence)
    own_rows = walk.columns.copy()
    for fold in walk.folds:
        own_rows[fold.nodes] = fold.columns[fold.nodes]
    leaking = LabelWalk(walk.columns, [Fold(fold.nodes, own_rows) for fold in walk.folds])
    assert held_out_accuracy(started(graph, config, leaking)) > 0.5
    assert abs(held_out_accuracy(started(graph, config, walk)) - 1 / classes) < 0.1  # 3.4 standard errors


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_gradient_is_that_of_the_loss_with_the_columns_of_each_fold(graph: Graph, as_sparse: bool) -> None:
    features = np.asarray(graph.features) * (np.random.default_rng(0).random((120, 8)) < 0.2)
    graph = dataclasses.replace(graph, features=csr_array(features) if as_sparse else features)
    config = changed(SMALL, dropout=0.0)
    walk = label_walk(graph, config, 0, silence)
    task = started(graph, config, walk)
    total = torch.zeros(())
    for fold in walk.folds:
        x = torch.from_numpy(np.hstack([features, fold.columns]).astype(np.float32))
        total = total + F.cross_entropy(task.network(x).logits[fold.nodes], task.labels[fold.nodes], reduction="sum")
    total = total / len(task.nodes["train"])
    expected = torch.autograd.grad(total, list(task.network.parameters()))
    assert pushed_back(task, 0) == pytest.approx(float(total.detach()), rel=1e-5)
    for parameter, gradient in zip(task.network.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_batches_are_of_one_fold_each_and_add_up_to_the_whole(graph: Graph) -> None:
    config = train_config("sage", hidden=8, dropout=0.0, fanout=1000, epochs=2, **NAMED)
    task = started(graph, config)
    loss = pushed_back(task, 0)
    drawn = {id(columns): nodes for nodes, columns in task.folds}
    batched = dataclasses.replace(task, config=dataclasses.replace(config, batch_nodes=3))  # type: ignore[call-arg]
    seen = []
    for batch, columns in batched._batches(np.random.default_rng(0), 3):
        assert len(batch) <= 3 and np.isin(batch, drawn[id(columns)]).all()
        seen += batch.tolist()
    assert sorted(seen) == task.nodes["train"].tolist()
    steps = [(share, float(part.detach())) for share, ((_, part),) in batched.steps(0)]
    assert len(steps) == 15 and sum(share * part for share, part in steps) == pytest.approx(loss, abs=1e-5)
    fit(graph, make_operators(graph, None, batched.config), batched.config, 0)


def test_features_are_hidden_and_columns_are_not(graph: Graph) -> None:
    for features in (graph.features, csr_array(np.asarray(graph.features) * (np.asarray(graph.features) > 1.2))):
        task = started(dataclasses.replace(graph, features=features), dataclasses.replace(SMALL, input_dropout=0.9))
        task.network.train()
        columns = task.folds[0][1]
        seen = task._input(task.whole_input, columns)
        if not isinstance(seen, torch.Tensor):
            seen = seen(torch.eye(10))
        assert torch.equal(seen[:, 8:], columns) and float((seen[:, :8] == 0).float().mean()) > 0.8


@pytest.mark.parametrize(("encoding", "width"), [("auto", 6 + 2), ("none", 2)])
def test_a_graph_without_features_has_an_encoding_beside_it_or_none(graph: Graph, encoding: Any, width: int) -> None:
    bare = dataclasses.replace(graph, features=None)
    asked = dataclasses.replace(SMALL, encoding_size=6, encoding=encoding)
    config = dataclasses.replace(asked, encoding=asked.encoding_of("none"))
    operators = make_operators(bare, None, config)
    trained = fit(bare, operators, config, 0)
    assert trained.weights["layers.0.from_self.weight"].shape == (8, width)
    assert forward(bare, operators, collect({0: trained}), config, 0).logits.shape == (120, 2)


def test_it_is_one_input_among_others(graph: Graph) -> None:
    config = train_config(
        "dirgnn", hidden=8, epochs=3, batch_norm=True, label_input=True, degree_features=True, knn=2, **NAMED
    )
    operators = make_operators(graph, None, config)
    trained = fit(graph, operators, config, 0)
    assert np.isfinite(trained.history["loss"]).all() and trained.summary["walk"]["death_rate"] == 0.05
    plain = fit(graph, operators, dataclasses.replace(config, label_walk=False), 0)
    assert WEIGHTS not in plain.weights and "walk" not in plain.summary
    assert not np.array_equal(plain.history["loss"], trained.history["loss"])


@pytest.fixture(scope="module")
def trained(graph: Graph) -> Fit:
    return fit(graph, make_operators(graph, None, SMALL), SMALL, 0)


def test_what_is_kept_are_the_columns_that_validation_saw(graph: Graph, trained: Fit) -> None:
    np.testing.assert_array_equal(trained.weights[WEIGHTS], walked(graph, walk_direction="undirected", death_rate=0.05))
    output = forward(graph, make_operators(graph, None, SMALL), collect({0: trained}), SMALL, 0)
    assert graph.splits is not None
    validated = graph.splits[0] == VALIDATION
    right = output.logits.argmax(dim=1).numpy()[validated] == labels_of(graph)[validated]
    assert right.mean() == trained.summary["validation_accuracy"]


def test_training_goes_on_to_the_same_bits(graph: Graph, trained: Fit) -> None:
    """Columns are made again. What is reported before the first epoch: one walk, then five folds."""
    operators, listener = make_operators(graph, None, SMALL), Listener(9)
    with pytest.raises(StoppedEarly, match="after epoch 2 "):
        fit(graph, operators, SMALL, 0, watch=listener)
    assert listener.seen[:6] == [(1, 1), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert_same_bits(trained, fit(graph, operators, SMALL, 0, watch=Listener(snapshot=listener.snapshot)))


def test_a_class_of_one_training_node_is_missing_from_its_fold(graph: Graph) -> None:
    assert graph.splits is not None
    labels = labels_of(graph).copy()
    lonely = int(np.flatnonzero(graph.splits[0] == TRAIN)[0])
    labels[lonely] = 2
    more = dataclasses.replace(graph, labels=labels, class_names=np.array([b"a", b"b", b"c"]))
    walk = label_walk(more, SMALL, 0, silence)
    (own,) = (fold for fold in walk.folds if lonely in fold.nodes)
    assert not own.columns[:, 2].any() and all(fold.columns[:, 2].any() for fold in walk.folds if fold is not own)
    assert np.isfinite(fit(more, make_operators(more, None, SMALL), SMALL, 0).history["loss"]).all()


def test_one_training_node_leaves_its_fold_without_any_label(graph: Graph) -> None:
    assert graph.splits is not None
    splits = graph.splits.copy()
    splits[0, np.flatnonzero(splits[0] == TRAIN)[1:]] = 0
    walk = label_walk(dataclasses.replace(graph, splits=splits), SMALL, 0, silence)
    assert len(walk.folds) == 1 and not walk.folds[0].columns.any()


def test_only_what_is_read_is_in_the_key() -> None:
    plain = train_config("sage")
    assert dataclasses.replace(plain, walk_direction="in", death_rate=0.5).to_dict() == plain.to_dict()
    assert not {"label_walk", "walk_direction", "death_rate"} & plain.to_dict().keys()
    assert SMALL.to_dict().items() >= NAMED.items()
    assert type(SMALL).from_dict(SMALL.to_dict()).to_dict() == SMALL.to_dict()


def test_what_learns_nothing_has_none() -> None:
    with pytest.raises(UsageError, match="--model absorption has no --label-walk: it trains nothing"):
        train_config("absorption", label_walk=True).check()


def test_memory_grows_with_nodes_times_classes(graph: Graph) -> None:
    names = np.array([str(number).encode() for number in range(50_000)])
    many = {"graph": dataclasses.replace(graph, class_names=names)}
    with_walk, without = (FitConfig(dataclasses.replace(SMALL, label_walk=on), 0) for on in (True, False))
    more = 4 * 120 * 50_000
    assert fit_memory(many, with_walk) > fit_memory(many, without) + 6 * more
    assert eval_memory(many, with_walk) > eval_memory(many, without) + more
