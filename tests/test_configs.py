"""Configurations: what defaults depend on, and what of the options of a training goes into which key."""

from typing import Any, get_args

import pytest

from cgnn_cli.configs import METRICS, STRUCTURAL_NOTE, CommuteConfig, Facts, Metric, feature_source, metric_words
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import train_config


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ({"features": 7, "feature_source": "own"}, "own"),
        ({"features": 7}, "own"),
        ({"features": 7, "notes": ["read as CSV", f"{STRUCTURAL_NOTE} (log_in_degree)"]}, "structural"),
        ({"features": 7, "notes": ["features.npy: float32"]}, "own"),
        ({"features": 0}, "none"),
        ({"feature_source": "none"}, "none"),
        ({}, "own"),
    ],
)
def test_a_summary_says_where_features_come_from(summary: dict[str, object], source: str) -> None:
    assert feature_source(summary) == source


def test_what_depends_on_nothing_is_resolved() -> None:
    config = CommuteConfig(solver="exact")
    assert config.resolved(Facts("none", "exp")) == config


def test_what_is_decided_after_a_training_is_no_part_of_its_key() -> None:
    plain, later = train_config("gcn"), train_config("gcn", calibrate=True, target_recall=0.5, metric_class="a")
    assert later.fit_options() == plain.fit_options() == plain.to_dict()
    added = later.to_dict().items() - plain.to_dict().items()
    assert dict(added) == {"calibrate": True, "target_recall": 0.5, "metric_class": "a"}
    judged = train_config("gcn", metric="auc", metric_class="a", calibrate=True)
    assert dict(judged.fit_options().items() - plain.to_dict().items()) == {"metric": "auc", "metric_class": "a"}
    assert train_config("gcn", metric="macro-f1", metric_class="a").to_dict() == {
        **plain.to_dict(),
        "metric": "macro-f1",
    }
    assert plain.decides_later is False and later.decides_later is True and judged.decides_later is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target_recall": 0.5}, "none is named"),
        ({"target_recall": 0.5, "target_precision": 0.5, "metric_class": "a"}, "two thresholds"),
    ],
)
def test_targets_that_cannot_be_served_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        train_config("gcn", **options).check()


def test_a_model_that_learns_nothing_reads_the_metric_and_no_weights() -> None:
    plain, judged = (
        train_config("absorption", **options) for options in ({}, {"metric": "auc", "class_weights": "balanced"})
    )
    assert judged.to_dict() == {**plain.to_dict(), "metric": "auc"}


def test_every_metric_has_words() -> None:
    assert tuple(METRICS) == get_args(Metric)
    assert metric_words("auc", "a") == "AUC of a" and metric_words("macro-f1", "a") == "macro-F1"
