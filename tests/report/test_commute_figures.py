"""Figures of commute times are drawn where the artifacts have the data."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from cgnn_cli.report.commute_figures import (
    BEYOND,
    WIDEST,
    _in_reach,
    draw_histograms,
    draw_solvers,
    solver_label,
    weights_label,
)
from cgnn_cli.report.style import PALETTE, Picture
from cgnn_cli.store.artifact import Artifact, Header
from tests.runs import header


@pytest.mark.parametrize("times", [[1.0, 10.0, 1e9], [-1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]])
def test_histograms_show_what_a_logarithm_can(times: list[float]) -> None:
    config = {"solver": "svd", "rank": 5, "proximity": "exp", "scale": 1.0}
    weights = np.array([0.0, 0.5, 1.0])
    elements = {"commute": np.array(times), "weight_out": weights, "weight_in": weights}
    artifact = Artifact(header("commute", "k", config=config), elements)
    assert draw_histograms("x", "demo", [(config, artifact)]) is not None
    assert draw_histograms("x", "demo", []) is None


@pytest.mark.parametrize("absurd", [0.005, 0.3])
def test_absurd_times_do_not_stretch_the_axis(absurd: float) -> None:
    times = np.geomspace(10, 1e4, 1000)
    rows = np.arange(0, 1000, round(1 / absurd))
    times[rows] = np.where(np.arange(len(rows)) % 2, 1e180, 1e-24)
    shown, moved = _in_reach(times)
    assert np.log10(shown.max() / shown.min()) <= WIDEST and moved >= len(rows) / 1000
    assert shown[500] == pytest.approx(times[500]), "what is in reach stays in its place"
    weights = np.ones(2)
    config = {"solver": "svd", "rank": 5, "proximity": "exp", "scale": 1.0}
    elements = {"commute": times, "weight_out": weights, "weight_in": weights}
    picture = draw_histograms("x", "demo", [(config, Artifact(header("commute", "k", config=config), elements))])
    assert picture is not None and BEYOND.format(100 * moved) in picture.svg.decode()


def test_times_within_reason_stay_in_their_places() -> None:
    times = np.array([1.0, 1e9, np.nan, -1.0, 0.0])
    shown, moved = _in_reach(times)
    assert shown is times and moved == 0


def test_what_is_not_drawn_is_said() -> None:
    elements = {name: np.ones(2) for name in ("commute", "weight_out", "weight_in")}
    config = {"solver": "svd", "rank": 5, "proximity": "exp", "scale": 1.0}
    many = [(config, Artifact(header("commute", "k", config=config), elements))] * (len(PALETTE) + 2)
    picture = draw_histograms("x", "demo", many)
    assert picture is not None and picture.caption.endswith("on demo; the first 7 of 9")
    few = draw_histograms("x", "demo", many[:3])
    assert few is not None and few.caption.endswith("on demo")


def test_times_of_another_walk_are_drawn_too(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[dict[str, Any]] = []
    monkeypatch.setattr("cgnn_cli.report.commute_figures._draw_times", lambda axes, times, style: drawn.append(style))
    elements = {name: np.ones(2) for name in ("commute", "weight_out", "weight_in")}
    walks: tuple[dict[str, Any], ...] = ({}, {"method": "teleport", "gamma": 0.9}, {"walk": "symmetric"})
    weighed = []
    for walk in walks:
        for proximity in ("exp", "inverse"):
            config = {"solver": "svd", "rank": 5, "proximity": proximity, "scale": 1.0}
            made = header("commute", "k", config=config, inputs={"dilap": f"{walk}"})
            weighed.append(({**config, **walk}, Artifact(made, elements)))
    assert draw_histograms("x", "demo", weighed) is not None
    shown = ["svd rank 5, exp", "svd rank 5, exp, method teleport", "svd rank 5, exp, walk symmetric"]
    assert [style["label"] for style in drawn] == shown


def commute_header(solver: str, error: float | None = None, *, proximity: str = "exp", seconds: float = 1.0) -> Header:
    """A commute artifact, verified where an error is given."""
    config, summary = {"solver": solver, "proximity": proximity}, {}
    if error is not None:
        config |= {"verify": 8, "solver_seed": 0}  # type: ignore[dict-item]
        summary = {"verify": {"median_relative_error": error, "p95_relative_error": 2 * error}}
    return header("commute", solver, config=config, inputs={"dilap": "d"}, summary=summary, seconds=seconds)


def solvers(*headers: Header) -> Picture | None:
    return draw_solvers("x", "demo", [(made.config, made) for made in headers])


def test_solvers_need_two_with_an_error_and_with_seconds_of_their_own() -> None:
    verified = [commute_header("exact", 0.0), commute_header("pi-only", 0.1)]
    alone = [commute_header("exact", proximity="inverse"), commute_header("pi-only")]
    assert solvers(*verified, *alone) is not None
    assert solvers(*verified, alone[0]) is None
    assert solvers(verified[0], *alone) is None
    walk = [dataclasses.replace(made, inputs={"dilap": "other"}) for made in (verified[0], alone[0])]
    assert solvers(verified[0], alone[0], *walk) is not None
    elsewhere = dataclasses.replace(alone[1], inputs={"dilap": "other"})
    assert solvers(*verified, alone[0], elsewhere) is None


def test_the_seconds_of_a_verification_are_not_those_of_the_solver() -> None:
    def drawn(alone: float, verified: float) -> bytes:
        timed = [commute_header("exact", seconds=alone), commute_header("exact", 0.0, seconds=verified)]
        others = [commute_header("pi-only"), commute_header("pi-only", 0.1)]
        picture = solvers(*timed, *others)
        assert picture is not None
        return picture.png

    assert drawn(2.0, 50.0) == drawn(2.0, 70.0) != drawn(3.0, 50.0)


def test_labels_of_weights() -> None:
    assert (
        weights_label({"solver": "series", "steps": 2, "proximity": "ratio", "scale": 0.1})
        == "series 2 steps, ratio 0.1"
    )
    unusual = {"solver": "svd", "rank": 5, "method": "teleport", "gamma": 0.5, "form": "random-walk"}
    assert solver_label(unusual) == "svd rank 5, method teleport, gamma 0.5, form random-walk"
    assert solver_label({"solver": "series", "steps": 2, "tail": False}) == "series 2 steps, no tail"
