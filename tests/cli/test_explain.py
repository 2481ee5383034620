"""`cgnn explain`: the neighbours of one node."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from cgnn_cli.graph import CommuteTimes, Dilap, Graph
from cgnn_cli.store import artifact as files
from tests.front_door import FrontDoor

EDGES = "source,target\nann,bob\nbob,ann\nbob,cat\ncat,ann\nann,cat\ncat,dan\ndan,ann\ndan,eve\ngus,gus\n"
LABELS = "ann,red\nbob,blue\ncat,red\ndan,blue\neve,red\n"
SPLITS = "ann,train\nbob,train\ncat,val\ndan,val\neve,test\n"
LEARNING = ("--epochs", 2, "--hidden", 2)


@pytest.fixture
def friends(cgnn: FrontDoor) -> FrontDoor:
    """A small graph with labels; gus has no neighbours."""
    for name, text in (("edges.csv", EDGES), ("labels.csv", LABELS), ("splits.csv", SPLITS)):
        Path(name).write_text(text)
    given = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv")
    cgnn.ok("data", "import", "friends", *given, "-q")
    return cgnn


def summary(cgnn: FrontDoor, *arguments: object) -> dict[str, Any]:
    value: dict[str, Any] = cgnn.ok("explain", *arguments, "--json").json["summary"]
    return value


def elements(cgnn: FrontDoor, stage: str, *options: object) -> dict[str, Any]:
    return files.read(Path(cgnn.ok(stage, "--dataset", "friends", *options, "-q").path)).elements


def test_every_figure_is_that_of_the_artifacts(friends: FrontDoor) -> None:
    options = ("--solver", "exact", "--proximity", "inverse")
    times = CommuteTimes(**elements(friends, "commute", *options))
    dilap = Dilap(**elements(friends, "dilap"))
    graph = Graph(**elements(friends, "rewire") and files.read(next(Path(".cgnn/graph").glob("*.h5"))).elements)
    ids = graph.ids().tolist()
    pi = dict(zip(graph.ids()[dilap.nodes].tolist(), dilap.perron, strict=True))
    found = summary(friends, "ann", "--dataset", "friends", *options)
    assert {row["id"] for row in found["out"]} == {"bob", "cat"}
    assert {row["id"] for row in found["in"]} == {"bob", "cat", "dan"}
    for direction, weight in (("out", times.weight_out), ("in", times.weight_in)):
        for row in found[direction]:
            pair = ("ann", row["id"]) if direction == "out" else (row["id"], "ann")
            edge = np.flatnonzero((times.source == ids.index(pair[0])) & (times.target == ids.index(pair[1]))).item()
            there, back = times.hitting[edge], times.hitting_back[edge]
            if direction == "in":
                there, back = back, there
            assert (row["hitting"], row["hitting_back"]) == (there, back)
            assert math.isclose(row["commute"], there + back)
            assert math.isclose(row["ratio"], row["commute"] / (1 / pi["ann"] + 1 / pi[row["id"]]))
            assert row["weight"] == weight[edge]
        assert [row["weight"] for row in found[direction]] == sorted(
            (row["weight"] for row in found[direction]), reverse=True
        )
    assert {row["id"]: row["mutual"] for row in found["in"]} == {"bob": True, "cat": True, "dan": False}
    assert found["label"] == "red" and found["prediction"] is None


def test_newest_commute_times_are_the_default(friends: FrontDoor) -> None:
    first = friends.ok("commute", "--dataset", "friends", "--solver", "exact", "--json").json["key"]
    friends.ok("commute", "--dataset", "friends", "--solver", "pi-only")
    friends.ok("commute", "--dataset", "friends", "--solver", "exact")
    result = friends.ok("explain", "ann", "--json")
    assert result.json["key"] == first and result.json["cache"] == "hit"
    assert "taking the newest commute artifact" in result.err


def test_nothing_to_go_on_from(cgnn: FrontDoor) -> None:
    cgnn.fails(4, "explain", "ann")
    cgnn.fails(2, "explain")


def test_stage_options_and_their_conflicts(friends: FrontDoor) -> None:
    assert summary(friends, "ann", "--dataset", "friends", "--solver", "pi-only")["out"][0]["ratio"] == 1
    commute = friends.ok("commute", "--dataset", "friends", "--solver", "exact", "-q").path
    assert "has already been through" in friends.fails(2, "explain", "ann", "--rank", 3, "--input", commute)
    friends.fails(2, "explain", "ann", "--dataset", "friends", "--input", commute)
    dilap = friends.ok("dilap", "--dataset", "friends", "-q").path
    assert friends.ok("explain", "ann", "--input", dilap, "--solver", "exact", "--json").json["artifact"] == commute


def test_table_for_people(friends: FrontDoor) -> None:
    text = friends.ok("explain", "ann", "--dataset", "friends", "--solver", "exact").out
    assert "ann, label red" in text and "out-neighbours, by weight" in text and "mutual" in text
    assert "no in-neighbours" not in text
    assert "no out-neighbours" in friends.ok("explain", "eve", "--dataset", "friends", "--solver", "exact").out


def test_top_counts_the_rest(friends: FrontDoor) -> None:
    found = summary(friends, "ann", "--dataset", "friends", "--top", 1)
    assert (len(found["out"]), found["out_count"], len(found["in"]), found["in_count"]) == (1, 2, 1, 3)
    assert "and 2 more" in friends.ok("explain", "ann", "--top", 1, "--dataset", "friends").out
    friends.fails(2, "explain", "ann", "--top", 0, "--dataset", "friends")


def test_a_node_without_neighbours(friends: FrontDoor) -> None:
    found = summary(friends, "gus", "--dataset", "friends")
    assert found["out"] == found["in"] == [] and found["label"] is None
    assert "no neighbours" in friends.ok("explain", "gus", "--dataset", "friends").out
    friends.ok("train", "--dataset", "friends", *LEARNING, "-q")
    assert "nothing to draw" in friends.fails(3, "explain", "gus", "--dataset", "friends", "--figure", "a.svg")
    assert not Path("a.svg").exists()


@pytest.mark.parametrize(("name", "said"), [("anne", "did you mean ann?"), ("ANN", "ann"), ("xyz", "ids look like")])
def test_an_unknown_node_names_near_misses(friends: FrontDoor, name: str, said: str) -> None:
    assert said in friends.fails(3, "explain", name, "--dataset", "friends")


def test_edges_outside_the_walk_have_no_times(friends: FrontDoor) -> None:
    options = ("--dataset", "friends", "--method", "none", "--solver", "exact")
    found = summary(friends, "dan", *options)
    (row,) = (row for row in found["out"] if row["id"] == "eve")
    assert (row["hitting"], row["commute"], row["ratio"], row["weight"]) == (None, None, None, 0)
    text = friends.ok("explain", "dan", *options).out
    assert any("eve" in line and " - " in line for line in text.splitlines())
    assert found["out"][-1]["id"] == "eve"


def test_prediction_of_the_models_that_use_these_weights(friends: FrontDoor) -> None:
    friends.ok("train", "--dataset", "friends", "--solver", "exact", *LEARNING)
    assert summary(friends, "ann", "--dataset", "friends", "--solver", "pi-only")["prediction"] is None
    trained = friends.ok("train", "--dataset", "friends", "--solver", "exact", *LEARNING, "--seed", 5, "--json").json
    prediction = summary(friends, "ann", "--dataset", "friends", "--solver", "exact")["prediction"]
    friends.ok("predict", "--input", trained["artifact"], "--output", "p.csv")
    row = next(line.split(",") for line in Path("p.csv").read_text().splitlines() if line.startswith("ann,"))
    assert prediction["class"] == row[1] and math.isclose(prediction["probability"], float(row[2]), abs_tol=1e-5)
    assert prediction["train_key"] == trained["key"] and prediction["trained_on_it"] == prediction["models"] == 1
    assert f"predicted {row[1]}" in friends.ok("explain", "ann", "--input", trained["artifact"]).out


def test_a_model_without_weights_has_reasons_and_no_times(friends: FrontDoor) -> None:
    friends.ok("train", "--dataset", "friends", "--model", "dirgnn", *LEARNING, "-q")
    result = friends.ok("explain", "ann")
    assert "the run made last: " in result.err and "dirgnn on friends, split" in result.err
    assert "adds to the probability" in result.out and "commute" not in result.out
    found = summary(friends, "ann")
    assert {row["id"]: row["edge"] for row in found["reasons"]["neighbours"]} == {
        "bob": "both",
        "cat": "both",
        "dan": "from",
    }
    assert found["out"][0]["commute"] is None and any(row["adds"] for row in found["reasons"]["neighbours"])


def test_a_model_without_messages_says_so(friends: FrontDoor) -> None:
    friends.ok("train", "--dataset", "friends", "--model", "mlp", *LEARNING, "-q")
    assert "takes no messages of neighbours" in friends.ok("explain", "ann", "--figure", "a.svg").out
    assert all(row["adds"] is None for row in summary(friends, "ann")["reasons"]["neighbours"])
    friends.ok("run", "--dataset", "friends", "--model", "absorption", "--no-compare", "-q")
    assert "takes no messages of neighbours" in friends.ok("explain", "ann").out


def test_the_run_made_last_is_taken(friends: FrontDoor) -> None:
    assert "no model was trained" in friends.ok("explain", "ann", "--dataset", "friends").err
    friends.ok("run", "--dataset", "friends", *LEARNING, "--no-compare", "-q")
    other = friends.ok("train", "--dataset", "demo", "--split", 0, *LEARNING, "--json").json["key"]
    last = friends.ok("explain", "5", "--json")
    assert last.json["key"] == other and f"the run made last: {other[:12]}, cgnn on demo" in last.err
    assert friends.ok("explain", "ann", "--dataset", "friends", "--json").json["key"] != other
    assert not any("fit" in line for line in last.err.splitlines())


def test_another_class_and_a_bound_on_what_is_tried(friends: FrontDoor) -> None:
    friends.ok("train", "--dataset", "friends", *LEARNING, "-q")
    red, blue = (summary(friends, "dan", "--class", name)["reasons"] for name in ("red", "blue"))
    assert red["about"] == "red" and math.isclose(sum(red["probabilities"].values()), 1, abs_tol=1e-6)
    assert red["tried"] == 3 and red["probabilities"] == blue["probabilities"]
    added = [{row["id"]: row["adds"] for row in each["neighbours"]} for each in (red, blue)]
    assert all(math.isclose(added[0][name], -added[1][name], abs_tol=1e-6) for name in added[0])
    first = friends.ok("explain", "dan", "--try", 1)
    assert "were not left out in turn, only the 1 heaviest" in first.err and "not tried" in first.out


def test_amounts_are_shown(cgnn: FrontDoor) -> None:
    Path("e.csv").write_text("payer,payee,amount\na,b,10\nb,c,250.5\nc,a,3\na,c,7\nd,a,2\n")
    Path("l.csv").write_text("id,label\na,ok\nb,fraud\nc,ok\nd,ok\n")
    Path("s.csv").write_text("id,split\na,train\nb,train\nc,val\nd,test\n")
    files_given = ("--edges", "e.csv", "--weight-column", "amount", "--labels", "l.csv", "--splits", "s.csv")
    cgnn.ok("data", "import", "pay", *files_given, "-q")
    cgnn.ok("train", "--dataset", "pay", *LEARNING, "-q")
    assert "amount" in cgnn.ok("explain", "c").out
    rows = {row["id"]: row for row in summary(cgnn, "c")["reasons"]["neighbours"]}
    assert rows["b"]["amount"] == 250.5 and rows["a"]["amount"] == 10 and rows["a"]["edge"] == "both"


def test_reasons_that_cannot_be_given(friends: FrontDoor) -> None:
    for options in (("--figure", "a.svg"), ("--class", "red")):
        said = friends.fails(4, "explain", "ann", "--dataset", "friends", *options)
        assert f"{options[0]} is about what a model says" in said
    friends.ok("train", "--dataset", "friends", *LEARNING, "-q")
    assert "no class green" in friends.fails(2, "explain", "ann", "--class", "green")
    assert "no node 'nix'" in friends.fails(3, "explain", "nix")


def test_without_the_walk_there_is_no_ratio(friends: FrontDoor) -> None:
    commute = friends.ok("commute", "--dataset", "friends", "--solver", "exact", "-q").path
    graph = next(Path(".cgnn/graph").glob("*.h5"))
    inputs = ("--input", commute, "--input", graph, "--store", "empty")
    result = friends.ok("explain", "ann", *inputs, "--json").json
    assert {row["ratio"] for row in result["summary"]["out"]} == {None}
    assert "no ratio" in "".join(result["warnings"])


def test_torch_is_imported_only_for_a_prediction(friends: FrontDoor) -> None:
    code = (
        "import sys\nfrom cgnn_cli.commands.main import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert stop.code == 0\nprint('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "explain", "ann", "--dataset", "friends", "-q", "--json"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(("name", "magic"), [("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_figure(friends: FrontDoor, name: str, magic: bytes) -> None:
    friends.ok("train", "--dataset", "friends", *LEARNING, "-q")
    found = summary(friends, "ann", "--dataset", "friends", "--figure", name)
    assert found["figure"] == name
    first = Path(name).read_bytes()
    assert first.startswith(magic)
    friends.ok("explain", "ann", "--dataset", "friends", "--figure", name)
    assert Path(name).read_bytes() == first


def test_figure_of_awkward_ids(cgnn: FrontDoor) -> None:
    """Names that a drawing or markup language would take for its own."""
    Path("edges.csv").write_text("$x_$,[bold]\n[bold],$x_$\n$x_$,\u6f22\u5b57\n\u6f22\u5b57,$x_$\n$x_$," + "z" * 99)
    Path("labels.csv").write_text("$x_$,<b>\n[bold],a&b\n\u6f22\u5b57,<b>\n" + "z" * 99 + ",<b>")
    Path("splits.csv").write_text("$x_$,train\n[bold],train\n\u6f22\u5b57,val\n" + "z" * 99 + ",test")
    given = ("--edges", "edges.csv", "--no-header", "--labels", "labels.csv", "--splits", "splits.csv")
    cgnn.ok("data", "import", "odd", *given, "-q")
    cgnn.ok("train", "--dataset", "odd", *LEARNING, "-q")
    for name in ("odd.svg", "odd.png", "odd.pdf"):
        result = cgnn.ok("explain", "$x_$", "--figure", name)
        assert "[bold]" in result.out and "\u6f22\u5b57" in result.out
        assert "Warning" not in result.err and Path(name).exists()
    drawn = ElementTree.parse("odd.svg")
    words = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"[bold]", "\u6f22\u5b57", "z" * 10 + "\u2026", "<b>", "a&b"} <= set(words)


def test_figure_errors_come_before_any_work(friends: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ".svg, .png, .pdf" in friends.fails(2, "explain", "ann", "--dataset", "friends", "--figure", "a.gif")
    friends.fails(2, "explain", "ann", "--dataset", "friends", "--figure", "missing/a.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = friends.fails(2, "explain", "ann", "--dataset", "friends", "--solver", "exact", "--figure", "a.png")
    assert "pip install 'cgnn[plot]'" in said
