"""`cgnn diagnose`: verdicts before anything is trained."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.wiki_graph import import_wiki
from tests.front_door import FrontDoor, run_process
from tests.stages.test_escape import made_graph


def summary(cgnn: FrontDoor, *arguments: object) -> dict[str, Any]:
    value: dict[str, Any] = cgnn.ok("diagnose", *arguments, "--json").json["summary"]
    return value


def test_the_demo_graph(cgnn: FrontDoor) -> None:
    result = cgnn.ok("diagnose", "--dataset", "demo", "-q")
    assert "worth trying" in result.out and "edges with a way back" in result.out and "exact, affinity" in result.out
    found = summary(cgnn, "--dataset", "demo")
    assert (found["verdict"]["answer"], found["verdict"]["weights"]) == ("worth trying", "affinity")
    assert found["figures"]["sampled_edges"] == 256 and found["figures"]["solver_error"]["median_relative_error"] < 1e-8
    assert list(found["figures"]["weights"]) == ["paper", "ratio", "affinity", "pi-only", "neighbours"]
    shown = cgnn.ok("data", "show", "demo", "--json").json["summary"]
    for figure in ("reciprocity", "test_twins"):
        assert found["figures"][figure] == shown[figure]
    run, tune = found["commands"]
    assert tune == "cgnn tune --dataset demo"
    assert " ".join(result.out.split()).endswith(f"try: {run} let validation choose: {tune}")


@pytest.mark.parametrize(
    ("options", "weights", "words"),
    [
        ((), "affinity", "--method escape --solver exact --proximity affinity --aggregation weighted-mean --compare"),
        (
            ("--method", "teleport", "--gamma", 0.8, "--solver", "series", "--steps", 3, "--proximity", "inverse"),
            "affinity",
            "--method teleport --gamma 0.8 --solver series --steps 3 --proximity affinity --aggregation weighted-mean "
            "--compare",
        ),
        (
            ("--featureless", "--protocol", "random", "--solver", "svd", "--rank", 2),
            "neighbours",
            "--protocol random --featureless --method escape --solver pi-only --proximity neighbours "
            "--aggregation weighted-mean --compare",
        ),
    ],
)
def test_the_command_to_try_is_one(cgnn: FrontDoor, options: tuple[object, ...], weights: str, words: str) -> None:
    found = summary(cgnn, "--dataset", "demo", *options, "--verify", 2)
    assert found["verdict"]["weights"] == weights
    assert found["commands"][0] == f"cgnn run --dataset demo {words}"
    rows = cgnn.ok(*shlex.split(found["commands"][0])[1:], "--dry-run", "--json").json["stages"]
    assert rows[0]["cache"] == "hit"


def test_weights_that_gain_nothing_give_a_command_without_them(cgnn: FrontDoor) -> None:
    found = summary(cgnn, "--dataset", "mixed-mutual-circles", "--verify", 2)
    assert (found["verdict"]["answer"], found["verdict"]["weights"]) == ("unlikely", "none")
    assert found["commands"][0] == "cgnn run --dataset mixed-mutual-circles --solver pi-only --proximity none"
    assert abs(found["figures"]["corrected_homophily"]) < 0.02
    cgnn.ok(*shlex.split(found["commands"][0])[1:], "--dry-run")


def test_the_solver_in_use_is_measured(cgnn: FrontDoor) -> None:
    true = summary(
        cgnn, "--dataset", "demo", "--solver", "exact", "--proximity", "inverse", "--scale", 0.1, "--verify", 8
    )
    assert true["figures"]["sampled_edges"] == 8 and "in use" in true["figures"]["weights"]
    assert true["figures"]["solver_error"]["median_relative_error"] < 1e-6
    assert not [reason for reason in true["verdict"]["reasons"] if reason["figure"] == "solver_error"]
    scores = summary(cgnn, "--dataset", "demo", "--solver", "svd", "--verify", 8)
    assert scores["solver"]["solver"] == "svd" and "affinity" not in scores["figures"]["weights"]
    assert [reason for reason in scores["verdict"]["reasons"] if reason["figure"] == "solver_error"]


def test_the_measured_times_do_not_change_the_artifact(cgnn: FrontDoor) -> None:
    walk = ("--method", "escape", "--solver", "exact", "--proximity", "affinity")
    made = cgnn.ok("commute", "--dataset", "demo", *walk, "--json").json
    again = cgnn.ok("diagnose", "--dataset", "demo", "--verify", 8, "--json").json
    assert (again["key"], again["cache"]) == (made["key"], "hit")


def test_the_splits_that_are_judged_by_can_be_chosen(cgnn: FrontDoor) -> None:
    whole, one = (summary(cgnn, "--dataset", "demo", "--verify", 2, *more) for more in ((), ("--split", 3)))
    assert 0 < one["figures"]["training_edges"] < whole["figures"]["training_edges"]
    assert "splits 0 to 4" in cgnn.fails(2, "diagnose", "--dataset", "demo", "--split", 5)


def test_a_graph_without_labels(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\na,d\nd,b\n")
    cgnn.ok("data", "import", "bare", "--edges", "edges.csv", "-q")
    found = summary(cgnn, "--dataset", "bare")
    assert found["figures"]["homophily"] is None and found["figures"]["returning_edges"] == 1
    assert found["verdict"]["answer"] in ("unclear", "unlikely") and found["commands"] == []
    assert found["figures"]["weights"] == {}
    out = cgnn.ok("diagnose", "--dataset", "bare", "-q").out
    assert "edge homophily" in out and "no edge is inside the training nodes" in out and "try:" not in out


def import_cycle(cgnn: FrontDoor, classes: list[str], train: int = 20) -> None:
    """A cycle both ways with chords, of 60 nodes; the first few train, in one split."""
    edges = [(node, (node + step) % 60) for node in range(60) for step in (1, 59, 7)]
    Path("edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in edges))
    rows = [f"n{node},{classes[node % len(classes)]}\n" for node in range(60)]
    Path("labels.csv").write_text("id,label\n" + "".join(rows))
    parts = ["train"] * train + ["val"] * 10 + ["test"] * (50 - train)
    Path("splits.csv").write_text("id,split\n" + "".join(f"n{node},{part}\n" for node, part in enumerate(parts)))
    files = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv")
    cgnn.ok("data", "import", "cycle", *files, "-q")


def test_one_class_is_nothing_to_learn(cgnn: FrontDoor) -> None:
    import_cycle(cgnn, ["only"])
    found = summary(cgnn, "--dataset", "cycle", "--verify", 4)
    assert found["verdict"]["answer"] == "one class" and found["commands"] == []
    out = cgnn.ok("diagnose", "--dataset", "cycle", "--verify", 4, "-q").out
    assert "nothing to learn" in out and "try:" not in out and "let validation choose" not in out


def test_an_unclear_answer_is_tried_with_weights_and_without(cgnn: FrontDoor) -> None:
    import_cycle(cgnn, ["a", "b"], train=2)
    found = summary(cgnn, "--dataset", "cycle", "--verify", 4)
    assert found["figures"]["training_edges"] < 50 and found["verdict"]["answer"] == "unclear"
    run, tune = found["commands"]
    assert "--proximity affinity" in run and run.endswith(" --compare") and tune == "cgnn tune --dataset cycle"
    cgnn.ok(*shlex.split(run)[1:], "--dry-run")


def test_a_walk_that_the_paper_is_trapped_on(cgnn: FrontDoor) -> None:
    """Nodes without in-edges side by side on the paper's path: its weights are missing, and nothing else."""
    graph, labels = made_graph(10, 0, count=2000, sources=1000), np.random.default_rng(0).integers(0, 2, 2000)
    edges = "".join(f"n{i},n{j}\n" for i, j in zip(*graph.edges.nonzero(), strict=True))
    Path("edges.csv").write_text(edges)
    Path("labels.csv").write_text("".join(f"n{node},c{label}\n" for node, label in enumerate(labels)))
    cgnn.ok("data", "import", "trapped", "--edges", "edges.csv", "--labels", "labels.csv", "-q")
    found = summary(cgnn, "--dataset", "trapped", "--verify", 4)
    assert found["verdict"]["answer"] == "unlikely" and found["figures"]["features"] == "none"
    assert list(found["figures"]["weights"]) == ["ratio", "affinity", "pi-only", "neighbours"]
    assert "its walk cannot be solved for" in cgnn.ok("diagnose", "--dataset", "trapped", "--verify", 4, "-q").out


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
def test_verdicts_of_real_graphs(cgnn: FrontDoor, real_data: Path) -> None:
    options, found = ("--mirror", real_data, "--data", "data"), {}
    for name in ("chameleon", "cora-ml"):
        found[name] = summary(cgnn, "--dataset", name, *options, "--verify", 32)
        again = summary(cgnn, "--dataset", name, *options, "--solver-seed", 1, "--verify", 16)
        assert again["verdict"]["answer"] == found[name]["verdict"]["answer"] == "unlikely"
    web, citations = found["chameleon"], found["cora-ml"]
    assert web["figures"]["corrected_homophily"] < 0.05 and citations["figures"]["corrected_homophily"] > 0.6
    assert web["figures"]["returning_edges"] > 0.3 and citations["figures"]["returning_edges"] < 0.15
    assert "test_twins" in [reason["figure"] for reason in web["verdict"]["reasons"]]
    assert "homophily" in [reason["figure"] for reason in citations["verdict"]["reasons"]]


@pytest.mark.realdata
def test_weights_on_wiki_go_with_categories(cgnn: FrontDoor, real_data: Path) -> None:
    import_wiki(cgnn, real_data)
    found = summary(cgnn, "--dataset", "wiki", "--verify", 8)
    assert (found["verdict"]["answer"], found["verdict"]["weights"]) == ("worth trying", "ratio")
    assert all(found["figures"]["weights"][name]["gain"] > 0.08 for name in ("ratio", "affinity", "neighbours"))
    assert "features" in [reason["figure"] for reason in found["verdict"]["reasons"]]
