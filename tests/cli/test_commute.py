"""`cgnn commute` through the front door: every solver, its measured error, pairs, the closest edges, going on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli import api
from cgnn_cli.errors import NumericalError
from cgnn_cli.execution import snapshots
from cgnn_cli.numerics import powers
from cgnn_cli.numerics.proximity import row_minimum
from tests.front_door import FrontDoor
from tests.graphs import random_edges
from tests.numerics.test_perron import weighted_path

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
    options = (*DEMO, "--solver", "series", "--steps", 4)  # in 190 blocks, most of which save nothing
    undisturbed = elements(cgnn, cgnn.ok(*options, "--store", "other").path)["commute"]
    asked: list[int] = []

    def stop_at_the_second_block(self: snapshots.SnapshotWatch) -> bool:
        asked.append(1)
        return len(asked) == 2

    with monkeypatch.context() as patch:
        patch.setattr(snapshots.SnapshotWatch, "stop_requested", stop_at_the_second_block)
        result = cgnn(*options, "--snapshot-seconds", 0)
    assert result.code == 75, result
    assert list(Path(".cgnn", "partial").glob("*.h5"))
    resumed = cgnn.ok(*options, "--json").json
    assert any("going on with" in line for line in resumed["warnings"])
    assert elements(cgnn, resumed["artifact"])["commute"].tobytes() == undisturbed.tobytes()
    assert not list(Path(".cgnn", "partial").glob("*.h5"))


def import_edges(cgnn: FrontDoor, name: str, edges: Iterable[tuple[object, ...]]) -> None:
    """Pairs, or weights beside them."""
    lines = [",".join(map(str, edge)) for edge in edges]
    weighted = lines[0].count(",") == 2
    Path("edges.csv").write_text("\n".join(["i,j,w" if weighted else "i,j", *lines, ""]))
    cgnn.ok("data", "import", name, "--edges", "edges.csv", *(("--weight-column", "w") if weighted else ()), "-q")


def rugged_edges(decades: float, seed: int) -> list[tuple[int, int, float]]:
    """12 nodes whose weights span so many orders of magnitude either way."""
    edges = random_edges(12, 3, seed)
    weights = 10 ** np.random.default_rng(seed).uniform(-decades, decades, len(edges))
    return [(*edge, float(weight)) for edge, weight in zip(edges, weights, strict=True)]


@pytest.mark.parametrize("solver", ["series", "sketch"])
def test_f23_a_solver_that_is_wrong_warns(cgnn: FrontDoor, solver: str) -> None:
    """In the output, quietly too, in --json, on a hit, in `show` and through the Python interface."""
    import_edges(cgnn, "weak", rugged_edges(4, 3))
    asked = ("commute", "--dataset", "weak", "--method", "none", "--solver", solver)
    shown = cgnn.ok(*asked, "-q")
    (warning,) = [line for line in shown.err.splitlines() if line.startswith("warning: ")]
    assert f"{solver} checked itself on 8 of 8 edges: c is off by" in warning and "--solver exact" in warning
    again = cgnn.ok(*asked, "--json").json
    assert again["cache"] == "hit" and again["warnings"][-1] == warning.removeprefix("warning: ")
    found = again["summary"]["self_check"]
    assert (found["edges"], found["checked"]) == (8, 8) and found["largest_relative_error"] > 0.25
    assert "self_check" in cgnn.ok("show", shown.path).out
    times = cgnn.ok(*asked, "--verify", 100, "--json").json["summary"]
    assert times["self_check"] == found and times["verify"]["edges"] > 8


def test_f14_a_star_of_many_leaves_is_refused_before_the_work(cgnn: FrontDoor) -> None:
    """100,000 leaves under `exact`, which went on for many minutes: the factors are small, but not a solve for each."""
    leaves = range(1, 100_001)
    import_edges(cgnn, "star", [*((0, leaf) for leaf in leaves), *((leaf, 0) for leaf in leaves)])
    asked = ("commute", "--dataset", "star", "--method", "none", "--solver", "exact", "--memory-limit", "4G")
    line = cgnn.fails(7, *asked)
    assert "GiB of memory for 100001 states" in line and "with sparse factors it may take 3 minutes" in line
    assert "--solver series" in line


def test_case_36_ranks_and_solvers_that_do_not_fit(cgnn: FrontDoor) -> None:
    """A rank beyond the walk's is lowered with a warning, one below 1 is refused, and the residual is recorded."""
    import_edges(cgnn, "three", [(0, 1), (1, 2), (2, 0)])
    found = cgnn.ok("commute", "--dataset", "three", "--rank", 5, "--json").json
    assert found["summary"]["rank"] == 2 and 0 <= found["summary"]["svd_residual"] < 1e-8
    assert any("--rank 5 is more than this walk has; 2 was used" in warning for warning in found["warnings"])
    for rank in (0, -1):
        assert "--rank must be at least 1" in cgnn.fails(2, "commute", "--dataset", "three", "--rank", rank)
    import_edges(cgnn, "parted", [(0, 1, 1), (1, 0, 1), (1, 2, 1e-20), (2, 1, 2e-20), (2, 3, 1), (3, 2, 1)])
    for solver in SOLVERS:
        line = cgnn.fails(8, "commute", "--dataset", "parted", "--method", "none", "--solver", solver)
        assert "did not converge" in line and "limit" in line


def test_case_37_a_walk_that_hardly_visits_a_state(cgnn: FrontDoor) -> None:
    """A path of 100,000 nodes, and one along which pi falls to 1e-28: the residual and the minimum are kept, and no
    weight is infinite. What underflows or is not certified is refused."""
    long = weighted_path(100_000, 0.01).tocoo()
    import_edges(cgnn, "long", zip(long.row.tolist(), long.col.tolist(), long.data.tolist(), strict=True))
    import_edges(cgnn, "short", [(i, i + 1, 1) for i in range(60)] + [(i + 1, i, 3) for i in range(60)])
    for name, least in (("long", 1e-8), ("short", 1e-30)):
        walk = cgnn.ok("dilap", "--dataset", name, "--method", "none", "--json").json["summary"]
        assert walk["perron_residual"] <= 1e-10 and walk["perron_correction"] <= 1e-6
        assert least < walk["perron_minimum"] < 300 * least
    for name, *options in (("long", "pi-only", "--proximity", "inverse"), ("short", "exact"), ("short", "series")):
        found = elements(cgnn, cgnn.ok("commute", "--dataset", name, "--method", "none", "--solver", *options).path)
        for part in ("weight_out", "weight_in", "hitting", "hitting_back", "commute"):
            assert np.isfinite(found[part]).all() and (found[part] >= 0).all(), (name, part)
    import_edges(cgnn, "steep", [(i, i + 1, 1) for i in range(400)] + [(i + 1, i, 1e3) for i in range(400)])
    line = cgnn.fails(8, "commute", "--dataset", "steep", "--method", "none", "--solver", "pi-only")
    assert "the Perron vector" in line


def test_case_38_weights_that_underflow_and_scores_below_zero(cgnn: FrontDoor) -> None:
    """exp(-C) is 0 in doubles for most edges; the weights are those of long doubles, and what collapses is counted."""
    result = cgnn.ok(*DEMO, "--solver", "exact", "--json").json
    times = elements(cgnn, result["artifact"])
    assert np.mean(np.exp(-times["commute"]) == 0) > 0.8
    for rows, weights in ((times["source"], times["weight_out"]), (times["target"], times["weight_in"])):
        nearest = row_minimum(times["commute"], rows, 1500)[rows]
        expected = np.exp(-(times["commute"] - nearest).astype(np.longdouble))
        np.testing.assert_allclose(weights, expected, rtol=1e-10, atol=1e-300)
        assert (weights[times["commute"] == nearest] == 1).all()
    summary = result["summary"]
    assert 1 <= summary["effective_neighbours_out"]["mean"] < summary["effective_neighbours_out"]["neighbours"]
    scores = cgnn.ok(*DEMO, "--form", "random-walk", "--json").json
    found = elements(cgnn, scores["artifact"])
    assert scores["summary"]["negative_commute"] == (found["commute"] < 0).sum() > 0
    negative = (found["hitting"] < 0).sum() + (found["hitting_back"] < 0).sum()
    assert scores["summary"]["negative_hitting"] == negative
    assert np.isfinite(found["weight_out"]).all() and found["weight_out"].max() == 1
    assert "need" in cgnn.fails(8, *DEMO, "--form", "random-walk", "--proximity", "inverse")


def test_dry_runs_name_the_solver(cgnn: FrontDoor) -> None:
    rows = json.loads(cgnn.ok(*DEMO, "--solver", "series", "--dry-run", "--json").out)["stages"]
    assert [row["stage"] for row in rows] == ["graph", "rewire", "dilap", "commute"]
