"""Figures of scores are drawn where the runs have the data."""

import numpy as np
import pytest

from cgnn_cli.execution.results import Run
from cgnn_cli.report.beside import PaperResult
from cgnn_cli.report.run_names import label_runs
from cgnn_cli.report.score_figures import (
    draw_confusion,
    draw_learning,
    draw_scores,
    draw_sensitivity,
    draw_time,
)
from tests.runs import make_run

RUNS = [make_run([0.5, 0.7]), make_run([0.6, 0.8], model="mlp $x_1$ <b>")]


def histories(runs: list[Run]) -> list[tuple[Run, list[dict[str, np.ndarray]]]]:
    curve = np.linspace(2, 0.1, 700)
    return [
        (run, [{"loss": curve[:size], "validation_accuracy": 1 - curve[:size] / 2} for size in (700, 500)])
        for run in runs
    ]


def test_the_papers_figures_are_drawn_beside_their_runs() -> None:
    plain, beside = (
        draw_scores("a", "demo", RUNS, label_runs(RUNS), printed)
        for printed in ({}, {RUNS[1].key: PaperResult("table1", "MLP", "demo", "", "accuracy", 70.0, 1.0, "")})
    )
    word = PaperResult("table1", "MLP", "demo", "", "accuracy", None, None, "OOM")
    assert plain is not None and beside is not None and plain.svg != beside.svg
    assert draw_scores("a", "demo", RUNS, label_runs(RUNS), {RUNS[1].key: word}) == plain
    assert draw_scores("a", "demo", [], {}, {}) is None


def test_learning_curves_need_histories() -> None:
    labels = label_runs(RUNS)
    assert draw_learning("x", "demo", [(run, []) for run in RUNS], labels) is None
    picture = draw_learning("x", "demo", histories(RUNS), labels)
    assert picture is not None and "2 runs" in picture.alternative and len(picture.svg) < 200_000


def test_time_needs_two_timed_runs() -> None:
    assert draw_time("x", "demo", RUNS[:1], label_runs(RUNS)) is None
    assert draw_time("x", "demo", RUNS, label_runs(RUNS)) is not None
    untimed = Run("gcn", "demo", headers={"eval": RUNS[0].header})
    assert untimed.seconds is None and draw_time("x", "demo", [untimed, *RUNS[1:]], label_runs(RUNS)) is None


def test_every_model_has_its_name_beside_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        "cgnn_cli.report.score_figures.name_points",
        lambda drawing, axes, points: told.extend(each.name for each in points),
    )
    runs = [make_run([0.5 + step / 100, 0.6], model=f"m{step:02}") for step in range(50)]
    picture = draw_time("x", "demo", runs[:19], label_runs(runs))
    assert picture is not None and sorted(told) == [f"m{step:02}" for step in range(19)]
    many = draw_time("x", "demo", runs, label_runs(runs))
    assert many is not None and many.caption.endswith("the 40 best of 50 are named") and len(told) == 19 + 40


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
