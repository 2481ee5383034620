"""The benchmarks run from end to end on tiny graphs; the networks they compare are the same."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cgnn_cli.execution.runner import SPINS

ROOT = Path(__file__).parents[1]
FIGURE = re.compile(r"\d[\d,.]*(?:e[+-]?\d+)?")


def benchmark(page: Path, *arguments: str, program: str = "commute.py") -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / program), "--quick", "--output", str(page), *arguments]
    environment = {"PATH": "", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GOMP_SPINCOUNT": SPINS}
    subprocess.run(command, check=True, env=environment)
    return page.read_text(encoding="utf-8")


def part(text: str, name: str) -> str:
    found = re.search(rf"<!-- measured: {name} -->\n(.*?)\n<!-- end of {name} -->", text, flags=re.DOTALL)
    assert found is not None, name
    return found[1]


def test_every_part_writes_finite_figures(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Before\n\nprose\n\n<!-- measured: svd -->\nold\n<!-- end of svd -->\n\n## After\n")
    text = benchmark(page)
    assert text.startswith("# Before\n\nprose\n\n<!-- measured: svd -->\n|") and "\n\n## After\n" in text
    assert not re.search(r"\b(nan|inf|None)\b", text)
    goals = [line.split(" | ") for line in part(text, "goals").splitlines()[2:]]
    assert [row[0].strip("| ") for row in goals] == ["1a", "1b", "2a", "2b", "2c", "2d", "2e", "3", "5a", "5b", "7a"]
    for _, _, measured, met in goals:
        assert FIGURE.search(measured) or (measured, met) == ("not installed", "not measured |")
    for name in ("svd", "series", "tolerance", "growth", "memory", "dense", "sets"):
        assert len(part(text, name).splitlines()) > 4, name
    for figure in ("growth", "error"):
        assert (tmp_path / "images" / f"benchmark-{figure}.svg").read_text().count("<path") > 4


def test_one_part_leaves_the_others(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    row = "| 1a | goal | 7 times | yes |"
    empty = "<!-- measured: tolerance -->\n<!-- end of tolerance -->\n"
    page.write_text(f"{empty}<!-- measured: goals -->\n| | | | |\n|---|---|---|---|\n{row}\n<!-- end of goals -->\n")
    text = benchmark(page, "--only", "tolerance")
    assert text.count("measured: tolerance") == 1
    assert row in part(text, "goals") and "| 3 |" in part(text, "goals") and "citeseer" in part(text, "tolerance")


def test_training_writes_finite_figures(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = benchmark(page, program="training.py")
    assert not re.search(r"\b(nan|inf|None)\b", text)
    goals = [line.split(" | ") for line in part(text, "goals").splitlines()[2:]]
    assert [row[0].strip("| ") for row in goals] == ["6a", "6b", "6c", "6d", "6e", "6g"]
    assert all(FIGURE.search(measured) for _, _, measured, _ in goals)
    lines = [line for name in ("epochs", "epochs-more") for line in part(text, name).splitlines()[2:]]
    rows = [line.split(" | ") for line in lines if line.startswith("|")]
    assert [row[0].strip("| ") for row in rows] == sorted([row[0].strip("| ") for row in rows], key=GRAPHS.index)
    assert {len(row) for row in rows} == {10} and len(rows) == 2 * len(GRAPHS)
    assert part(text, "epoch-memory").count("GiB") == 2


@pytest.mark.slow
def test_training_on_the_largest_graph_writes_its_figure(tmp_path: Path) -> None:
    """The same part as on the one before, which the test above runs."""
    text = benchmark(tmp_path / "page.md", "--large", "--only", "train-memory-large", program="training.py")
    (goal,) = part(text, "goals").splitlines()[2:]
    assert goal.startswith("| 6f |") and FIGURE.search(goal.split(" | ")[2])


def test_commands_write_finite_figures(tmp_path: Path) -> None:
    text = benchmark(tmp_path / "page.md", program="command.py")
    goals = [line.split(" | ") for line in part(text, "goals").splitlines()[2:]]
    assert [row[0].strip("| ") for row in goals] == ["9a", "9c", "9d"]
    assert all(FIGURE.search(row[2]) for row in goals)
    assert "--rank 5" in part(text, "cold") and len(part(text, "start").splitlines()) == 7


GRAPHS = ("chameleon", "squirrel", "am-photo", "arxiv-year")


def test_the_networks_that_are_compared_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    models, training, graphs = (import_module(name) for name in ("peer_models", "training", "graphs"))
    graph = training.labelled(graphs.Sources(None, tmp_path), "chameleon")
    shape = models.Shape(layers=3, hidden=5)
    own = models.own_task(graph, "dirgnn", shape)
    ours = own.network.eval()(own.x).logits
    weights = {"from_self": "lin", "from_out": "conv_out.lin_l", "from_in": "conv_in.lin_l"}
    with torch.no_grad():
        for make in (models.csr_peer, models.geometric_peer):
            peer, inputs = make(graph, shape)
            for theirs, layer in zip(peer.layers, own.network.layers, strict=True):
                for name, geometric in weights.items():
                    linear = theirs.get_submodule(name if make is models.csr_peer else geometric)
                    linear.weight.copy_(getattr(layer, name).weight)
                    bias = layer.from_self.bias if name == "from_self" else getattr(layer, name.replace("from", "bias"))
                    linear.bias.copy_(bias)
            peer.head.load_state_dict(own.network.head[0].state_dict())
            torch.testing.assert_close(peer.eval()(*inputs), ours, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("program", ["commute.py", "training.py", "command.py"])
def test_data_must_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.delenv("CGNN_TEST_DATA", raising=False)
    command = [sys.executable, str(ROOT / "benchmarks" / program), "--output", str(tmp_path / "page.md")]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 2 and "--data" in result.stderr


def test_missing_peers_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    ratios, graphs = import_module("ratios"), import_module("graphs")
    monkeypatch.setattr(ratios, "installed", lambda name: False)
    setting = ratios.Setting(graphs.Sources(None, tmp_path), tmp_path, quick=True, rounds=1)
    for part_of_it in (ratios.svd, ratios.networkit):
        section = part_of_it(setting)
        assert "not installed" in section.text
        assert [line.cells[2:] for line in section.lines] == [("not installed", "not measured")]


@pytest.mark.slow
def test_graphs_that_outgrow_memory_write_finite_figures(tmp_path: Path) -> None:
    page, kept = tmp_path / "page.md", tmp_path / "kept"
    text = benchmark(page, "--scratch", str(kept), program="out_of_core.py")
    assert not re.search(r"\b(nan|inf|None)\b", text)
    goals = [line.split(" | ") for line in part(text, "goals").splitlines()[2:]]
    assert [(row[0].strip("| "), row[3].strip("| ")) for row in goals] == [(n, "not measured") for n in ("8c", "8d")]
    rows = [line.split(" | ") for line in part(text, "edges").splitlines() if line.startswith("| 2")]
    assert [row[1] for row in rows] == ["import", "rewire", "dilap", "commute, svd", "commute, series"] * 2
    assert all(FIGURE.search(cell) for row in rows for cell in row[2:]) and "a multiplication" in rows[-1][4]
    assert sorted(path.name for path in kept.iterdir()) == ["2000.json", "20000.json"]  # and no graph or store
    assert part(benchmark(page, "--scratch", str(kept), program="out_of_core.py"), "edges").splitlines()[2] in text
