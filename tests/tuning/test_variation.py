"""The space of a search: every configuration that it proposes can be trained, and differs from those before."""

import random

import pytest

from cgnn_cli.configs import Facts, TrainConfig
from cgnn_cli.execution.results import Run
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.settings import Settings
from cgnn_cli.tuning.search import describe_point, propose
from cgnn_cli.tuning.variation import MODEL, Space, identity, is_weighted, unweighted_twin
from tests.runs import fit_headers

BOTH = pytest.mark.parametrize("has_features", [True, False])


def done(space: Space) -> list[Run]:
    """The starting points as runs, the first of them best."""
    points = enumerate(space.starts(), 1)
    return [Run(str(n), "demo", point, status="done", headers=fit_headers([1 / n])) for n, point in points]


def check(point: dict[str, object], *, has_features: bool) -> None:
    settings = Settings.of(point, "test")
    config, _ = settings.config("train"), settings.config("commute")
    assert isinstance(config, TrainConfig)
    config.resolved(Facts("own" if has_features else "none")).check()
    assert {MODEL: config.model, **settings.full_row()} == point  # what a preset says of it is the whole of it


@BOTH
def test_the_starting_points_have_every_model_and_every_kind_of_weight(has_features: bool) -> None:
    points = list(Space(1000, has_features).starts())
    models = {point[MODEL] for point in points}
    assert models == {"absorption", "linear", "mlp", "sage", "dirgnn", "gcn", "appnp", "cgnn"}
    weights = {point["commute.proximity"] for point in points if point[MODEL] == "cgnn"}
    assert weights == {"none", "affinity", "ratio", "exp"}
    assert len({point[MODEL] for point in points[:4]}) >= 3  # a few trials see different kinds
    assert len({identity(point) for point in points}) == len(points)
    for point in points:
        check(point, has_features=has_features)
        assert point.get("train.epochs", 300) <= 300


@BOTH
def test_variations_can_be_trained_and_no_two_are_the_same(has_features: bool) -> None:
    space = Space(1000, has_features)
    runs = done(space)
    found = propose(space, runs, 60, random.Random("0 1"))
    assert len(found) == 60
    seen = {identity(run.settings) for run in runs}
    for parent, point in found:
        check(point, has_features=has_features)
        assert identity(point) not in seen and parent in runs
        seen.add(identity(point))
        assert describe_point(point, without=parent.settings)
    assert has_features or any(is_weighted(point) for _, point in found)  # where a weighted start is among the best


def test_variations_depend_on_the_seed_and_what_was_found_alone() -> None:
    space = Space(1000, True)
    runs = done(space)

    def drawn(seed: str) -> list[dict[str, object]]:
        return [point for _, point in propose(space, runs, 6, random.Random(seed))]

    assert drawn("0 1") == drawn("0 1") != drawn("1 1")
    parents = {parent.name for parent, _ in propose(space, runs, 6, random.Random("0 1"))}
    assert parents == {"1", "2", "3"}  # the best of each of the best kinds
    for run in runs:
        run.status = "failed"
    assert propose(space, runs, 6, random.Random("0 1")) == []


def test_what_is_fixed_stays_in_every_configuration() -> None:
    fixed = {"train.epochs": 7, MODEL: "cgnn", "commute.proximity": "ratio", "commute.solver": "exact"}
    space = Space(1000, True, fixed)
    runs = done(space)
    points = [run.settings for run in runs] + [point for _, point in propose(space, runs, 20, random.Random(0))]
    assert len(points) > 20
    for point in points:
        assert {path: point[path] for path in fixed} == fixed


@pytest.mark.parametrize("model", MODELS)
@BOTH
def test_any_model_that_is_named_has_starts_and_variations_of_its_own(model: str, has_features: bool) -> None:
    space = Space(1000, has_features, {MODEL: model})
    runs = done(space)
    points = [run.settings for run in runs]
    assert points and len({identity(point) for point in points}) == len(points)
    if MODELS[model].learns:
        found = propose(space, runs, 6, random.Random(0))
        assert len(found) == 6
        points += [point for _, point in found]
    for point in points:
        check(point, has_features=has_features)
        assert point[MODEL] == model


def test_a_fixed_setting_that_no_start_can_have_leaves_none() -> None:
    assert not list(Space(1000, True, {MODEL: "absorption", "train.label_walk": True}).starts())


def test_the_twin_differs_in_its_weights_alone() -> None:
    space = Space(1000, True)
    for point in space.starts():
        if is_weighted(point):
            twin = unweighted_twin(space, point)
            assert not is_weighted(twin) and twin[MODEL] == "cgnn"
            differing = {path for path in point.keys() | twin if point.get(path) != twin.get(path)}
            assert {path.partition(".")[0] for path in differing} == {"commute"}
