"""`cgnn diagnose`: verdicts before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

from tests.front_door import FrontDoor, run_process


def summary(cgnn: FrontDoor, *arguments: object) -> dict[str, Any]:
    value: dict[str, Any] = cgnn.ok("diagnose", *arguments, "--json").json["summary"]
    return value


def test_the_demo_graph(cgnn: FrontDoor) -> None:
    result = cgnn.ok("diagnose", "--dataset", "demo", "-q")
    assert "worth trying" in result.out and "edges with a way back" in result.out and "svd, exp" in result.out
    found = summary(cgnn, "--dataset", "demo")
    assert found["verdict"]["answer"] == "worth trying"
    assert found["figures"]["sampled_edges"] == 256 and found["solver"]["solver"] == "svd"
    shown = cgnn.ok("data", "show", "demo", "--json").json["summary"]
    for figure in ("reciprocity", "homophily", "test_twins"):
        assert found["figures"][figure] == shown[figure]


def test_the_solver_in_use_is_measured(cgnn: FrontDoor) -> None:
    true = summary(
        cgnn, "--dataset", "demo", "--solver", "exact", "--proximity", "ratio", "--scale", 0.1, "--verify", 8
    )
    assert true["figures"]["sampled_edges"] == 8
    assert true["figures"]["solver_error"]["median_relative_error"] < 1e-6
    assert not [reason for reason in true["verdict"]["reasons"] if reason["figure"] == "solver_error"]


def test_the_measured_times_do_not_change_the_artifact(cgnn: FrontDoor) -> None:
    made = cgnn.ok("commute", "--dataset", "demo", "--json").json
    again = cgnn.ok("diagnose", "--dataset", "demo", "--verify", 8, "--json").json
    assert (again["key"], again["cache"]) == (made["key"], "hit")


def test_a_graph_without_labels(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\na,d\nd,b\n")
    cgnn.ok("data", "import", "bare", "--edges", "edges.csv", "-q")
    found = summary(cgnn, "--dataset", "bare")
    assert found["figures"]["homophily"] is None and found["figures"]["returning_edges"] == 1
    assert found["verdict"]["answer"] in ("worth trying", "popularity")
    assert "edge homophily" in cgnn.ok("diagnose", "--dataset", "bare", "-q").out


def test_a_dataset_is_needed(cgnn: FrontDoor) -> None:
    assert "--dataset" in cgnn.fails(2, "diagnose")
    assert "did you mean demo" in cgnn.fails(2, "diagnose", "--dataset", "demmo")
    assert "--verify" in cgnn.fails(2, "diagnose", "--dataset", "demo", "--verify", 0)


def test_nothing_is_trained_and_torch_is_not_needed(tmp_path: Path) -> None:
    blocked = tmp_path / "torch.py"
    blocked.write_text("raise ImportError('torch was imported')\n")
    path = f"{tmp_path}:{Path(__file__).parents[2]}"
    result = run_process("diagnose", "--dataset", "demo", "--verify", 4, "-q", fresh=True, PYTHONPATH=path)
    assert result.returncode == 0, result.stderr
    assert not Path(".cgnn/fit").exists()


@pytest.mark.realdata
def test_a_web_graph_and_a_citation_graph_get_different_verdicts(cgnn: FrontDoor, real_data: Path) -> None:
    options = ("--mirror", real_data, "--data", "data")
    web, citations = (summary(cgnn, "--dataset", name, *options) for name in ("chameleon", "cora-ml"))
    for seed in (1, 2):  # the answer does not hang on the sampled edges
        again = summary(cgnn, "--dataset", "chameleon", *options, "--solver-seed", seed, "--verify", 128)
        assert again["verdict"]["answer"] == web["verdict"]["answer"]
    assert (web["verdict"]["answer"], citations["verdict"]["answer"]) == ("popularity", "unlikely")
    assert web["figures"]["returning_edges"] > 0.3 and citations["figures"]["returning_edges"] < 0.15
    assert "test_twins" in [reason["figure"] for reason in web["verdict"]["reasons"]]
    assert "homophily" in [reason["figure"] for reason in citations["verdict"]["reasons"]]
