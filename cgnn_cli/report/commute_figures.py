"""Figures of commute times: their distribution and that of the weights, and the error of solvers against their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cgnn_cli.configs import CommuteConfig
from cgnn_cli.report.run_names import describe, proximity_words
from cgnn_cli.report.style import (
    PALETTE,
    Picture,
    first_of,
    legend_below,
    line_look,
    logarithmic,
    mark_look,
    styled_drawing,
)
from cgnn_cli.store.artifact import Artifact, Header

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 60
WIDEST = 12.0  # powers of ten from the least to the largest time, up to which all are shown in their places
REACH = WIDEST / 2  # powers of ten that are shown on either side of the median where the axis would be wider
# Told where they are not the default.
UNUSUAL = ("method", "gamma", "escape", "escape_floor", "walk", "form", "tail", "solver_seed")
BEYOND = "up to {:.2g} % of the edges lie beyond the ends"
LEAST_ERROR = 1e-12  # a logarithm cannot show an error of 0


def weights_label(options: dict[str, Any]) -> str:
    """Solver, proximity and walk of commute weights, with what is not the default."""
    return solver_label(options, proximity_words(options))


def solver_label(options: dict[str, Any], proximity: str = "") -> str:
    """Solver with its size and walk of commute times, with what is not the default."""
    sizes = (("rank", "rank {}"), ("tolerance", "tolerance {:g}"), ("steps", "{} steps"), ("probes", "{} probes"))
    said = [text.format(options[name]) for name, text in sizes if options.get(name) is not None]
    return ", ".join(filter(None, (" ".join([options["solver"], *said]), proximity, describe(options, UNUSUAL))))


def draw_histograms(name: str, dataset: str, artifacts: Sequence[tuple[dict[str, Any], Artifact]]) -> Picture | None:
    """How commute times and weights are distributed over the edges; each artifact with the options behind it."""
    shown = list(artifacts)[: len(PALETTE)]
    if not shown:
        return None
    with styled_drawing(9, 3.3 + 0.2 * len(shown)) as drawing:
        left, right = drawing.subplots(1, 2)
        drawn, beyond, places = set(), 0.0, np.linspace(0, 1, 201)
        for number, (options, artifact) in enumerate(shown):
            style = line_look(number, weights_label(options))
            if (solving := _solving(artifact.header)) not in drawn:
                times, moved = _in_reach(artifact.elements["commute"])
                _draw_times(left, times, style)
                beyond = max(beyond, moved)
                drawn.add(solving)
            weights = np.sort(np.concatenate([artifact.elements["weight_out"], artifact.elements["weight_in"]]))
            share = np.searchsorted(weights, places + 1e-9, side="right") / max(len(weights), 1)
            right.plot(places, 100 * share, **style)
        logarithmic(left.xaxis)
        across = "commute time of an edge (logarithmic)" + (f"\n{BEYOND.format(100 * beyond)}" if beyond else "")
        left.set(title="commute times", xlabel=across, ylabel="% of the edges")
        right.set(title="weights", xlabel="weight", ylabel="% of the edges with at most this", xlim=(-0.02, 1.02))
        for axes in (left, right):
            axes.grid()
        legend_below(drawing, right, 2)
        caption = (
            "Commute times (histogram, once for each walk and solver) and weights in both directions (cumulative) "
            f"on {dataset}{first_of(len(shown), len(artifacts))}"
        )
        words = f"Distribution of commute times and of weights on {dataset} for {len(shown)} kinds of weights."
        return Picture.of(name, caption, words, drawing)


def _in_reach(times: np.ndarray) -> tuple[np.ndarray, float]:
    """Times to draw, and the share of those above 0 that were moved to the ends of the axis.

    Some walks are trapped for 1e176 steps. An axis of that width shows nothing, so it ends at the 1st and 99th
    percentile, or nearer to the median where these are absurd too.
    """
    usable = np.isfinite(times) & (times > 0)
    powers = np.log10(times[usable])
    if not len(powers) or np.ptp(powers) <= WIDEST:
        return times, 0.0
    low, middle, high = np.quantile(powers, (0.01, 0.5, 0.99))
    ends = max(low, middle - REACH), min(high, middle + REACH)
    shown = times.copy()
    shown[usable] = 10 ** powers.clip(*ends)
    return shown, float(((powers < ends[0]) | (powers > ends[1])).mean())


def _draw_times(axes: Axes, times: np.ndarray, style: dict[str, Any]) -> None:
    """Times that a logarithm can show; those of svd may be negative, and some edges have none."""
    positive = times[np.isfinite(times) & (times > 0)]
    if not len(positive):
        return
    edges = np.geomspace(positive.min() * 0.999, positive.max() * 1.001, BINS + 1)
    share = 100 * np.histogram(positive, edges)[0] / len(times)
    axes.stairs(share, edges, **{**style, "fill": False})


def draw_solvers(name: str, dataset: str, solved: Sequence[tuple[dict[str, Any], Header]]) -> Picture | None:
    """Measured error of c against the seconds of the solver, where there are its times with and without `--verify`.

    The seconds are those of the artifact without it: a verification takes exact solves, which are not the solver's.
    """
    alone = {_solving(header): header.seconds for _, header in solved if not header.config.get("verify")}
    measured = {}
    for options, header in solved:
        found, seconds = header.summary.get("verify"), alone.get(_solving(header))
        if found and found["median_relative_error"] is not None and seconds:
            measured[_solving(header)] = (solver_label(options), seconds, found)
    if len(measured) < 2:
        return None
    with styled_drawing(7.6, 3.6 + 0.1 * len(measured)) as drawing:
        axes = drawing.subplots()
        for number, (label, seconds, found) in enumerate(sorted(measured.values(), key=lambda item: item[:2])):
            median, high = (
                max(found[figure], LEAST_ERROR) for figure in ("median_relative_error", "p95_relative_error")
            )
            bar = [[0], [max(high - median, 0)]]
            axes.errorbar(seconds, median, yerr=bar, **mark_look(number, label))
        axes.set(xlabel="seconds of the commute stage without the verification", ylabel="relative error of c")
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
        axes.grid()
        legend_below(drawing, axes, 2)
        caption = f"Error of the solvers against their time on {dataset}: median, up to the 95th percentile"
        words = f"Relative error of commute times against seconds for {len(measured)} solvers on {dataset}."
        return Picture.of(name, caption, words, drawing)


def _solving(header: Header) -> str:
    """What commute times and their seconds depend on: inputs and solver, not the weights that are made of them."""
    options = CommuteConfig.from_dict({**header.config, "verify": 0}).to_dict()
    read = {name: value for name, value in options.items() if name not in ("proximity", "scale")}
    return repr((sorted(header.inputs.items()), sorted(read.items())))
