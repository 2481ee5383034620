"""Figures are drawn where the runs have the data, the same bytes for the same data."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from cgnn_cli.experiments.drawing import Curve, draw_shares
from cgnn_cli.experiments.paper import PaperResult, find_result
from cgnn_cli.report.beside import beside_paper
from cgnn_cli.report.commute_figures import draw_histograms, draw_solvers, solver_label, weights_label
from cgnn_cli.report.figures import (
    draw_confusion,
    draw_learning,
    draw_scores,
    draw_sensitivity,
    draw_time,
)
from cgnn_cli.report.labels import label_runs
from cgnn_cli.report.runs import Run
from cgnn_cli.report.style import PALETTE, THEMED, Picture, logarithmic, new_drawing, power_label
from cgnn_cli.store.artifact import Artifact, Header
from tests.report.samples import header, make_run

RUNS = [make_run([0.5, 0.7]), make_run([0.6, 0.8], model="mlp $x_1$ <b>")]


def histories(runs: list[Run]) -> list[tuple[Run, list[dict[str, np.ndarray]]]]:
    curve = np.linspace(2, 0.1, 700)
    return [
        (run, [{"loss": curve[:size], "validation_accuracy": 1 - curve[:size] / 2} for size in (700, 500)])
        for run in runs
    ]


def scores() -> Picture:
    picture = draw_scores("a-scores", "demo", RUNS, label_runs(RUNS))
    assert picture is not None
    return picture


def test_the_papers_figures_are_those_of_the_runs_or_those_given(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [make_run([0.5, 0.7], model=model, dataset="chameleon") for model in ("gcn", "mlp")]
    given = find_result("table1", "CGNN", "chameleon")
    assert given is not None
    drawn: list[list[PaperResult | None]] = []
    monkeypatch.setattr("cgnn_cli.report.figures._draw_printed", lambda axes, printed: drawn.append(list(printed)))
    for printed in (None, {}, {runs[1].key: given}):
        draw_scores("a", "chameleon", runs, label_runs(runs), printed)
    beside = beside_paper(runs[0])
    assert beside is not None and drawn == [[beside.result, None], [None, None], [None, given]]


def test_the_same_data_gives_the_same_bytes() -> None:
    first, second = scores(), scores()
    assert (first.svg, first.png, first.inline) == (second.svg, second.png, second.inline)
    assert b"<dc:date>" not in first.svg and first.png.startswith(b"\x89PNG")


def test_inline_drawings_take_the_theme_and_keep_their_ids_apart() -> None:
    inline = scores().inline
    assert inline.startswith("<svg") and "http://www.w3.org/1999/xlink" in inline
    assert not any(colour in inline for colour in THEMED) and "var(--ink)" in inline and PALETTE[0] in inline
    used = re.findall(r'(?:url\(#|href="#)([^")]+)', inline)
    defined = re.findall(r'\sid="([^"]+)"', inline)
    assert used and set(used) <= set(defined) and all(name.startswith("a-scores-") for name in defined)
    assert "<metadata>" not in inline and "<?xml" not in inline and "<b>" not in inline


def test_learning_curves_need_histories() -> None:
    labels = label_runs(RUNS)
    assert draw_learning("x", "demo", [(run, []) for run in RUNS], labels) is None
    picture = draw_learning("x", "demo", histories(RUNS), labels)
    assert picture is not None and "2 runs" in picture.alternative and len(picture.svg) < 200_000


def test_time_needs_two_timed_runs() -> None:
    assert draw_time("x", "demo", RUNS[:1], label_runs(RUNS)) is None
    assert draw_time("x", "demo", RUNS, label_runs(RUNS)) is not None
    untimed = Run(RUNS[0].path, RUNS[0].header, {}, "demo")
    assert untimed.seconds is None and draw_time("x", "demo", [untimed, *RUNS[1:]], label_runs(RUNS)) is None


def test_every_model_has_its_name_beside_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        "cgnn_cli.report.figures.name_points", lambda drawing, axes, points: told.extend(each.name for each in points)
    )
    runs = [make_run([0.5 + step / 100, 0.6], model=f"m{step:02}") for step in range(50)]
    picture = draw_time("x", "demo", runs[:19], label_runs(runs))
    assert picture is not None and sorted(told) == [f"m{step:02}" for step in range(19)]
    many = draw_time("x", "demo", runs, label_runs(runs))
    assert many is not None and many.caption.endswith("the 40 most accurate of 50 are named") and len(told) == 19 + 40


def test_confusion_is_left_out_where_there_are_too_many_classes() -> None:
    assert draw_confusion("x", "m on d", np.ones((2, 3, 3)), ["a", "b", "c"], 33.3) is not None
    assert draw_confusion("x", "m on d", np.ones((2, 40, 40)), [str(k) for k in range(40)], 2.5) is None


def test_sensitivity_needs_both_to_vary_and_the_rest_alike() -> None:
    grid = [make_run([0.1 * k], layers=1 + k % 2, hidden=8 << k // 2) for k in range(1, 5)]
    picture = draw_sensitivity("x", "demo", "gcn", grid)
    assert picture is not None and "2 depths and 3 widths" in picture.alternative
    assert draw_sensitivity("x", "demo", "gcn", grid[:1]) is None
    unlike = [make_run([0.1 * k], layers=k, hidden=8 * k, lr=k / 100) for k in range(1, 5)]
    assert draw_sensitivity("x", "demo", "gcn", unlike) is None


@pytest.mark.parametrize("times", [[1.0, 10.0, 1e9], [-1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]])
def test_histograms_show_what_a_logarithm_can(times: list[float]) -> None:
    config = {"solver": "svd", "rank": 5, "proximity": "exp", "scale": 1.0}
    weights = np.array([0.0, 0.5, 1.0])
    elements = {"commute": np.array(times), "weight_out": weights, "weight_in": weights}
    artifact = Artifact(header("commute", "k", config=config), elements)
    assert draw_histograms("x", "demo", [(config, artifact)]) is not None
    assert draw_histograms("x", "demo", []) is None


def test_what_is_not_drawn_is_said() -> None:
    elements = {name: np.ones(2) for name in ("commute", "weight_out", "weight_in")}
    config = {"solver": "svd", "rank": 5, "proximity": "exp", "scale": 1.0}
    many = [(config, Artifact(header("commute", "k", config=config), elements))] * (len(PALETTE) + 2)
    picture = draw_histograms("x", "demo", many)
    assert picture is not None and picture.caption.endswith("on demo; the first 7 of 9")
    few = draw_histograms("x", "demo", many[:3])
    assert few is not None and few.caption.endswith("on demo")
    curves = [Curve(f"d{number}", [(0.0, 1.0, 0.0)]) for number in range(9)]
    shares = draw_shares("x", "Shares", curves, "ratio")
    assert shares is not None and shares.caption == "Shares; the first 7 of 9"


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((0.5, 1.6), ["0.5", "0.75", "1", "1.25", "1.5"]),
        ((0.98, 1.02), ["0.98", "0.99", "1", "1.01", "1.02"]),
        ((0.9, 11.0), ["1", "2", "5", "10"]),
        ((0.9, 110.0), ["1", "10", "100"]),
        ((1.0, 5000.0), ["1", "10", "100", "1,000"]),
        ((1e-9, 1.0), ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]),
    ],
)
def test_a_logarithmic_axis_is_as_wide_as_its_values(values: tuple[float, float], ticks: list[str]) -> None:
    drawing = new_drawing(4, 3)
    axes = drawing.subplots()
    axes.plot((0, 1), values)
    logarithmic(axes.yaxis)
    low, high = axes.get_ylim()
    assert values[0] / (values[1] / values[0]) ** 0.1 < low <= values[0] <= values[1] <= high
    drawing.draw_without_rendering()
    shown = [tick for tick in axes.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert [tick.label1.get_text() for tick in shown] == ticks


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


def test_labels_of_weights_and_powers() -> None:
    assert (
        weights_label({"solver": "series", "steps": 2, "proximity": "ratio", "scale": 0.1})
        == "series 2 steps, ratio 0.1"
    )
    unusual = {"solver": "svd", "rank": 5, "method": "teleport", "gamma": 0.5, "form": "random-walk"}
    assert solver_label(unusual) == "svd rank 5, method teleport, gamma 0.5, form random-walk"
    assert solver_label({"solver": "series", "steps": 2, "tail": False}) == "series 2 steps, no tail"
    assert [power_label(10.0**k, digits=True) for k in (-2, 0, 3)] == ["0.01", "1", "1,000"]
    assert power_label(1e-12, digits=False) == "10⁻¹²"
