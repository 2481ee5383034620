"""What defaults depend on: where the features of a graph come from."""

import pytest

from cgnn_cli.configs import STRUCTURAL_NOTE, CommuteConfig, Facts, feature_source


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
