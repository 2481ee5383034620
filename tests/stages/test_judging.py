"""What validation nodes decide on trained models, what test nodes then say, and when a model is doubted."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from cgnn_cli.analysis.prediction import predict_classes
from cgnn_cli.configs import METRICS, ComputeConfig, TrainConfig
from cgnn_cli.errors import DataError, StoppedEarly
from cgnn_cli.graph import TEST, TRAIN, VALIDATION, Fit, Graph, Operators
from cgnn_cli.models.model_table import train_config
from cgnn_cli.numerics.calibration import calibration_error, fit_temperature, probabilities_of, reliability
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.judging import Judged, base_rate, model_doubts
from cgnn_cli.stages.task import class_weights
from cgnn_cli.stages.train import collect, decide, fit, forward
from cgnn_cli.watch import Snapshot, Watch
from tests.rare import rare_graph

NONE = Operators(matrices={})
SHORT: dict[str, Any] = {"epochs": 60, "lr": 0.05, "hidden": 8, "dropout": 0.0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return rare_graph()


def config_of(model: str = "mlp", **options: Any) -> TrainConfig:
    return train_config(model, **{**SHORT, **options})


def trained(graph: Graph, config: TrainConfig, splits: tuple[int, ...] = (0, 1)) -> dict[int, Fit]:
    return {split: fit(graph, NONE, config, split) for split in splits}


def recall_of_fraud(graph: Graph, config: TrainConfig) -> float:
    scores = evaluate(graph, NONE, collect(trained(graph, config, (0,))), config)
    return float(scores.recall[0, 1])


def test_balanced_weights_find_the_rare_class(graph: Graph) -> None:
    assert recall_of_fraud(graph, config_of()) < 0.4
    assert recall_of_fraud(graph, config_of(class_weights="balanced")) > 0.6


def test_weights_have_a_mean_of_one_over_the_training_nodes(graph: Graph) -> None:
    assert graph.labels is not None and graph.splits is not None
    counts = np.bincount(graph.labels[graph.splits[0] == TRAIN])
    for written in ("balanced", '{"fraud": 24}'):
        weights = class_weights(graph, config_of(class_weights=written), 0)
        assert weights is not None and weights @ counts == pytest.approx(counts.sum())
    balanced = class_weights(graph, config_of(class_weights="balanced"), 0)
    assert balanced is not None
    np.testing.assert_allclose(balanced, counts.sum() / (2 * counts))  # as scikit-learn has it
    given = class_weights(graph, config_of(class_weights='{"fraud": 24}'), 0)
    assert given is not None and given[1] / given[0] == pytest.approx(24)
    assert class_weights(graph, config_of(), 0) is None


def test_equal_weights_are_no_weights(graph: Graph) -> None:
    plain, equal = (fit(graph, NONE, config_of(**more), 0) for more in ({}, {"class_weights": '{"ok": 3, "fraud": 3}'}))
    np.testing.assert_allclose(plain.history["loss"], equal.history["loss"], rtol=1e-4)


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "accuracy"])
def test_epochs_are_chosen_by_the_metric(graph: Graph, metric: str) -> None:
    assert graph.labels is not None and graph.splits is not None
    config = config_of(metric=metric, patience=60)
    found = fit(graph, NONE, config, 0)
    score, loss = found.history["validation_score"], found.history["validation_loss"]
    best = found.summary["best_epoch"]
    assert found.summary["validation_score"] == score.max() == score[best]
    assert loss[best] == loss[score == score.max()].min()
    assert found.summary["validation_accuracy"] == found.history["validation_accuracy"][best]
    assert found.summary["metric"] == metric
    chosen = graph.splits[0] == VALIDATION
    logits = forward(graph, NONE, collect({0: found}), config, 0).logits.numpy()[chosen]
    labels, probabilities = graph.labels[chosen], probabilities_of(logits)
    guesses = probabilities.argmax(axis=1)
    expected = {
        "macro-f1": metrics.f1_score(labels, guesses, average="macro"),
        "balanced-accuracy": metrics.balanced_accuracy_score(labels, guesses),
        "auc": metrics.roc_auc_score(labels, probabilities[:, 1]),
        "average-precision": np.mean(
            [metrics.average_precision_score(labels == k, probabilities[:, k]) for k in (0, 1)]
        ),
    }
    assert score.max() == pytest.approx(expected[metric])


def test_a_metric_can_be_about_one_class(graph: Graph) -> None:
    config = config_of(metric="average-precision", metric_class="fraud", patience=60)
    found = fit(graph, NONE, config, 0)
    plain = fit(graph, NONE, config_of(patience=60), 0)
    assert found.history["validation_score"].max() == found.summary["validation_score"]
    np.testing.assert_array_equal(plain.history["loss"], found.history["loss"])  # it chooses among the same epochs
    assert found.summary["base_rate"] == pytest.approx(13 / 321)  # of the validation nodes


def test_a_metric_that_the_validation_nodes_do_not_define_is_refused(graph: Graph) -> None:
    assert graph.labels is not None and graph.splits is not None
    splits = graph.splits.copy()
    splits[0, (graph.labels == 1) & (splits[0] == VALIDATION)] = TRAIN
    lacking = dataclasses.replace(graph, splits=splits)
    with pytest.raises(DataError, match="the validation part of split 0 has no nodes of two classes"):
        fit(lacking, NONE, config_of(metric="auc"), 0)
    done = trained(lacking, config_of(), (0,))
    with pytest.raises(DataError, match="split 0 has no validation node of class fraud"):
        decide(lacking, NONE, done, config_of(target_recall=0.5, metric_class="fraud"), ComputeConfig())


def test_a_training_by_another_metric_goes_on_where_it_was_stopped(graph: Graph) -> None:
    config = config_of(metric="average-precision", class_weights="balanced")

    class Stopping(Watch):
        saved: Snapshot | None = None
        stop = True

        def stop_requested(self) -> bool:
            return self.stop

        def save(self, snapshot: Snapshot) -> None:
            self.saved = snapshot

        def resume(self) -> Snapshot | None:
            return self.saved

    watch = Stopping()
    with pytest.raises(StoppedEarly):
        fit(graph, NONE, config, 0, watch=watch)
    watch.stop = False
    assert watch.saved is not None and watch.saved.values.pop("best_classes") > 0
    watch.saved.values["best_accuracy"] = watch.saved.values.pop("best_score")  # as 0.1.0 saved it
    resumed, whole = fit(graph, NONE, config, 0, watch=watch), fit(graph, NONE, config, 0)
    assert resumed.summary == whole.summary
    for name, values in whole.history.items():
        np.testing.assert_array_equal(resumed.history[name], values)


def test_a_temperature_is_that_of_the_validation_nodes(graph: Graph) -> None:
    assert graph.labels is not None and graph.splits is not None
    config = config_of(calibrate=True, class_weights="balanced")
    fits = decide(graph, NONE, trained(graph, config), config, ComputeConfig())
    checkpoint = collect(fits)
    scores = evaluate(graph, NONE, checkpoint, config)
    assert scores.reliability is not None and scores.reliability_before is not None
    for row, split in enumerate((0, 1)):
        logits = forward(graph, NONE, checkpoint, config, split).logits.numpy()
        parts = {part: graph.splits[split] == part for part in (VALIDATION, TEST)}
        temperature = fit_temperature(logits[parts[VALIDATION]], graph.labels[parts[VALIDATION]])
        assert checkpoint.fit(split).divisor == temperature
        for found, divisor in ((scores.reliability_before, 1.0), (scores.reliability, temperature)):
            expected = reliability(probabilities_of(logits[parts[TEST]], divisor), graph.labels[parts[TEST]])
            np.testing.assert_array_equal(found[row], expected)
    summary = scores.summary
    after = np.mean([calibration_error(bins) for bins in scores.reliability])
    assert summary["calibration_error"]["mean"] == pytest.approx(after)
    assert summary["temperature"] == checkpoint.summary["temperature"]
    plain = evaluate(graph, NONE, collect(trained(graph, config)), config)
    np.testing.assert_array_equal(plain.predictions, scores.predictions)  # a temperature changes no order
    assert "calibration_error_before" not in plain.summary and plain.reliability_before is None


@pytest.mark.parametrize("target", [{"target_recall": 0.8}, {"target_precision": 0.5}])
def test_a_threshold_is_chosen_on_validation_and_told_on_test(graph: Graph, target: dict[str, Any]) -> None:
    assert graph.labels is not None and graph.splits is not None
    config = config_of(metric_class="fraud", **target)
    checkpoint = collect(decide(graph, NONE, trained(graph, config, (0,)), config, ComputeConfig()))
    told = checkpoint.summary["threshold"]
    ((name, wanted),) = target.items()
    assert told["class"] == "fraud" and told[name] == wanted
    assert told[name.replace("target", "validation")]["mean"] >= wanted
    scores = evaluate(graph, NONE, checkpoint, config)
    logits = forward(graph, NONE, checkpoint, config, 0).logits.numpy()
    found = probabilities_of(logits)[:, 1] >= told["value"]["mean"]
    np.testing.assert_array_equal(scores.predictions[0] == 1, found)
    for part, kind in ((VALIDATION, "validation"), (TEST, "test")):
        nodes = graph.splits[0] == part
        precision, recall, _, _ = metrics.precision_recall_fscore_support(
            graph.labels[nodes], found[nodes], average="binary", zero_division=0
        )
        reached = scores.summary["threshold"]
        assert reached[f"{kind}_precision"]["mean"] == pytest.approx(precision)
        assert reached[f"{kind}_recall"]["mean"] == pytest.approx(recall)
    predicted = predict_classes(graph, NONE, checkpoint, config, [0])
    np.testing.assert_array_equal(predicted.classes, scores.predictions[0])


def test_predictions_of_several_splits_use_the_mean_threshold_of_calibrated_probabilities(graph: Graph) -> None:
    config = config_of(metric_class="fraud", target_recall=0.8, calibrate=True)
    checkpoint = collect(decide(graph, NONE, trained(graph, config), config, ComputeConfig()))
    fits = {split: checkpoint.fit(split) for split in (0, 1)}
    logits = {split: forward(graph, NONE, checkpoint, config, split).logits.numpy() for split in fits}
    mean = np.mean([probabilities_of(logits[split], fits[split].divisor) for split in fits], axis=0)
    threshold = checkpoint.summary["threshold"]["value"]["mean"]
    predicted = predict_classes(graph, NONE, checkpoint, config, [0, 1])
    np.testing.assert_array_equal(predicted.classes == 1, mean[:, 1] >= threshold)
    np.testing.assert_allclose(
        predicted.probability, np.where(predicted.classes == 1, mean[:, 1], mean[:, 0]), rtol=1e-5
    )


def test_what_no_threshold_reaches_is_said(graph: Graph) -> None:
    config = config_of(metric_class="fraud", target_precision=1.0, epochs=1, lr=1e-9)
    untrained = {0: fit(graph, NONE, config, 0)}
    decided = decide(graph, NONE, untrained, config, ComputeConfig())
    reached = decided[0].summary["threshold"]["validation_precision"]
    warnings = collect(decided).summary["warnings"]
    said = f"no threshold gives fraud the precision 1 on the validation nodes; the highest is {reached:.3f}"
    assert reached < 1 and any(warning.endswith(said) for warning in warnings)


def test_scores_have_every_metric_beside_the_base_rate(graph: Graph) -> None:
    assert graph.labels is not None and graph.splits is not None
    config = config_of(metric="auc", metric_class="fraud")
    checkpoint = collect(trained(graph, config))
    scores = evaluate(graph, NONE, checkpoint, config)
    assert scores.curve is not None and scores.auc is not None
    for row, split in enumerate((0, 1)):
        nodes = graph.splits[split] == TEST
        labels = graph.labels[nodes]
        probability = probabilities_of(forward(graph, NONE, checkpoint, config, split).logits.numpy())[nodes, 1]
        found = {name: scores.summary["metrics"][name]["per_split"][row] for name in METRICS}
        assert found["auc"] == pytest.approx(metrics.roc_auc_score(labels, probability))
        assert found["average-precision"] == pytest.approx(metrics.average_precision_score(labels, probability))
        assert found["accuracy"] == scores.accuracy[row] and found["macro-f1"] == scores.macro_f1[row]
        assert scores.auc[row, 0] == pytest.approx(scores.auc[row, 1])  # of two classes
        precision, recall, _ = metrics.precision_recall_curve(labels, probability)
        for place in (0, 37, 100):
            expected = precision[:-1][recall[:-1] >= place / 100 - 1e-9][-1]
            assert scores.curve[row, 1, place] == pytest.approx(expected)
    base = scores.summary["base_rate"]["mean"]
    assert base == pytest.approx(192 / 200) and scores.summary["metrics"]["auc"]["base_rate"]["mean"] == 0.5
    assert scores.summary["per_class"]["fraud"]["support"] == {"mean": 8, "std": 0, "runs": 2}


def test_the_base_rate_is_of_the_training_nodes_most_frequent_class() -> None:
    graph = rare_graph()
    assert graph.labels is not None and graph.splits is not None
    splits = graph.splits.copy()
    splits[0] = np.where(graph.labels == 1, TRAIN, TEST)
    splits[0, np.flatnonzero(graph.labels == 0)[:3]] = TRAIN
    splits[0, np.flatnonzero(graph.labels == 1)[:5]] = TEST
    turned = dataclasses.replace(graph, splits=splits)
    assert base_rate(turned, config_of(), 0, TEST) == pytest.approx(5 / 962)


def test_a_model_of_one_class_and_one_below_the_base_rate_are_doubted(graph: Graph) -> None:
    only = collect(trained(graph, config_of(class_weights='{"fraud": 1e-3}'), (0,))).summary
    checkpoint = collect(trained(graph, config_of(class_weights="balanced")))
    told = [*only["warnings"], *checkpoint.summary["warnings"]]
    always = "does not beat the base rate of always predicting the most frequent class of the training nodes"
    assert told[0].startswith("on split 0 the model predicts one class for all validation nodes")
    assert told[-1] == f"on splits 0, 1 the validation accuracy {always}"
    better = collect(trained(graph, config_of(class_weights="balanced", metric="average-precision")))
    assert "warnings" not in better.summary
    scored = evaluate(graph, NONE, checkpoint, config_of(class_weights="balanced"))
    assert scored.summary["warnings"] == [f"on splits 0, 1 the test accuracy {always}"]


def test_a_part_of_one_class_that_is_found_is_no_doubt() -> None:
    graph = rare_graph()
    assert graph.labels is not None and graph.splits is not None
    splits = graph.splits.copy()
    splits[0, (splits[0] != TRAIN) & (graph.labels == 1)] = TRAIN
    turned = dataclasses.replace(graph, splits=splits)
    checkpoint = collect(trained(turned, config_of(), (0,)))
    scores = evaluate(turned, NONE, checkpoint, config_of())
    assert checkpoint.summary["validation_accuracy"]["mean"] == scores.accuracy[0] == 1
    assert "warnings" not in checkpoint.summary and "warnings" not in scores.summary


def test_doubts_name_a_split_once_unless_its_ranking_is_bad_too() -> None:
    models = [Judged(0, 0.9, 0.9, True), Judged(1, 0.8, 0.9, False), Judged(2, 0.95, 0.9, False)]
    told = model_doubts("test", "accuracy", models)
    assert [text.split(" the ")[0] for text in told] == ["on split 0", "on split 1"]
    assert [text.split(" the ")[0] for text in model_doubts("test", "auc", models)] == ["on split 0", "on splits 0, 1"]
    assert model_doubts("test", "accuracy", models[2:]) == []


@pytest.mark.parametrize("metric", ["accuracy", "average-precision"])
def test_a_walk_that_learns_nothing_is_chosen_by_the_metric_too(graph: Graph, metric: str) -> None:
    config = train_config("absorption", metric=metric, metric_class="fraud")
    found = fit(graph, NONE, config, 0)
    name = "validation_accuracy" if metric == "accuracy" else "validation_score"
    assert found.summary[name] == found.history[name].max()
    assert ("validation_score" in found.history) == (metric != "accuracy")
