"""Keys: they depend on every ingredient, and on nothing else."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgnn_cli import keys
from cgnn_cli.configs import CONFIGS, RewireConfig
from cgnn_cli.keys import KEY_LENGTH, artifact_key, canonical_json
from cgnn_cli.pipeline import Step, plan
from cgnn_cli.settings import Settings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CONFIG: dict[str, Any] = {"solver": "svd", "rank": 5, "scale": 1.0}
INPUTS = {"graph": "a", "dilap": "b"}


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_canonical_json_does_not_depend_on_the_order_of_names(value: dict[str, Any]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


def test_canonical_json_is_sorted_compact_and_utf8() -> None:
    assert canonical_json({"b": [1, 2.5], "a": {"ü": None}}) == '{"a":{"ü":null},"b":[1,2.5]}'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_json_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        artifact_key("commute", 1, {"x": [value]}, {})


@pytest.mark.parametrize("value", [{1, 2}, b"x", Path("x"), np.int64(1), np.zeros(1), object()])
def test_values_that_are_not_json_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        artifact_key("commute", 1, {"x": value}, {})


def test_key_depends_on_each_ingredient(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        artifact_key("commute", 1, CONFIG, INPUTS),
        artifact_key("dilap", 1, CONFIG, INPUTS),
        artifact_key("commute", 2, CONFIG, INPUTS),
        artifact_key("commute", 1, {**CONFIG, "rank": 6}, INPUTS),
        artifact_key("commute", 1, {**CONFIG, "rank": "5"}, INPUTS),
        artifact_key("commute", 1, {**CONFIG, "extra": None}, INPUTS),
        artifact_key("commute", 1, CONFIG, {**INPUTS, "dilap": "c"}),
        artifact_key("commute", 1, CONFIG, {"graph": "b", "dilap": "a"}),
        artifact_key("commute", 1, {}, INPUTS),
    }
    monkeypatch.setattr(keys, "KEY_VERSION", 2)
    found.add(artifact_key("commute", 1, CONFIG, INPUTS))
    assert len(found) == 10
    assert all(len(key) == KEY_LENGTH and int(key, 16) >= 0 for key in found)


def test_key_of_equal_ingredients_is_fixed_for_ever() -> None:
    """A change of this value throws away every user's cache; raise KEY_VERSION if it is meant."""
    assert artifact_key("commute", 1, CONFIG, INPUTS) == KNOWN_KEY
    assert artifact_key("commute", 1, dict(reversed(CONFIG.items())), dict(reversed(INPUTS.items()))) == KNOWN_KEY


KNOWN_KEY = "5e34f62e0c300f061d21a9ec211b7507"


def graph(content: str) -> Step:
    return Step.of("graph", _Content(content), {})


class _Content:
    def __init__(self, content: str) -> None:
        self.content = content

    def to_dict(self) -> dict[str, Any]:
        return {"content": self.content}


def test_a_change_at_the_start_changes_every_key_after_it() -> None:
    configs = {name: Settings.of({}, "a test").config(name) for name in CONFIGS}
    symmetric = {**configs, "rewire": RewireConfig(walk="symmetric")}
    chains = [
        [step.key for step in plan("eval", start, chosen, [0]).lineage]
        for start, chosen in ((graph("a"), configs), (graph("b"), configs), (graph("a"), symmetric))
    ]
    first, other_graph, other_rewiring = chains
    assert len(first) == 8 and not set(first) & set(other_graph)
    assert first[0] == other_rewiring[0] and not set(first[1:]) & set(other_rewiring[1:])
