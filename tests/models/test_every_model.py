"""What every model of the table that learns must do, whatever its equations are."""

import dataclasses
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig, option_name
from cgnn_cli.errors import UsageError
from cgnn_cli.estimates import fit_memory, numbers_of_a_node
from cgnn_cli.graph import CommuteTimes, Fit, Graph
from cgnn_cli.models.model_table import MODELS, learners, train_config
from cgnn_cli.models.parts.propagate import Propagator, as_input
from cgnn_cli.pipeline import FitConfig
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.operators import make_operator, make_operators
from cgnn_cli.stages.train import collect, fit
from tests.models.samples import (
    CPU,
    DIRECTIONS,
    build,
    communities,
    features_of,
    kept_sizes,
    logits,
    oriented,
    permuted,
    random_graph,
    times_of,
    without_edges,
)

CASES: dict[str, dict[str, Any]] = {
    **{name: {"model": name} for name in learners()},
    "cgnn by pagerank": {"model": "cgnn", "propagation": "ppr"},
    "dirgnn gcn": {"model": "dirgnn", "variant": "gcn"},
    "dirgnn gat": {"model": "dirgnn", "variant": "gat"},
}
FLOORS = ("mlp", "linear")
SMALL: dict[str, Any] = {"hidden": 6, "pretrain_epochs": 2, "epochs": 3, "patience": 3}
REFUSED = ("knn", "batch_nodes")  # where a model has no such option; train_config says so
AROUND_THE_MODEL = ("knn", "knn_share", "batch_nodes", "fanout")  # served by the stage around it, and tested there
NEWER = "label_walk"  # than 0.1.0: off, it is not in a key
OTHER_VALUES: dict[str, Any] = {
    "aggregation": "sym",
    "fusion_layer": 1,
    "dgcn_max_degree": 4,
    "pretrain_epochs": 3,
    "label_powers": "7",
}

every_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph()


@pytest.fixture(scope="module")
def times(graph: Graph) -> CommuteTimes:
    return times_of(graph, solver="exact", proximity="ratio")


@pytest.fixture(scope="module")
def weak() -> Graph:
    """A learnable digraph in which neighbours matter: the features alone say little."""
    return communities(0.4, inside=0.15)


@pytest.fixture(scope="module")
def weak_times(weak: Graph) -> CommuteTimes:
    return times_of(weak, solver="exact", proximity="ratio")


def trained(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> Fit:
    return fit(graph, make_operators(graph, times, config), config, 0)


def other_value(config: TrainConfig, name: str) -> Any:
    """A valid value of an option that is not its present one."""
    value, hint = getattr(config, name), get_type_hints(type(config))[name]
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if choices := get_args(hint):
        return next(choice for choice in choices if choice != value)
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value / 2 + 0.03


@every_case
def test_permutation_equivariance(case: str, graph: Graph, times: CommuteTimes) -> None:
    order = np.random.default_rng(1).permutation(graph.node_count)
    moved, moved_times = permuted(graph, times, order)
    there = logits(build(moved, moved_times, **CASES[case]), moved)
    here = logits(build(graph, times, **CASES[case]), graph)
    torch.testing.assert_close(there, here[torch.from_numpy(order)], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(there, here, rtol=1e-4, atol=1e-5)


@every_case
@pytest.mark.parametrize("edges", [True, False])
def test_outputs_and_gradients_are_finite(case: str, edges: bool, graph: Graph, times: CommuteTimes) -> None:
    """The graph has an isolated node, a sink and a source; without edges all nodes are alone."""
    if not edges:
        graph = without_edges(graph)
        times = times_of(graph, solver="exact", proximity="ratio")
    network = build(graph, times, **CASES[case]).train()
    x, labels = features_of(graph), torch.from_numpy(np.asarray(graph.labels))
    output = network(x)
    loss = F.cross_entropy(output.logits, labels)
    if network.pretrain_epochs:
        loss = loss + network.pretrain_loss(x, 0)
    loss.backward()
    assert output.logits.shape == (graph.node_count, graph.class_count)
    assert torch.isfinite(output.logits).all() and torch.isfinite(output.hidden).all()
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    assert gradients and all(torch.isfinite(gradient).all() for gradient in gradients)


@every_case
def test_it_learns(case: str, weak: Graph, weak_times: CommuteTimes) -> None:
    """9 of 10 test nodes right: from the neighbours, or from features that suffice for the floors.

    MagNet's default charge adds out-neighbours and subtracts in-neighbours, so that a community whose edges point both
    ways says nothing to it: it has edges that all point from one class to the other.
    """
    options: dict[str, Any] = {"hidden": 16, "epochs": 150, "patience": 150, "dropout": 0.2, "pretrain_epochs": 60}
    config = train_config(**options, **CASES[case])
    graph = communities(1.5) if case in FLOORS else oriented() if case == "magnet" else weak
    operators = make_operators(graph, weak_times, config)
    checkpoint = collect({0: fit(graph, operators, config, 0)})
    assert evaluate(graph, operators, checkpoint, config).accuracy.min() >= 0.9


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("graph", [communities(0.4, inside=0.15), oriented()], ids=["communities", "oriented"])
def test_the_features_alone_do_not_suffice_there(floor: Any, graph: Graph) -> None:
    config = train_config(model=floor, hidden=16, epochs=150, patience=150, dropout=0.2)
    operators = make_operators(graph, None, config)
    assert evaluate(graph, operators, collect({0: fit(graph, operators, config, 0)}), config).accuracy.max() <= 0.8


@every_case
def test_each_direction_builds_and_differs(case: str, graph: Graph, times: CommuteTimes) -> None:
    options = CASES[case]
    known = MODELS[options["model"]].directions
    seen = [logits(build(graph, times, **{**options, "direction": name}), graph) for name in known]
    for first in range(len(seen)):
        for second in range(first):
            assert not torch.allclose(seen[first], seen[second], atol=1e-4), (known[first], known[second])
    if known:
        assert torch.equal(seen[0], logits(build(graph, times, **options), graph))


@every_case
def test_other_directions_are_refused(case: str, graph: Graph, times: CommuteTimes) -> None:
    options = CASES[case]
    for direction in set(DIRECTIONS) - set(MODELS[options["model"]].directions):
        with pytest.raises(UsageError, match=f"no --direction {direction}"):
            make_operators(graph, times, train_config(**{**options, "direction": direction}))


@every_case
def test_options_beyond_its_reach_change_nothing(case: str, weak: Graph, weak_times: CommuteTimes) -> None:
    config = train_config(**SMALL, **CASES[case])
    read, plain = config.to_dict(), trained(weak, weak_times, config)
    unread = [item.name for item in dataclasses.fields(config) if item.name not in read and item.name != NEWER]
    for name in REFUSED:
        if not hasattr(config, name):
            with pytest.raises(UsageError, match=f"has no {option_name(name)}"):
                train_config(**{**CASES[case], name: 2})
    for name in unread:
        changed = dataclasses.replace(config, **{name: other_value(config, name)})
        assert changed.to_dict() == read, name
        same = trained(weak, weak_times, changed)
        assert all(np.array_equal(same.weights[key], plain.weights[key]) for key in plain.weights), name


@every_case
def test_each_option_of_the_model_does_something(case: str, weak: Graph, weak_times: CommuteTimes) -> None:
    config = train_config(**{**SMALL, "jumping_knowledge": "max" if case not in FLOORS else "none"}, **CASES[case])
    plain = trained(weak, weak_times, config).history["loss"]
    for name in set(config.own_options()) & set(config.to_dict()) - set(AROUND_THE_MODEL):
        changed = dataclasses.replace(config, **{name: other_value(config, name)})
        assert changed.to_dict() != config.to_dict(), name
        assert not np.array_equal(trained(weak, weak_times, changed).history["loss"], plain), name


@every_case
def test_half_precision_trains(case: str, weak: Graph, weak_times: CommuteTimes) -> None:
    options: dict[str, Any] = {**SMALL, "epochs": 30, "patience": 30, "dropout": 0.0, **CASES[case]}
    reduced = trained(weak, weak_times, train_config(**options, precision="bfloat16"))
    full = trained(weak, weak_times, train_config(**options))
    losses = reduced.history["loss"][-30:]
    assert losses[-1] < 0.97 * losses[0]
    assert all(weights.dtype != np.float16 and np.isfinite(weights).all() for weights in reduced.weights.values())
    assert not np.array_equal(losses, full.history["loss"][-30:])
    np.testing.assert_allclose(losses[0], full.history["loss"][-30], rtol=0.1)


@every_case
def test_sparse_and_dense_input_give_the_same(case: str, graph: Graph, times: CommuteTimes) -> None:
    features = np.asarray(graph.features) * (np.random.default_rng(0).random(graph.features.shape) < 0.2)  # type: ignore[union-attr]
    sparse = as_input(csr_array(features), CPU)
    assert isinstance(sparse, Propagator)
    network = build(graph, times, **CASES[case])
    with torch.no_grad():
        from_sparse, from_dense = network(sparse).logits, network(torch.from_numpy(features)).logits
    torch.testing.assert_close(from_sparse, from_dense, rtol=1e-4, atol=1e-5)


@every_case
def test_no_panel_of_edges_times_width_is_kept(case: str) -> None:
    """What waits for the backward pass is nodes x width, or a number an edge."""
    graph = random_graph(count=60, density=0.5)
    times = times_of(graph, solver="pi-only")
    network = build(graph, times, hidden=16, **CASES[case]).train()
    with kept_sizes() as kept:
        network(features_of(graph))
    assert graph.edges.nnz > 1500
    assert max(kept) < 2 * (2 * graph.edges.nnz + graph.node_count) < graph.edges.nnz * 16


@every_case
def test_the_estimate_of_memory_covers_what_is_kept(case: str) -> None:
    graph = random_graph(count=60, density=0.5)
    times = times_of(graph, solver="pi-only")
    options: dict[str, Any] = {"hidden": 16, "heads": 3, "hops": 3, "order": 3, "layers": 4, **CASES[case]}
    config = train_config(**options, attention_dropout=0.5)
    made = {f"operators-{kind}": make_operator(kind, graph, times, config) for kind in config.operator_kinds()}
    network = build(graph, times, **options, attention_dropout=0.5).train()
    with kept_sizes() as kept:
        network(features_of(graph))
        if network.pretrain_epochs:
            network.pretrain_loss(features_of(graph), 0)
    entries = sum(operators.summary["entries"] for operators in made.values())
    numbers = graph.node_count * numbers_of_a_node(graph, config) + entries * config.numbers_an_entry()
    assert sum(kept) <= numbers
    assert 4 * numbers < fit_memory({"graph": graph, **made}, FitConfig(config, 0))


def test_attention_has_no_share_of_similar_nodes() -> None:
    train_config(model="dirgnn", knn=3).check()
    with pytest.raises(UsageError, match="weighs its neighbours itself"):
        train_config(model="dirgnn", variant="gat", knn=3).check()


def test_widths_that_heads_and_hops_give() -> None:
    graph = random_graph()
    for options in ({"model": "gat", "heads": 3}, {"model": "mixhop", "hops": 2}):
        for jumping, wide in (("none", 15), ("max", 15), ("cat", 30)):
            network: Any = build(graph, None, hidden=5, jumping_knowledge=jumping, batch_norm=True, **options)
            assert network(features_of(graph)).hidden.shape == (graph.node_count, wide)
            assert [layer.linear.in_features for layer in network.layers] == [6, 15]


def test_own_directions_are_those_of_the_table() -> None:
    for name, model in MODELS.items():
        assert train_config(model=name).resolved_direction == (model.directions[0] if model.directions else "none")
        assert all(a != b for a, b in pairwise(sorted(model.directions)))
