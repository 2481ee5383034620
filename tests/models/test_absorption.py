"""--model absorption: settings chosen on validation nodes, and labels of training nodes alone."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.estimates import fit_memory
from cgnn_cli.graph import TEST, TRAIN, VALIDATION, Graph, Operators
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.first_class import DEATH_RATES, DIRECTIONS
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.numerics.first_met import class_probabilities, first_met, walk_along
from cgnn_cli.pipeline import FitConfig
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.train import collect, fit, forward
from tests.models.samples import communities, oriented

NONE = Operators(matrices={})


def settings_by_hand(graph: Graph) -> dict[tuple[str, float], tuple[float, float]]:
    """Validation and test accuracy of every setting."""
    assert graph.labels is not None and graph.splits is not None
    known = np.where(graph.splits[0] == TRAIN, graph.labels, -1)
    found = {}
    for direction in DIRECTIONS:
        for death in DEATH_RATES:
            chances = first_met(walk_along(graph.edges, direction), known, graph.class_count, death).chances
            right = class_probabilities(chances, known).astype(np.float32).argmax(axis=1) == graph.labels
            parts = [float(right[graph.splits[0] == part].mean()) for part in (VALIDATION, TEST)]
            found[direction, death] = (parts[0], parts[1])
    return found


@pytest.mark.parametrize("graph", [communities(0.4, inside=0.08, across=0.02), oriented()], ids=["sides", "oriented"])
def test_the_best_setting_on_validation_is_taken_and_scored(graph: Graph) -> None:
    by_hand = settings_by_hand(graph)
    config = train_config("absorption")
    trained = fit(graph, NONE, config, 0)
    chosen = trained.summary["walk"]
    validation, test = by_hand[chosen["direction"], chosen["death_rate"]]
    assert validation == max(score for score, _ in by_hand.values()) == trained.summary["validation_accuracy"]
    assert chosen["residual"] <= 1e-10 and chosen["error_bound"] == chosen["residual"] / chosen["death_rate"]
    scores = evaluate(graph, NONE, collect({0: trained}), config)
    assert (scores.accuracy[0], scores.validation_accuracy[0], scores.train_accuracy[0]) == (test, validation, 1.0)
    assert [len(values) for values in trained.history.values()] == [9] * 4
    assert trained.history["validation_accuracy"].tolist() == [score for score, _ in by_hand.values()]


def test_named_settings_are_taken_as_they_are() -> None:
    graph = communities(0.4, inside=0.08, across=0.02)
    by_hand = settings_by_hand(graph)
    config = train_config("absorption", walk_direction="in", death_rate=0.05)
    trained = fit(graph, NONE, config, 0)
    assert trained.summary["validation_accuracy"] == by_hand["in", 0.05][0]
    assert trained.history["death_rate"].tolist() == [0.05]
    assert config.to_dict() == {"model": "absorption", "direction": "none", "walk_direction": "in", "death_rate": 0.05}


def test_class_scores_are_logarithms_of_probabilities() -> None:
    graph = communities(0.4, inside=0.08, across=0.02)
    config = train_config("absorption", walk_direction="undirected", death_rate=0.2)
    output = forward(graph, NONE, collect({0: fit(graph, NONE, config, 0)}), config, 0)
    assert graph.labels is not None and graph.splits is not None
    known = np.where(graph.splits[0] == TRAIN, graph.labels, -1)
    chances = first_met(walk_along(graph.edges, "undirected"), known, 2, 0.2).chances
    np.testing.assert_allclose(output.logits.softmax(dim=1), class_probabilities(chances, known), atol=1e-6)


def test_labels_of_other_nodes_are_not_read() -> None:
    """Test labels nowhere; validation labels only to choose."""
    graph = communities(0.4, inside=0.08, across=0.02)
    assert graph.labels is not None and graph.splits is not None
    config = train_config("absorption", walk_direction="out", death_rate=0.05)
    hidden = dataclasses.replace(graph, labels=np.where(graph.splits[0] == TRAIN, graph.labels, 1 - graph.labels))
    here, there = (fit(each, NONE, config, 0).weights["probabilities"] for each in (graph, hidden))
    np.testing.assert_array_equal(here, there)


def test_features_and_options_of_a_training_change_nothing() -> None:
    graph = communities(0.4)
    config = train_config("absorption")
    plain = fit(graph, NONE, config, 0).weights["probabilities"]
    for changed in (dataclasses.replace(config, seed=3, lr=0.5, epochs=1, precision="bfloat16"), config):
        assert changed.to_dict() == config.to_dict()
        bare = dataclasses.replace(graph, features=None)
        np.testing.assert_array_equal(fit(bare, NONE, changed, 0).weights["probabilities"], plain)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"direction": "out"}, "no --direction out"),
        ({"label_input": True}, "no --label-input"),
        ({"degree_features": True}, "no --degree-features"),
        ({"encoding": "degrees"}, "no --encoding"),
        ({"death_rate": 0.0}, "--death-rate must be at least 0.001"),
        ({"death_rate": 1.0}, "--death-rate must be at most 0.999"),
    ],
)
def test_what_it_cannot_take_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        train_config("absorption", **options).check()


def test_a_split_without_validation_nodes_is_refused() -> None:
    graph = communities(0.4)
    assert graph.splits is not None
    without = dataclasses.replace(graph, splits=np.where(graph.splits == VALIDATION, 0, graph.splits).astype(np.uint8))
    with pytest.raises(DataError, match="no val nodes"):
        fit(without, NONE, train_config("absorption"), 0)


def test_a_graph_without_edges_gives_the_shares_of_the_classes() -> None:
    graph = communities(0.4)
    bare = dataclasses.replace(graph, adjacency=canonical_csr(csr_array(graph.adjacency.shape)))
    assert bare.labels is not None and bare.splits is not None
    found = fit(bare, NONE, train_config("absorption"), 0).weights["probabilities"]
    share = (bare.labels[bare.splits[0] == TRAIN] == 1).mean()
    np.testing.assert_allclose(found[bare.splits[0] != TRAIN], [[1 - share, share]] * 80, rtol=1e-6)


def test_memory_grows_with_edges_and_with_nodes_times_classes() -> None:
    graph, config = communities(0.4), FitConfig(train_config("absorption"), 0)
    names = np.array([str(number).encode() for number in range(100_000)])
    many = dataclasses.replace(graph, class_names=names)
    least = fit_memory({"graph": graph}, config, ComputeConfig())
    assert fit_memory({"graph": many}, config, ComputeConfig()) > least + 6 * 8 * 120 * 100_000 - (64 << 20)
