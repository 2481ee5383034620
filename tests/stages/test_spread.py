"""Batches over two ranks: the loss and the gradients of one process, and its class scores to the bit."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor

from cgnn_cli.configs import CommuteConfig, ComputeConfig, DilapConfig, RewireConfig, TrainConfig
from cgnn_cli.errors import NumericalError, UsageError
from cgnn_cli.execution.lending import Lender
from cgnn_cli.graph import Graph, Operators, StageData
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.adam import Adam
from cgnn_cli.models.parts.label_walk import label_walk
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.ranks import leading
from cgnn_cli.ranks.leading import Group
from cgnn_cli.ranks.team import device_of_rank
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.spread import share_out
from cgnn_cli.stages.task import Task, prepare
from cgnn_cli.stages.train import _step, collect, fit, forward, scores_of
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.watch import Watch
from tests.models.parts.test_sampling import learnable_graph
from tests.ranked import two_ranks

CPU, COMPUTE = torch.device("cpu"), ComputeConfig(device="cpu")
STILL: dict[str, Any] = {
    "lr": 1e-12,
    "hidden": 8,
    "dropout": 0.0,
    "weight_decay": 0.0,
    "branch_dropout": 0.0,
    "fanout": 1000,
}
KINDS: list[dict[str, Any]] = [
    {"model": "cgnn", "class_weights": "balanced"},
    {"model": "cgnn", "direction": "undirected", "jumping_knowledge": "cat"},
    {"model": "dirgnn", "variant": "sage", "class_weights": "balanced"},
    {"model": "dirgnn", "variant": "gcn", "direction": "in", "l2_norm": True},
    {"model": "gcn", "layers": 3, "jumping_knowledge": "max", "class_weights": '{"a": 5.0}'},
    {"model": "gcn", "direction": "out", "head_layers": 0, "class_weights": "balanced"},
    {"model": "sage", "label_input": True, "degree_features": True, "knn": 3, "class_weights": "balanced"},
    {"model": "sage", "degree_features": True, "graph_share": 0.0},
    {"model": "sage", "label_walk": True, "class_weights": "balanced"},
]
PATCH = """
from cgnn_cli.stages.task import Task
loss = Task.loss
def failing(self, *rest):
    if self.config.hidden == 3:
        raise MemoryError("so it is")
    return loss(self, *rest)
Task.loss = failing
"""


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with two_ranks(PATCH) as found:
        yield found


@pytest.fixture
def leads(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leading, "GROUP", group)


class Lending(Watch):
    """Gives the other rank what a training reads, in files that it opens."""

    def __init__(self, folder: Path, graph: Graph, operators: Operators) -> None:
        self.folder, self.graph, self.operators = folder, graph, operators

    def lend(self) -> list[int] | None:
        assert leading.GROUP is not None
        lender = Lender(leading.GROUP)
        return [self.lent(lender, self.graph, "a"), self.lent(lender, self.operators, "b")]

    def lent(self, lender: Lender, data: StageData, letter: str) -> int:
        path, kind = self.folder / f"{letter}.h5", type(data).__name__
        header = Header(kind.lower(), 32 * letter, 1, {}, {}, data.summary)
        files.write_h5(path, files.sealed(Artifact(header, data.to_elements())))
        return lender.lend(path, 32 * letter, kind)


def operators_of(graph: Graph, config: TrainConfig) -> Operators:
    if config.model != "cgnn":
        return make_operators(graph, None, config)
    walk = dilap(rewire(graph, RewireConfig()), DilapConfig())
    return make_operators(graph, commute(graph, walk, CommuteConfig()), config)


def an_epoch(task: Task, optimiser: Adam, carry: Any) -> tuple[float, dict[str, Tensor]]:
    """The mean loss, and the gradients of the last step: that of the smallest batch."""
    loss = carry(lambda: _step(task, optimiser, 0))
    return loss, {name: value.grad for name, value in task.network.named_parameters() if value.grad is not None}


@pytest.mark.parametrize("batch_nodes", [33, 49])  # the last parts have 9 and 8 nodes, 1 and none
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_step_over_two_ranks_is_that_of_one_process(
    leads: None, tmp_path: Path, options: dict[str, Any], batch_nodes: int
) -> None:
    graph = learnable_graph()
    config = train_config(**STILL, **options, batch_nodes=batch_nodes)
    operators = operators_of(graph, config)
    walk = label_walk(graph, config, 0, Watch().progress) if config.label_walk else None
    found = []
    for spread in (False, True):
        task = prepare(graph, operators, config, 0, CPU, walk)
        optimiser = Adam(task.network.parameters(), config.lr, config.weight_decay, task.network.undecayed)
        if spread:
            shared = share_out(task, 0, COMPUTE, Lending(tmp_path, graph, operators), walk, optimiser)
            assert shared is not None
            carry = lambda own: shared.together("cgnn_cli.stages.train:share_epoch", own, epoch=0)  # noqa: B023, E731
            found.append(an_epoch(shared.task, optimiser, carry))
        else:
            found.append(an_epoch(task, optimiser, lambda own: own()))
    (loss, expected), (spread_loss, gradients) = found
    assert spread_loss == pytest.approx(loss, abs=1e-6)
    assert gradients.keys() == expected.keys() and gradients
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-6, rtol=1e-5, err_msg=name)
    assert any(gradient.abs().max() > 1e-3 for gradient in gradients.values())


def large_graph(nodes: int = 20_000) -> Graph:
    """More nodes than a chunk has."""
    rng = np.random.default_rng(4)
    pairs = rng.integers(0, nodes, (2, 3 * nodes))
    splits = rng.permutation(np.arange(nodes) % 3 + 1).astype(np.uint8)
    return Graph(
        adjacency=canonical_csr(csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(nodes, nodes))),
        features=rng.standard_normal((nodes, 3)).astype(np.float32),
        labels=rng.integers(0, 2, nodes),
        class_names=np.array([b"a", b"b"]),
        splits=splits[None],
    )


@pytest.mark.parametrize(
    "options",
    [
        {"model": "dirgnn", "jumping_knowledge": "max"},
        {"model": "sage", "degree_features": True, "precision": "bfloat16"},
        {"model": "sage", "label_walk": True, "calibrate": "temperature"},
    ],
    ids=str,
)
def test_chunks_over_two_ranks_make_the_class_scores_of_one_process(
    leads: None, tmp_path: Path, options: dict[str, Any]
) -> None:
    graph = large_graph()
    config = train_config(**options, hidden=4, batch_nodes=4000, fanout=3, epochs=1)
    operators = make_operators(graph, None, config)
    lending = Lending(tmp_path, graph, operators)
    trained = collect({0: fit(graph, operators, config, 0, COMPUTE, lending)})
    expected = forward(graph, operators, trained, config, 0)
    found = scores_of(graph, operators, trained, config, 0, COMPUTE, lending)
    for one, both in zip(expected, found, strict=True):
        assert torch.equal(one, both)


def test_what_two_ranks_draw_at_random_is_the_same_each_time_and_as_good_as_what_one_draws(
    leads: None, tmp_path: Path
) -> None:
    graph = learnable_graph()
    config = train_config(model="sage", hidden=16, dropout=0.3, fanout=4, batch_nodes=20, epochs=25, lr=0.03)
    operators = make_operators(graph, None, config)
    one, two, again = (
        fit(graph, operators, config, 0, COMPUTE, watch)
        for watch in (None, Lending(tmp_path, graph, operators), Lending(tmp_path, graph, operators))
    )
    assert (two.history["loss"] != one.history["loss"]).any()
    for name, weights in two.weights.items():
        np.testing.assert_array_equal(again.weights[name], weights, err_msg=name)
    best = [found.history["validation_accuracy"].max() for found in (one, two)]
    assert min(best) > 0.8 and best[1] == pytest.approx(best[0], abs=0.1)


def test_what_fails_in_a_rank_ends_the_training_with_its_error(leads: None, tmp_path: Path) -> None:
    graph = learnable_graph()
    cases: list[tuple[dict[str, Any], type[Exception] | None, str]] = [
        ({"hidden": 3}, MemoryError, r"so it is \(on rank 1\)"),
        ({"lr": 1e12, "epochs": 9}, NumericalError, "the training loss became"),
        ({"epochs": 1}, None, ""),
    ]
    for options, error, told in cases:
        config = train_config(**{"model": "gcn", "hidden": 4, "batch_nodes": 20, **options})
        operators = make_operators(graph, None, config)
        watch = Lending(tmp_path, graph, operators)
        with pytest.raises(error, match=told) if error else nullcontext():
            fit(graph, operators, config, 0, COMPUTE, watch)


def test_every_rank_needs_a_gpu_of_its_own(leads: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert device_of_rank("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UsageError, match="each of 2 ranks needs a GPU of its own, and this machine has 1"):
        device_of_rank("cuda")
    graph = learnable_graph()
    config = train_config(model="gcn", hidden=4, batch_nodes=20)
    operators = make_operators(graph, None, config)
    task = prepare(graph, operators, config, 0, CPU)
    with pytest.raises(UsageError, match="--device cuda:1 is one GPU for 2 ranks"):
        share_out(task, 0, ComputeConfig(device="cuda:1"), Lending(tmp_path, graph, operators), None)


def test_a_rank_that_does_not_see_a_file_is_sent_it(
    leads: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = learnable_graph()
    config = train_config(model="gcn", hidden=4, batch_nodes=20, epochs=2, dropout=0.0, fanout=1000)
    operators = make_operators(graph, None, config)
    seen = fit(graph, operators, config, 0, COMPUTE, Lending(tmp_path, graph, operators))
    absolute = Path.absolute
    monkeypatch.setattr(Path, "absolute", lambda path: absolute(path) / "nowhere")
    sent = fit(graph, operators, config, 0, COMPUTE, Lending(tmp_path, graph, operators))
    for name, weights in seen.weights.items():
        np.testing.assert_array_equal(sent.weights[name], weights)


def test_what_is_forgotten_is_no_longer_held(leads: None, group: Group, tmp_path: Path) -> None:
    graph = learnable_graph()
    lender, watch = Lender(group), Lending(tmp_path, graph, make_operators(graph, None, train_config(model="gcn")))
    number = watch.lent(lender, graph, "a")
    assert watch.lent(lender, graph, "a") == number
    lender.keep_only(set())
    assert watch.lent(lender, graph, "a") > number
