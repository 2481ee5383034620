"""How figures look: the same bytes for the same data, the colours of the page, and axes that can be read."""

import re

import pytest

from cgnn_cli.report.run_names import label_runs
from cgnn_cli.report.score_figures import draw_scores
from cgnn_cli.report.style import (
    DARK,
    INK,
    PALETTE,
    PAPER,
    THEMED,
    Picture,
    head,
    legend_below,
    line_look,
    logarithmic,
    mark_look,
    power_label,
    styled_drawing,
)
from tests.runs import make_run

RUNS = [make_run([0.5, 0.7]), make_run([0.6, 0.8], model="mlp $x_1$ <b>")]


def scores() -> Picture:
    picture = draw_scores("a-scores", "demo", RUNS, label_runs(RUNS), {})
    assert picture is not None
    return picture


def test_the_same_data_gives_the_same_bytes() -> None:
    first, second = scores(), scores()
    assert (first.svg, first.png, first.inline) == (second.svg, second.png, second.inline)
    assert b"<dc:date>" not in first.svg and first.png.startswith(b"\x89PNG")


def test_files_are_dark_where_their_reader_is() -> None:
    picture = scores()
    svg = picture.svg.decode()
    assert svg.count("prefers-color-scheme: dark") == 1 and "prefers-color-scheme" not in picture.inline
    assert f"fill: {PAPER}" in svg and f'[style*="fill: {PAPER}"]{{fill:{DARK[PAPER]}!important}}' in svg
    assert svg.count(f"fill: {INK}") > 5 and "fill: #000000" not in svg, "all words have the ink that changes"


def test_a_long_title_takes_several_lines() -> None:
    with styled_drawing(4, 3) as drawing:
        head(drawing, "one word after the other, " * 4)
        drawing.draw_without_rendering()
        assert drawing._suptitle.get_window_extent().width <= drawing.bbox.width  # type: ignore[attr-defined]


def test_inline_drawings_take_the_theme_and_keep_their_ids_apart() -> None:
    inline = scores().inline
    assert inline.startswith("<svg") and "http://www.w3.org/1999/xlink" in inline
    assert not any(colour in inline for colour in THEMED) and "var(--ink)" in inline and PALETTE[0] in inline
    used = re.findall(r'(?:url\(#|href="#)([^")]+)', inline)
    defined = re.findall(r'\sid="([^"]+)"', inline)
    assert used and set(used) <= set(defined) and all(name.startswith("a-scores-") for name in defined)
    assert "<metadata>" not in inline and "<?xml" not in inline and "<b>" not in inline


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
    with styled_drawing(4, 3) as drawing:
        axes = drawing.subplots()
        axes.plot((0, 1), values)
        logarithmic(axes.yaxis)
        low, high = axes.get_ylim()
        assert values[0] / (values[1] / values[0]) ** 0.1 < low <= values[0] <= values[1] <= high
        drawing.draw_without_rendering()
        shown = [tick for tick in axes.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        assert [tick.label1.get_text() for tick in shown] == ticks


def test_powers_of_ten() -> None:
    assert [power_label(10.0**k, digits=True) for k in (-2, 0, 3)] == ["0.01", "1", "1,000"]
    assert power_label(1e-12, digits=False) == "10⁻¹²"


def test_a_name_that_begins_with_a_low_line_is_in_the_legend() -> None:
    with styled_drawing(4, 3) as drawing:
        axes = drawing.add_subplot()
        axes.plot([1, 2], **line_look(0, "_private"))
        axes.errorbar([1], [2], yerr=[1], **mark_look(1, "_other"))
        legend_below(drawing, axes, 2)
        assert [text.get_text()[1:] for text in drawing.legends[0].get_texts()] == ["_private", "_other"]
