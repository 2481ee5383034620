"""What a report tells of the commute times behind a run: what their solver found of itself, and all warnings."""

import dataclasses
from typing import Any

from cgnn_cli.execution.results import Run
from cgnn_cli.report.run_names import label_runs
from cgnn_cli.report.sources import doubts, provenance_details
from tests.runs import make_run

FOUND = {"edges": 8, "checked": 7, "median_relative_error": 0.12, "largest_relative_error": 0.9}


def run_on(solver: str, **summary: Any) -> Run:
    run = make_run([0.5, 0.6], commute={"solver": solver, "proximity": "exp"})
    weighed = dataclasses.replace(run.headers["commute"], summary=summary)
    return dataclasses.replace(run, headers={**run.headers, "commute": weighed})


def words_of(run: Run) -> list[str]:
    return [block for block in provenance_details(run, label_runs([run])[run.key]).blocks if isinstance(block, str)]


def test_the_check_of_a_solver_stands_with_the_run() -> None:
    told = [word for word in words_of(run_on("series", self_check=FOUND)) if word.startswith("Commute times")]
    assert told == [
        "Commute times: series checked itself on 7 of 8 edges: c is off by 12.00% in the median, and by 90.00% at most."
    ]
    for run in (run_on("svd"), run_on("series"), run_on("series", self_check=FOUND | {"checked": 0})):
        assert not any(word.startswith("Commute times") for word in words_of(run))


def test_each_warning_is_told_once() -> None:
    runs = [run_on("series", warnings=["far off"]), run_on("sketch", warnings=["far off", "lost"]), run_on("svd")]
    scored = dataclasses.replace(runs[0].header, summary={**runs[0].header.summary, "warnings": ["no train node"]})
    runs += [dataclasses.replace(run, headers={**run.headers, "eval": scored}) for run in runs[:2]]
    told = ["Commute times: far off.", "Commute times: lost.", "Scores: no train node."]
    assert doubts(runs) == told
    assert doubts([make_run([0.5])]) == []
