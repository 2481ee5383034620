"""The walk that is not trapped, through the front door: who gets it, its figures, and the warning that names it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.front_door import FrontDoor
from tests.graphs import random_edges

SHORT = ("--epochs", 2, "--hidden", 4, "--split", 0)


def own_graph(cgnn: FrontDoor, name: str, *options: object) -> None:
    """40 nodes that a walk gets about in but for two sinks among them, 24 that only point at them, and 3 more sinks."""
    rng, core = np.random.default_rng(0), 40
    edges = random_edges(core, 4, seed=1)
    edges += [(core + node, int(target)) for node in range(24) for target in rng.choice(core, 20, replace=False)]
    edges += [(node, 64 + node) for node in range(3)]
    Path("edges.csv").write_text("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in edges))
    Path("labels.csv").write_text("id,label\n" + "".join(f"n{i},{'xy'[i % 2]}\n" for i in range(67)))
    Path("features.csv").write_text("id,a\n" + "".join(f"n{i},{i}\n" for i in range(67)))
    cgnn.ok("data", "import", name, "--edges", "edges.csv", "--labels", "labels.csv", *options, "-q")


def key_of(cgnn: FrontDoor, *arguments: object) -> str:
    return str(cgnn.ok(*arguments, "--json", "-q").json["key"])


def test_auto_is_settled_before_a_key_is_made(cgnn: FrontDoor) -> None:
    """The demo graph has features of its own, and keeps the keys that it had."""
    own_graph(cgnn, "bare")
    own_graph(cgnn, "featured", "--features", "features.csv")
    expected = {"demo": "path", "featured": "path", "bare": "escape"}
    for stage in ("rewire", "commute"):
        for dataset, method in expected.items():
            chosen = key_of(cgnn, stage, "--dataset", dataset)
            assert chosen == key_of(cgnn, stage, "--dataset", dataset, "--method", "auto")
            others = {name: key_of(cgnn, stage, "--dataset", dataset, "--method", name) for name in ("path", "escape")}
            assert others[method] == chosen and len(set(others.values())) == 2
    config = cgnn.ok("show", cgnn.ok("rewire", "--dataset", "bare", "-q").path, "--json").json["header"]["config"]
    assert config == {"method": "escape", "walk": "directed", "escape": 0.1, "escape_floor": 1e-4}


def test_options_of_escape_change_its_key_alone(cgnn: FrontDoor) -> None:
    own_graph(cgnn, "bare")
    keys = {
        key_of(cgnn, "rewire", "--dataset", "bare", *options)
        for options in ((), ("--escape", 0.2), ("--escape-floor", 0), ("--escape-floor", 0, "--walk", "symmetric"))
    }
    assert len(keys) == 4
    told = cgnn.ok("rewire", "--dataset", "bare", "--method", "teleport", "--escape", 0.2).err
    assert "--escape changes nothing with these settings" in told
    for wrong in (("--escape", 0), ("--escape", 1), ("--escape-floor", -1)):
        assert wrong[0] in cgnn.fails(2, "rewire", "--dataset", "bare", *wrong)


def test_summaries_tell_components_jumps_and_self_loops(cgnn: FrontDoor) -> None:
    own_graph(cgnn, "bare")
    rewired = cgnn.ok("rewire", "--dataset", "bare", "--json").json["summary"]
    assert (rewired["terminal_components"], rewired["sinks"], rewired["added_edges"]) == (5, 5, 0)
    assert rewired["notes"] == [
        "the walk would be trapped in 5 components without a way out (single nodes: 5), and jumps from there"
    ]
    walk = cgnn.ok("dilap", "--dataset", "bare", "--json").json
    summary = walk["summary"]
    assert 0.01 < summary["jump_rate"] < 0.1 and 1.1 < summary["self_loop_factor"] < 1.6
    shown = " ".join(cgnn.ok("show", walk["artifact"]).out.split())
    assert "jump_rate" in shown and "self_loop_factor" in shown
    assert "terminal_components" in cgnn.ok("show", cgnn.ok("rewire", "--dataset", "bare", "-q").path).out


@pytest.mark.parametrize("form", ["incidence", "random-walk"])
@pytest.mark.parametrize("solver", ["svd", "exact", "series", "sketch", "pi-only"])
def test_every_solver_verifies_itself_on_both_forms(cgnn: FrontDoor, solver: str, form: str) -> None:
    own_graph(cgnn, "bare")
    options = ("--solver", solver, "--form", form, "--escape-floor", 0.01, "--verify", 30)
    found = cgnn.ok("commute", "--dataset", "bare", *options, "--json").json["summary"]
    limit = {"exact": 1e-8, "series": 0.05, "sketch": 0.1, "pi-only": 0.3}.get(solver, np.inf)
    assert found["verify"]["edges"] == 30 and found["verify"]["median_relative_error"] < limit
    assert found["edges_beyond_1e9"] == 0 and found["share_beyond_1e9"] == 0
    if solver in ("series", "sketch"):
        assert found["self_check"]["checked"] == 8


def test_a_warning_names_escape_once_where_many_times_are_absurd(cgnn: FrontDoor) -> None:
    """The nodes without in-edges have one feature vector, so they stand side by side on the path."""
    own_graph(cgnn, "bare")
    ran = cgnn.ok("run", "--dataset", "bare", "--method", "path", "--compare", *SHORT)
    assert ran.err.count("steps, so no commute takes fewer there; use --method escape") == 1
    ran = cgnn.ok("commute", "--dataset", "bare", "--method", "path", "--solver", "exact", "--json")
    summary: dict[str, Any] = ran.json["summary"]
    assert summary["share_beyond_1e9"] == summary["edges_beyond_1e9"] / summary["edges"] > 0.1
    (warning,) = [told for told in ran.json["warnings"] if "--method escape" in told]
    assert warning.startswith(f"{summary['edges_beyond_1e9']:,} of {summary['edges']:,} edges (")
    walk = cgnn.ok("dilap", "--dataset", "bare", "--method", "path", "-q").path
    cgnn.ok("export", walk, "--to", "npz", "--output", "walk.npz")
    cgnn.ok("export", ran.json["artifact"], "--to", "npz", "--output", "times.npz")
    with np.load("walk.npz") as one, np.load("times.npz") as two:
        rarest = np.minimum(one["perron"][two["source"]], one["perron"][two["target"]])
        assert (1 / rarest > 1e9).sum() == summary["edges_beyond_1e9"]
        assert (two["commute"] > 1e9).sum() >= summary["edges_beyond_1e9"]
    assert "visits less than once" not in cgnn.ok("commute", "--dataset", "bare", "--solver", "exact").err


def test_diagnose_explain_and_dry_run_work_on_it(cgnn: FrontDoor) -> None:
    own_graph(cgnn, "bare")
    rows = cgnn.ok("commute", "--dataset", "bare", "--solver", "exact", "--dry-run", "--json").json["stages"]
    assert [row["cache"] for row in rows] == ["hit", "miss", "miss", "miss"]
    made = cgnn.ok("commute", "--dataset", "bare", "--solver", "exact", "--json").json
    assert made["key"] == rows[-1]["key"]
    figures = cgnn.ok("diagnose", "--dataset", "bare", "--solver", "exact", "--json").json["summary"]["figures"]
    assert figures["solver_error"]["median_relative_error"] < 1e-8
    found = cgnn.ok("explain", "n0", "--dataset", "bare", "--solver", "exact", "--json").json["summary"]
    assert all(0.5 <= tie["ratio"] < 10 for tie in [*found["out"], *found["in"]])
    Path("pairs.csv").write_text("n0,n64\nn40,n1\n")
    pairs = cgnn.ok("commute", "--dataset", "bare", "--pairs", "pairs.csv", "--json").json["summary"]["pairs"]
    assert all(0 < pair["commute"] < 1e9 for pair in pairs)
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "times.csv")
    assert Path("times.csv").read_text().startswith("source,target,hitting,")
