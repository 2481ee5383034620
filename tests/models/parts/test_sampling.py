"""Mini-batches: the same as the full batch where nothing is left out, right in expectation where something is."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from cgnn_cli.configs import CommuteConfig, DilapConfig, RewireConfig
from cgnn_cli.errors import StoppedEarly, UsageError
from cgnn_cli.estimates import fit_memory
from cgnn_cli.graph import Graph, Operators
from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.models.model_table import MODELS, train_config
from cgnn_cli.models.parts.sampling import drawn_rows, operators_in, output_by_chunks, sampled_part, whole_part
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.pipeline import FitConfig
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.task import Task, prepare
from cgnn_cli.stages.train import collect, fit, forward
from cgnn_cli.watch import Snapshot, Watch
from tests.front_door import FrontDoor
from tests.graphs import graph_of, hub_edges, random_edges
from tests.models.samples import changed

CPU = torch.device("cpu")
SMALL = DirgnnConfig(hidden=8, epochs=40, patience=40, dropout=0.0, weight_decay=0.0)
KINDS: list[dict[str, Any]] = [
    {"model": "dirgnn", "variant": "sage"},
    {"model": "dirgnn", "variant": "gcn", "jumping_knowledge": "cat", "l2_norm": True},
    {"model": "gcn", "layers": 3, "jumping_knowledge": "max"},
    {"model": "sage", "head_layers": 0},
    {"model": "sage", "direction": "both", "label_input": True, "degree_features": True, "knn": 3},
    {"model": "gcn", "direction": "out", "layers": 1, "head_layers": 0},
]


def learnable_graph(nodes: int = 150, *, as_sparse: bool = False) -> Graph:
    rng = np.random.default_rng(3)
    labels = np.arange(nodes) % 3
    same = labels[:, None] == labels[None, :]
    dense = (rng.random((nodes, nodes)) < np.where(same, 0.12, 0.01)).astype(float)
    np.fill_diagonal(dense, 0)
    features = rng.standard_normal((nodes, 12)).astype(np.float32) + 0.5 * labels[:, None]
    if as_sparse:
        features = features * (rng.random(features.shape) < 0.15)
    splits = np.stack([np.random.default_rng(r).permutation(np.repeat([1, 2, 3], nodes // 3)) for r in range(2)])
    return Graph(
        adjacency=canonical_csr(csr_array(dense)),
        features=csr_array(features) if as_sparse else features.astype(np.float32),
        labels=labels,
        class_names=np.array([b"a", b"b", b"c"]),
        splits=splits.astype(np.uint8),
    )


def gradients(task: Task, epoch: int = 0) -> tuple[float, dict[str, torch.Tensor]]:
    """Loss and gradients of an epoch with a single step."""
    task.network.train()
    ((share, ((weight, loss),)),) = task.steps(epoch)
    assert share == weight == 1
    loss.backward()
    found = {name: value.grad for name, value in task.network.named_parameters() if value.grad is not None}
    return float(loss.detach()), found


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_with_every_neighbour_a_batch_is_the_full_batch(options: dict[str, Any], as_sparse: bool) -> None:
    graph = learnable_graph(as_sparse=as_sparse)
    full = changed(SMALL, **options, branch_dropout=0.0)
    operators = make_operators(graph, None, full)
    loss, expected = gradients(prepare(graph, operators, full, 0, CPU))
    batched = changed(full, batch_nodes=1000, fanout=1000)
    batch_loss, found = gradients(prepare(graph, operators, batched, 0, CPU))
    assert batch_loss == pytest.approx(loss, abs=1e-5)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-5)


def test_small_batches_with_every_neighbour_add_up_to_the_full_batch() -> None:
    graph = learnable_graph()
    operators = make_operators(graph, None, SMALL)
    loss, _ = gradients(prepare(graph, operators, SMALL, 0, CPU))
    task = prepare(graph, operators, dataclasses.replace(SMALL, batch_nodes=7, fanout=1000), 0, CPU)
    parts = [(share, float(part.detach())) for share, ((_, part),) in task.steps(0)]
    assert len(parts) == 8 and sum(share for share, _ in parts) == pytest.approx(1)
    assert sum(share * part for share, part in parts) == pytest.approx(loss, abs=1e-5)


def test_drawn_rows_keep_short_rows_and_the_expectation_of_long_ones() -> None:
    matrix = csr_array(np.triu(np.random.default_rng(0).random((12, 12)) + 0.1, 1))
    panel = np.random.default_rng(1).standard_normal((12, 3))
    rows = np.array([0, 11, 5, 9])
    drawn = [drawn_rows(matrix, rows, 4, np.random.default_rng(seed)) for seed in range(4000)]
    for one in drawn[:20]:
        assert np.diff(one.indptr).tolist() == [4, 0, 4, 2]
        assert len(set(one.indices[:4])) == 4  # without replacement
        np.testing.assert_array_equal(one.toarray()[3], matrix.toarray()[9])
    mean = sum(one @ panel for one in drawn) / len(drawn)
    exact = matrix.toarray()[rows] @ panel
    spread = np.std([one @ panel for one in drawn], axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(mean - exact) <= 5 * spread + 1e-9)
    assert spread[0].max() > 0


def test_every_set_of_neighbours_is_equally_likely() -> None:
    matrix = csr_array(np.ones((1, 5)))
    rng = np.random.default_rng(0)
    sets = [tuple(drawn_rows(matrix, np.array([0]), 3, rng).indices) for _ in range(5000)]
    _, counts = np.unique(sets, axis=0, return_counts=True)
    assert len(counts) == 10 and counts.min() > 400 and counts.max() < 600


def test_a_part_reads_what_its_nodes_drew() -> None:
    matrix = csr_array(graph_of(60, hub_edges(60)).adjacency)
    matrix.data = np.arange(1.0, matrix.nnz + 1)
    part = sampled_part([matrix], np.array([7, 0, 30]), 2, 1000, np.random.default_rng(0))
    assert part.nodes[:3].tolist() == [7, 0, 30] and len(set(part.nodes)) == len(part.nodes)
    dense, found = matrix.toarray(), part.operators[0].toarray()
    inner = {7, 0, 30} | set(np.flatnonzero(dense[[7, 0, 30]].any(axis=0)))
    for place, node in enumerate(part.nodes):
        expected = dense[node][part.nodes] if node in inner else np.zeros(len(part.nodes))
        np.testing.assert_array_equal(found[place], expected)


def test_a_batch_does_not_grow_with_the_graph() -> None:
    batch, fanout, hops = 5, 3, 2
    for nodes in (500, 4000):
        graph = graph_of(nodes, [(i, (i * 7 + 13 * k) % nodes) for i in range(nodes) for k in range(1, 9)])
        operators = [csr_array(graph.edges), csr_array(graph.edges.T.tocsr())]
        part = sampled_part(operators, np.arange(batch), hops, fanout, np.random.default_rng(0))
        assert len(part.nodes) <= batch * (1 + 2 * fanout) ** hops
        assert all(matrix.nnz <= fanout * len(part.nodes) for matrix in part.operators)


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("size", [1, 13, 149, 150])
def test_evaluation_by_chunks_is_evaluation_at_once(options: dict[str, Any], size: int) -> None:
    graph = learnable_graph(as_sparse=size == 13)
    config = changed(SMALL, **options)
    task = prepare(graph, make_operators(graph, None, config), config, 0, CPU)
    task.network.eval()
    expected, found = task.output(), output_by_chunks(task.network, task.x, CPU, size)
    torch.testing.assert_close(found.logits, expected.logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.hidden, expected.hidden, rtol=1e-5, atol=1e-5)
    assert all(operator.part is None for operator in operators_in(task.network))


def test_a_chunk_reaches_its_neighbours_only() -> None:
    matrix = csr_array(graph_of(40, random_edges(40, 3, seed=0)).adjacency)
    part = whole_part([matrix], slice(10, 14))
    reached = {10, 11, 12, 13} | set(matrix[10:14].indices.tolist())
    assert set(part.nodes) == reached and len(part.nodes) == len(reached)
    np.testing.assert_array_equal(part.operators[0].toarray()[:4], matrix.toarray()[10:14][:, part.nodes])


@pytest.mark.parametrize("model", [name for name, entry in MODELS.items() if "batch_nodes" in entry.own_options()])
def test_it_learns_from_few_neighbours(model: str) -> None:
    graph = learnable_graph()
    options: dict[str, Any] = {"model": model, "batch_nodes": 16, "fanout": 4, "dropout": 0.2}
    config = changed(SMALL, **options)
    walk = dilap(rewire(graph, RewireConfig()), DilapConfig())
    times = commute(graph, walk, CommuteConfig(solver="exact", proximity="ratio"))
    operators = make_operators(graph, times, config)
    result = fit(graph, operators, config, 0)
    logits = forward(graph, operators, collect({0: result}), config, 0).logits
    assert graph.labels is not None and graph.splits is not None
    tested = graph.splits[0] == 3
    assert (logits.argmax(dim=1).numpy() == graph.labels)[tested].mean() >= 0.8


class Stopping(Watch):
    """Stops after some epochs and keeps the snapshot."""

    def __init__(self, epochs: int, snapshot: Snapshot | None = None) -> None:
        self.left, self.snapshot = epochs, snapshot

    def resume(self) -> Snapshot | None:
        return self.snapshot

    def save(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def stop_requested(self) -> bool:
        self.left -= 1
        return self.left == 0


def test_a_resumed_training_ends_with_the_same_bits() -> None:
    graph = learnable_graph()
    config = dataclasses.replace(SMALL, batch_nodes=20, fanout=3, epochs=9, dropout=0.3, input_dropout=0.1)
    operators = make_operators(graph, None, config)
    whole = fit(graph, operators, config, 0)
    watch = Stopping(4)
    with pytest.raises(StoppedEarly):
        fit(graph, operators, config, 0, watch=watch)
    resumed = fit(graph, operators, config, 0, watch=Stopping(-1, watch.snapshot))
    for name, values in whole.history.items():
        np.testing.assert_array_equal(values, resumed.history[name])
    for name, weights in whole.weights.items():
        np.testing.assert_array_equal(weights, resumed.weights[name])


def test_what_cannot_be_done_in_batches_is_refused_and_unread_options_are_not_in_the_key() -> None:
    refused: list[dict[str, Any]] = [
        {"model": "appnp"},
        {"model": "cgnn", "propagation": "ppr"},
        {"model": "dirgnn", "variant": "gat"},
        {"model": "gcn", "batch_norm": True},
    ]
    for options in refused:
        with pytest.raises(UsageError):
            train_config(batch_nodes=8, **options).check()
    assert "fanout" not in train_config().to_dict() and "fanout" in train_config(batch_nodes=8).to_dict()


def test_memory_is_that_of_all_ranks_of_the_machine_and_of_no_copy_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, width = 200_000, 100
    graph = Graph(adjacency=csr_array((nodes, nodes)), features=np.zeros((nodes, width), dtype=np.float32))
    inputs = {"graph": graph, "operators-directed": Operators(matrices={}, summary={"entries": 0})}
    plain, scaled, whole = (
        FitConfig(dataclasses.replace(SMALL, **options), 0)
        for options in ({"batch_nodes": 50}, {"batch_nodes": 50, "feature_scaling": "row"}, {"feature_scaling": "row"})
    )
    alone = fit_memory(inputs, plain)
    assert fit_memory(inputs, scaled) == alone  # the rows of a batch, not a copy of all
    of_all = fit_memory(inputs, whole)
    assert of_all - fit_memory(inputs, FitConfig(SMALL, 0)) == 4 * nodes * width
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert fit_memory(inputs, plain) == 2 * alone and fit_memory(inputs, whole) == of_all


def test_memory_is_that_of_a_batch() -> None:
    nodes = 200_000
    graph = Graph(adjacency=csr_array((nodes, nodes)), features=np.zeros((nodes, 1), dtype=np.float32))
    inputs = {"graph": graph, "operators-directed": Operators(matrices={}, summary={"entries": 0})}
    wide = DirgnnConfig(hidden=256, layers=3)
    whole, batched, doubled = (
        fit_memory(inputs, FitConfig(config, 0))
        for config in (wide, *(dataclasses.replace(wide, batch_nodes=count, fanout=2) for count in (50, 100)))
    )
    outputs = 4 * nodes * 256 * 2 * (3 + 1)  # of all layers, for the validation
    assert batched < outputs + whole / 100 and batched < doubled < outputs + whole / 100


def test_batches_through_the_front_door(cgnn: FrontDoor) -> None:
    options = ("--model", "sage", "--epochs", 5, "--split", 0, "--batch-nodes", 20, "--fanout", 4, "--json")
    first = cgnn.ok("train", "--dataset", "demo", *options).json
    again = cgnn.ok("train", "--dataset", "demo", *options).json
    other = cgnn.ok("train", "--dataset", "demo", *options, "--fanout", 5).json
    assert (first["cache"], again["cache"], other["cache"]) == ("miss", "hit", "miss")
    message = cgnn.fails(2, "train", "--dataset", "demo", "--model", "appnp", "--batch-nodes", 20)
    assert "appnp has no --batch-nodes" in message
