"""What a search says of commute times: from made-up runs."""

import pytest

from cgnn_cli.execution.results import Run
from cgnn_cli.pipeline import STAGES, Step
from cgnn_cli.report.paired import paired_difference
from cgnn_cli.tuning.budget import Budget
from cgnn_cli.tuning.search import Gain, Tuned, gain_line
from cgnn_cli.tuning.variation import MODEL, Space, is_weighted, unweighted_twin
from tests.runs import fit_headers

SPACE = Space(1000, True)
WEIGHTED = next(point for point in SPACE.starts() if is_weighted(point))
PLAIN = next(point for point in SPACE.starts() if point[MODEL] == "sage")


def made(point: dict[str, object], accuracies: list[float]) -> Run:
    return Run("1  made", "demo", point, status="done", headers=fit_headers(accuracies))


def tuned(best: Run, with_weights: list[float] | None, without: list[float]) -> Tuned:
    graph = Step(STAGES["graph"], None, {}, "g")
    gain = None
    if with_weights is not None:
        weighted = best if is_weighted(best.settings) else made(WEIGHTED, with_weights)
        twin = made(unweighted_twin(SPACE, WEIGHTED), without)
        gain = Gain(weighted, twin, paired_difference(with_weights, without, 0.5), weighted is best)
    return Tuned("demo", graph, Budget(), [best], [(1, 1)], gain)


@pytest.mark.parametrize(
    ("with_weights", "without", "said"),
    [
        (
            [0.80, 0.81, 0.82, 0.80],
            [0.70, 0.72, 0.71, 0.70],
            "+10.00 ± 0.41 points on validation over 4 splits",
        ),
        ([0.80, 0.81, 0.82, 0.80], [0.70, 0.72, 0.71, 0.70], "; they help"),
        ([0.70, 0.72, 0.71, 0.70], [0.80, 0.81, 0.82, 0.80], "; they harm"),
        ([0.80, 0.70, 0.82, 0.71], [0.70, 0.80, 0.71, 0.80], "; not clear of chance"),
        ([0.80], [0.70], "+10.00 points on validation over 1 split; not clear of chance"),
        ([0.80, 0.81], [0.80, 0.81], ": 0.00 ± 0.00 points on validation over 2 splits; not clear of chance"),
    ],
)
def test_a_gain_is_one_only_where_the_corrected_test_shows_it(
    with_weights: list[float], without: list[float], said: str
) -> None:
    chosen = gain_line(tuned(made(WEIGHTED, with_weights), with_weights, without))
    assert chosen.startswith("commute times: the choice with them against every weight 1: ") and said in chosen
    other = gain_line(tuned(made(PLAIN, [0.9]), with_weights, without))
    assert other.startswith("commute times: not used by the choice; the best model with them (cgnn, ") and said in other
    assert other.endswith(" there") == ("they" in said or "they" in chosen)


def test_what_could_not_be_compared_is_said() -> None:
    assert "used by the choice; the time was too short" in gain_line(tuned(made(WEIGHTED, [0.9]), None, []))
    assert "not used by the choice, and no weighted model" in gain_line(tuned(made(PLAIN, [0.9]), None, []))
