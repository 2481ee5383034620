"""A dry run: each artifact once, whether it is there, and if not why; nothing is computed or written."""

from pathlib import Path

from cgnn_cli.execution.dry_run import forecast
from tests.execution.steps import heard_by, runner_over, step_for


def test_each_artifact_once_in_the_order_of_computing() -> None:
    runner = runner_over()
    rows = forecast(runner, step_for(runner, "eval", 0, 1), step_for(runner, "train", 0))
    assert [(row["stage"], row["cache"], row.get("split")) for row in rows] == [
        ("graph", "hit", None),
        ("fit", "miss", 0),
        ("fit", "miss", 1),
        ("train", "miss", None),
        ("eval", "miss", None),
        ("train", "miss", None),
    ]
    assert len({row["key"] for row in rows}) == len(rows)
    assert {row["reason"] for row in rows if row["cache"] == "miss"} == {"never made in this store"}


def test_the_reason_is_what_differs_from_the_nearest() -> None:
    runner = runner_over()
    runner.obtain(step_for(runner, "train", 0))
    told = len(heard_by(runner).told)
    *_, fit, _ = forecast(runner, step_for(runner, "train", 0, lr=0.5))
    assert fit["reason"] == "differs from the nearest cached one in lr"
    rows = forecast(runner, step_for(runner, "train", 0))
    assert {row["cache"] for row in rows} == {"hit"} and not any("reason" in row for row in rows)
    assert len(heard_by(runner).told) == told, "nothing is obtained"


def test_what_is_forced_or_damaged_says_so() -> None:
    runner = runner_over()
    step = step_for(runner, "rewire")
    runner.obtain(step)
    (*_, forced) = forecast(runner_over(forced=frozenset({"rewire"})), step)
    assert (forced["cache"], forced["reason"]) == ("miss", "--force")
    before = sorted(path for path in Path("store").rglob("*") if path.is_file())
    forecast(runner_over(), step_for(runner_over(), "dilap"))
    assert sorted(path for path in Path("store").rglob("*") if path.is_file()) == before
