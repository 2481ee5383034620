"""Where random walks help: what is said follows from the tests, and a gain is claimed only where they show one."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from cgnn_cli.datasets.generated import MADE
from cgnn_cli.paper import gain_map, paired_cells
from cgnn_cli.paper.additions import ADDITIONS, FIXED, groups
from cgnn_cli.paper.cells import Cell
from cgnn_cli.paper.gain_map import Gain, draw_gains, headline
from cgnn_cli.paper.where import (
    NONE,
    beside_of,
    blocks_of,
    gain_table,
    places_of,
    plans,
    sentences,
    summary_table,
    time_table,
)
from cgnn_cli.report.page import to_markdown
from cgnn_cli.settings import Settings
from tests.paper.test_lab import lab_with
from tests.report.samples import page_with
from tests.runs import make_run

GAINS = {
    ("a", "ratio"): Gain(4.2, shown=True, partial=False),
    ("a", "affinity"): Gain(-3.0, shown=True, partial=False),
    ("b", "ratio"): Gain(9.0, shown=False, partial=True),
    ("b", "laplacian"): Gain(12.4, shown=True, partial=False),
}


def cell(row: str, accuracies: Sequence[float]) -> Cell:
    return Cell(row, "demo", "demo", run=make_run(accuracies, model=row, dataset="demo", split_count=10), expected=10)


def test_every_addition_is_a_setting_that_can_be_run() -> None:
    for name, each in ADDITIONS.items():
        settings = Settings.of(
            {**FIXED, **each.settings, **({"commute.solver": "exact"} if each.of_times else {})}, name
        )
        settings.config("commute")
        settings.config("train")
    assert [name for names in groups().values() for name in names] == list(ADDITIONS)


def test_a_graph_is_taken_with_its_features_and_without() -> None:
    lab = lab_with()
    first, second = places_of(lab, "demo")
    assert (first.name, second.name) == ("demo", "demo, no features")
    assert second.settings == {"graph.featureless": True} and second.featureless
    assert "laplacian" in plans(lab, first) and "laplacian" not in plans(lab, second)
    assert plans(lab, first)["affinity"].settings["commute.solver"] == "exact"
    assert plans(lab, first)[NONE].settings["commute.proximity"] == "none"
    assert blocks_of(lab, [first, second]) == {
        "with their features": {"demo": "demo"},
        "without features": {"demo, no features": "demo"},
    }


def test_splits_that_are_drawn_are_ten_of_48_32_20() -> None:
    protocols = {name: places_of(lab_with(), name)[0].settings for name in ("cora-ml", "chameleon", *MADE)}
    assert protocols.pop("cora-ml") == {"graph.protocol": "random"}
    assert not any(protocols.values())


def test_only_what_the_corrected_test_shows_is_a_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear difference beside one that is not."""
    base = [0.5, 0.52, 0.48, 0.51, 0.49, 0.5, 0.53, 0.47, 0.5, 0.5]
    clear = [value + 0.2 + 0.001 * place for place, value in enumerate(base)]
    vague = [value + (0.03 if place % 2 else -0.02) for place, value in enumerate(base)]
    without = cell(NONE, base)
    pairs = {("demo", "ratio"): (cell("ratio", clear), without), ("demo", "paper"): (cell("paper", vague), without)}
    monkeypatch.setattr(paired_cells, "split_ratios", lambda store: lambda graph, splits: 0.4)
    found, compared = beside_of(lab_with(), pairs)
    gains = {title: (gain.points, gain.shown) for (_, title), each in found.items() if (gain := each.gain)}
    assert gains == {"ratio": (pytest.approx(20.45), True), "paper": (pytest.approx(0.5), False)}
    assert [record["holm_family"] for record in compared.records()] == [2, 2]
    text = to_markdown(page_with(gain_table("commute times", ["paper", "ratio"], {"demo": without}, found)))
    assert "| demo | 50.00 ± 1.67 (10) | +0.50 ± 0.83 | **+20.45 ± 0.10** |" in text


def test_what_is_said_follows_from_the_gains() -> None:
    whole = {at: replace(gain, partial=False) for at, gain in GAINS.items()}
    early, *said = sentences(GAINS)
    assert early.startswith("1 of 4 comparisons have fewer splits") and headline(GAINS).startswith("Too few splits yet")
    assert (
        said
        == sentences(whole)
        == [
            "Commute times: of 3 comparisons, 1 gain and 1 loss shown; the largest gain is +4.2 points, of ratio on a.",
            "Place in the graph: of 1 comparison, 1 gain and 0 losses shown; "
            "the largest gain is +12.4 points, of laplacian on b.",
        ]
    )
    assert headline(whole).replace("\n", " ") == (
        "What helps where: of 2 graphs, commute times on 1, place in the graph on 1"
    )
    rows = {row[0]: list(row[2:]) for row in summary_table(GAINS).rows}
    assert rows["ratio"] == ["2", "1", "0", "+6.6"] and rows["affinity"] == ["1", "0", "1", "-3.0"]
    assert rows["paper"] == ["0", "0", "0", "\u2013"]


def test_the_map_has_a_cell_for_each_comparison_and_says_what_is_shown() -> None:
    picture = draw_gains("where", GAINS, {"with their features": {"a": "a", "b": "b"}})
    assert picture is not None and "4 comparisons" in picture.alternative
    assert "of 2 graphs, commute times on 1" in picture.alternative
    every = draw_gains(
        "where", {at: replace(gain, shown=True) for at, gain in GAINS.items()}, {"": {"a": "a", "b": "b"}}
    )
    assert every is not None and picture.inline.count("var(--line)") == every.inline.count("var(--line)") + 1
    assert draw_gains("where", {}, {}) is None


def test_the_largest_differences_are_the_darkest() -> None:
    pytest.importorskip("matplotlib")
    assert [gain_map._between(*gain_map.UP, share) for share in (0, 1, 1.0)] == [
        gain_map.UP[0],
        gain_map.UP[1],
        gain_map.UP[1],
    ]


def test_the_time_of_what_is_left_follows_from_what_is_done() -> None:
    done, partial = cell("ratio", [0.5] * 10), cell("paper", [0.5] * 4)
    assert [row[3:] for row in time_table([done, partial]).rows] == [["4.00", "0.9", "0.4"]]
