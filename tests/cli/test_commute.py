"""`cgnn commute` through the front door: every solver, its measured error, pairs, the closest edges, going on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli import api
from cgnn_cli.errors import NumericalError
from cgnn_cli.execution import snapshots
from cgnn_cli.numerics import powers
from tests.front_door import FrontDoor

SOLVERS = ("svd", "exact", "series", "sketch", "pi-only")
DEMO = ("commute", "--dataset", "demo")


def elements(cgnn: FrontDoor, path: str) -> dict[str, Any]:
    cgnn.ok("export", path, "--to", "npz", "--output", "times.npz")
    with np.load("times.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.mark.parametrize("solver", SOLVERS)
def test_verify_measures_every_solver(cgnn: FrontDoor, solver: str) -> None:
    result = cgnn.ok(*DEMO, "--solver", solver, "--verify", 40, "--json").json
    found = result["summary"]["verify"]
    assert found["edges"] == 40 and found["residual"] < 1e-6
    for figures in (found, found["hitting"]):
        assert set(figures) >= {"median_relative_error", "p95_relative_error", "spearman"}
    bounds = {"exact": 1e-6, "series": 0.02, "sketch": 0.02, "pi-only": 0.2}
    if solver in bounds:
        assert found["median_relative_error"] < bounds[solver] and found["spearman"] > 0.9
    else:
        assert found["median_relative_error"] > 0.99
    again = cgnn.ok(*DEMO, "--solver", solver, "--verify", 40, "--json").json
    assert again["cache"] == "hit" and again["summary"]["verify"] == found


def test_verify_is_printed(cgnn: FrontDoor) -> None:
    shown = cgnn.ok(*DEMO, "--solver", "series", "--verify", 20).err
    assert "verify" in shown and "20 edges" in shown and "%" in shown


def test_tolerance_chooses_the_steps(cgnn: FrontDoor) -> None:
    exact = elements(cgnn, cgnn.ok(*DEMO, "--solver", "exact").path)["commute"]
    steps = []
    for tolerance in (0.05, 0.001):
        result = cgnn.ok(*DEMO, "--solver", "series", "--tolerance", tolerance, "--json").json
        steps.append(result["summary"]["steps"])
        times = elements(cgnn, result["artifact"])["commute"]
        assert np.median(np.abs(times - exact) / exact) <= tolerance
    assert steps[0] < steps[1]
    for bad in (("--solver", "exact", "--tolerance", 0.1), ("--solver", "series", "--tolerance", 0.1, "--steps", 2)):
        assert "--tolerance" in cgnn.fails(2, *DEMO, *bad)


def test_the_tail_can_be_left_out(cgnn: FrontDoor) -> None:
    errors = []
    for tail in ("--tail", "--no-tail"):
        summary = cgnn.ok(*DEMO, "--solver", "series", tail, "--verify", 60, "--json").json["summary"]
        assert summary["tail"] == (tail == "--tail")
        errors.append(summary["verify"]["median_relative_error"])
    assert errors[0] < errors[1]


def test_the_sketch_has_error_bars(cgnn: FrontDoor) -> None:
    result = cgnn.ok(*DEMO, "--solver", "sketch", "--probes", 16, "--json").json
    found = elements(cgnn, result["artifact"])
    assert found["error"].shape == found["commute"].shape and (found["error"] > 0).all()
    assert result["summary"]["probe_residual"] < 1e-4 and result["summary"]["probes"] == 16
    assert result["summary"]["relative_standard_error"]["median"] < 0.1


def test_options_that_a_solver_does_not_read_do_not_change_its_key(cgnn: FrontDoor) -> None:
    keys = [cgnn.ok(*DEMO, "--solver", "exact", *more, "--json").json["key"] for more in ((), ("--probes", 3))]
    assert keys[0] == keys[1]
    assert (
        cgnn.ok(*DEMO, "--solver", "series", "--json").json["key"]
        == (
            cgnn.ok(*DEMO, "--solver", "series", "--steps", 2, "--threads", 1, "--memory-limit", "1G", "--json").json[
                "key"
            ]
        )
    )


def test_threads_and_memory_do_not_change_the_bits(cgnn: FrontDoor) -> None:
    found = []
    for options in (("--threads", 1), ("--threads", 2, "--memory-limit", "300M")):
        path = cgnn.ok(*DEMO, "--solver", "series", "--steps", 4, *options, "--force").path
        found.append(elements(cgnn, path)["commute"].tobytes())
    assert found[0] == found[1]


def test_teleporting_walks_go_through_every_solver(cgnn: FrontDoor) -> None:
    exact = None
    for solver in ("exact", "series", "sketch", "pi-only", "svd"):
        path = cgnn.ok(*DEMO, "--method", "teleport", "--gamma", 0.8, "--solver", solver).path
        times = elements(cgnn, path)["commute"]
        if solver == "exact":
            exact = times
        elif solver != "svd":
            assert np.median(np.abs(times - exact) / exact) < {"pi-only": 0.2}.get(solver, 0.01)


def write_friends() -> None:
    Path("edges.csv").write_text("ann,bob\nbob,ann\nbob,cat\ncat,ann\ncat,dan\ndan,bob\n")


def test_pairs(cgnn: FrontDoor) -> None:
    write_friends()
    cgnn.ok("data", "import", "friends", "--edges", "edges.csv", "--no-header", "-q")
    Path("pairs.csv").write_text("source,target\nann,dan\ndan,ann\nbob,bob\n")
    result = cgnn.ok("commute", "--dataset", "friends", "--pairs", "pairs.csv", "--json").json
    rows = result["summary"]["pairs"]
    assert [(row["source"], row["target"]) for row in rows] == [("ann", "dan"), ("dan", "ann"), ("bob", "bob")]
    graph = api.graph_from_arrays([[0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]])
    walk = api.dilap(api.rewire(graph))
    dense, inner = walk.transition.toarray(), np.arange(3)
    there = np.linalg.solve(np.eye(3) - dense[np.ix_(inner, inner)], np.ones(3))[0]
    assert rows[0]["hitting"] == pytest.approx(there, rel=1e-6)
    assert rows[0]["commute"] == pytest.approx(rows[0]["hitting"] + rows[0]["hitting_back"])
    assert rows[0]["hitting"] == rows[1]["hitting_back"] and rows[2]["commute"] == 0
    text = cgnn.ok("commute", "--dataset", "friends", "--pairs", "pairs.csv").out.splitlines()
    assert text[0] == "source,target,hitting,hitting_back,commute" and len(text) == 4
    Path("pairs.csv").write_text("ann,eve\n")
    assert "'eve' is no node" in cgnn.fails(3, "commute", "--dataset", "friends", "--pairs", "pairs.csv")
    cgnn.fails(3, "commute", "--dataset", "friends", "--pairs", "missing.csv")
    assert "--pairs" in cgnn.fails(2, "commute", "--dataset", "friends", "--pairs", "pairs.csv", "--rank", 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eve,fay\n", "pairs.csv, line 1: 'eve' is no node"),
        ("source,target\n", "pairs.csv, line 1: 'source' is no node"),
        ("eve,fay\nann,bob\n", "pairs.csv, line 1: 'eve' is no node"),
        ("source,target\nann,bob\n\nbob,eve\n", "pairs.csv, line 4: 'eve' is no node"),
        ("source,bob\nann,bob\n", "pairs.csv, line 1: 'source' is no node"),
    ],
)
def test_f20_unknown_ids_in_pairs_are_errors(cgnn: FrontDoor, text: str, said: str) -> None:
    write_friends()
    cgnn.ok("data", "import", "friends", "--edges", "edges.csv", "--no-header", "-q")
    Path("pairs.csv").write_text(text)
    assert said in cgnn.fails(3, "commute", "--dataset", "friends", "--pairs", "pairs.csv")


def test_f20_pairs_of_any_kind_and_what_was_taken_of_them(cgnn: FrontDoor) -> None:
    write_friends()
    cgnn.ok("data", "import", "friends", "--edges", "edges.csv", "--no-header", "-q")
    Path("pairs.csv").write_text("# two\nwhen,target,source\n1,ann,bob\n2,bob,ann\n")
    result = cgnn.ok("commute", "--dataset", "friends", "--pairs", "pairs.csv", "--json").json
    assert [(row["source"], row["target"]) for row in result["summary"]["pairs"]] == [("bob", "ann"), ("ann", "bob")]
    assert "1 comment line(s) skipped" in result["warnings"][0] and "is the header" in result["warnings"][1]
    np.save("pairs.npy", np.array([[0, 1], [1500, 2], [3, 4]]))
    assert "pairs.npy, row 1: '1500' is no node" in cgnn.fails(3, *DEMO, "--pairs", "pairs.npy")


def test_pairs_and_the_rest_of_the_command(cgnn: FrontDoor) -> None:
    Path("pairs.csv").write_text("0,1\n")
    pairs = ("--pairs", "pairs.csv")
    for more in (("--top", 3), ("--format", "npz"), ("--solver", "series")):
        assert "--pairs" in cgnn.fails(2, *DEMO, *pairs, *more)
    rows = cgnn.ok(*DEMO, *pairs, "--dry-run", "--json").json["stages"]
    assert [row["stage"] for row in rows] == ["graph", "rewire", "dilap"] and not list(Path(".cgnn").rglob("*.h5"))
    walk = cgnn.ok("dilap", "--dataset", "demo").path
    assert "--method belongs to rewire" in cgnn.fails(2, "commute", "--input", walk, *pairs, "--method", "none")
    there = cgnn.ok("commute", "--input", walk, *pairs, "--json").json["summary"]["pairs"]
    assert there == cgnn.ok(*DEMO, *pairs, "--json").json["summary"]["pairs"]
    assert cgnn("commute", "--input", walk, *pairs, "--store", "empty").code == 4
    Path("pairs.csv").write_text("from,to\n0,1\n")
    assert any("is the header ('from', 'to')" in note for note in cgnn.ok(*DEMO, *pairs, "--json").json["warnings"])


def test_walks_that_alternate(cgnn: FrontDoor) -> None:
    """Cycles, paths and stars without self-loops: the steps of such walks never settle."""
    shapes = {
        "cycle": [(0, 1), (1, 2), (2, 0)],
        "path": [(n, n + 1) for n in range(5)] + [(n + 1, n) for n in range(5)],
        "star": [(0, n) for n in range(1, 9)] + [(n, 0) for n in range(1, 9)],
    }
    for name, edges in shapes.items():
        Path("edges.csv").write_text("".join(f"{i},{j}\n" for i, j in edges))
        cgnn.ok("data", "import", name, "--edges", "edges.csv", "--no-header", "-q")
        asked = ("commute", "--dataset", name, "--method", "none", "--verify", 100, "--json")
        for solver, limit in ((("series", "--steps", 200), 1e-6), (("series",), 0.5), (("sketch",), 0.5)):
            summary = cgnn.ok(*asked, "--solver", *solver).json["summary"]
            assert summary["lazy"] and summary["verify"]["median_relative_error"] < limit, (name, solver)


def test_the_error_that_cannot_be_measured_is_a_note(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise NumericalError("a solve stopped")

    monkeypatch.setattr("cgnn_cli.solvers.solution.verify", fails)
    result = cgnn.ok(*DEMO, "--solver", "series", "--verify", 5, "--json").json
    assert result["summary"]["verify"] is None
    assert "the error could not be measured: a solve stopped" in result["warnings"]


def test_pairs_outside_the_walk_have_no_times(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,a\nb,c\n")
    Path("pairs.csv").write_text("a,b\na,c\n")
    cgnn.ok("data", "import", "small", "--edges", "edges.csv", "--no-header", "-q")
    result = cgnn.ok("commute", "--dataset", "small", "--method", "none", "--pairs", "pairs.csv", "--json").json
    assert [row["commute"] for row in result["summary"]["pairs"]] == [2.0, None]
    assert any("outside the walk" in note for note in result["warnings"])


def test_the_closest_edges(cgnn: FrontDoor) -> None:
    result = cgnn.ok(*DEMO, "--solver", "exact", "--top", 3, "--json").json
    closest = result["summary"]["closest"]
    times = np.sort(elements(cgnn, result["artifact"])["commute"])[:3]
    np.testing.assert_allclose([row["commute"] for row in closest], times)
    assert "shortest commute times" in cgnn.ok(*DEMO, "--solver", "exact", "--top", 3).err


def test_long_work_is_refused_at_once(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.solvers.series.WORK_A_SECOND", 1e-3)
    line = cgnn.fails(7, *DEMO, "--solver", "series")
    assert "minutes" in line and "--steps" in line


def test_a_graph_too_large_for_the_dense_solver(cgnn: FrontDoor) -> None:
    line = cgnn.fails(7, *DEMO, "--solver", "exact", "--memory-limit", "100M")
    assert "series" in line and "sketch" in line


def test_the_series_goes_on_where_it_was_stopped(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SPARSE_BLOCK", 1 << 18), ("DENSE_BLOCK", 1 << 18), ("DENSE_ROWS", 8)):
        monkeypatch.setattr(powers, name, value)
    options = (*DEMO, "--solver", "series", "--steps", 4, "--snapshot-seconds", 0)
    undisturbed = elements(cgnn, cgnn.ok(*options, "--store", "other").path)["commute"]
    asked: list[int] = []

    def stop_at_the_second_block(self: snapshots.SnapshotWatch) -> bool:
        asked.append(1)
        return len(asked) == 2

    with monkeypatch.context() as patch:
        patch.setattr(snapshots.SnapshotWatch, "stop_requested", stop_at_the_second_block)
        result = cgnn(*options)
    assert result.code == 75, result
    assert list(Path(".cgnn", "partial").glob("*.h5"))
    resumed = cgnn.ok(*options, "--json").json
    assert any("going on with" in line for line in resumed["warnings"])
    assert elements(cgnn, resumed["artifact"])["commute"].tobytes() == undisturbed.tobytes()
    assert not list(Path(".cgnn", "partial").glob("*.h5"))


def test_dry_runs_name_the_solver(cgnn: FrontDoor) -> None:
    rows = json.loads(cgnn.ok(*DEMO, "--solver", "series", "--dry-run", "--json").out)["stages"]
    assert [row["stage"] for row in rows] == ["graph", "rewire", "dilap", "commute"]
