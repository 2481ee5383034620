"""`cgnn report` through the front door: from evaluations to files."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.report.commute_figures import weights_label
from cgnn_cli.report.run_names import LONGEST
from tests.front_door import FrontDoor
from tests.runs import HOST

SHORT = ("--epochs", 2, "--hidden", 4, "--split", 0, "--split", 1, "--no-compare")
ALL = "html,md,tex,csv,json"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a store that each test gets a copy of: the first one fills it."""
    return tmp_path_factory.mktemp("trained") / "store"


@pytest.fixture
def runs(cgnn: FrontDoor, trained: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Three evaluations of the demo graph: two of cgnn, one of another model."""
    monkeypatch.setattr("platform.node", lambda: HOST)
    if trained.exists():
        shutil.copytree(trained, ".cgnn")
    options = ((), ("--solver", "pi-only", "--proximity", "inverse"), ("--model", "mlp"))
    made = [cgnn.ok("run", *SHORT, *more, "--json").json for more in options]
    if not trained.exists():
        shutil.copytree(".cgnn", trained)
    return made


@pytest.fixture
def reported(cgnn: FrontDoor, trained: Path, runs: list[dict[str, Any]]) -> Path:
    """A folder with their report in all formats, which the first test that asks for it makes."""
    made = trained.with_name("report")
    if not made.exists():
        cgnn.ok("report", "--format", ALL, "--output", "reported", "-q")
        Path("reported").rename(made)
    return made


def test_all_formats_of_all_runs(cgnn: FrontDoor, runs: list[dict[str, Any]]) -> None:
    result = cgnn.ok("report", "--format", ALL, "--output", "out")
    names = ["report.html", "report.md", "report.tex", "scores.csv", "splits.csv", "comparisons.csv", "report.json"]
    assert result.out.splitlines() == [f"out/{name}" for name in names]
    assert "pi-only, inverse" in result.err
    values = json.loads(Path("out/report.json").read_text())
    by_key = {row["key"]: row for row in values["scores"]}
    assert set(by_key) == {run["key"] for run in runs}
    for run in runs:
        assert by_key[run["key"]]["test_accuracy"] == run["summary"]["test_accuracy"]
        assert by_key[run["key"]]["partial"] and by_key[run["key"]]["splits_of_dataset"] == 5
        stages = [part["role"] for part in by_key[run["key"]]["made_from"]]
        assert stages[0] == "graph" and stages[-1] == "eval" and {"fit-0", "fit-1", "train"} <= set(stages)
    assert len(values["comparisons"]) == 3
    rows = list(csv.DictReader(Path("out/scores.csv").read_text().splitlines()))
    assert {row["key"]: float(row["test_accuracy_mean"]) for row in rows} == {
        key: row["test_accuracy"]["mean"] for key, row in by_key.items()
    }
    assert len(list(csv.DictReader(Path("out/splits.csv").read_text().splitlines()))) == 6


def test_every_number_of_the_page_has_its_source_and_no_host(reported: Path, runs: list[dict[str, Any]]) -> None:
    page = (reported / "report.html").read_text()
    for run in runs:
        for stage in run["stages"]:
            assert stage["key"] in page
        mean, std = (100 * run["summary"]["test_accuracy"][name] for name in ("mean", "std"))
        assert f"{mean:.2f} ± {std:.2f}" in page
    assert "2 of 5" in page and "cgnn run --epochs 2" in page
    assert not any(HOST.encode() in path.read_bytes() for path in reported.rglob("*.*"))


def test_the_same_runs_give_the_same_files(cgnn: FrontDoor, reported: Path) -> None:
    again = Path("again")
    cgnn.ok("report", "--format", ALL, "--output", again, "-q")
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")} for folder in (reported, again)
    )
    assert one == two and len([path for path in one if path.suffix == ".svg"]) >= 4


def test_figures_of_the_page_are_files_too(cgnn: FrontDoor, runs: list[dict[str, Any]]) -> None:
    found = cgnn.ok("report", "--format", "md", "--output", "out", "--json").json["summary"]
    linked = re.findall(r"\]\((figures/[^)]+)\)", Path("out/report.md").read_text())
    assert len(linked) == found["figures"] >= 4
    for name in linked:
        assert Path("out", name).exists() and Path("out", name).with_suffix(".png").exists()
    assert not list(Path("out").rglob("*.pdf"))  # which LaTeX alone takes


def test_figures_tell_walks_apart(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def remember(options: dict[str, Any]) -> str:
        told.append(weights_label(options))
        return told[-1]

    monkeypatch.setattr("cgnn_cli.report.commute_figures.weights_label", remember)
    for walk in ((), ("--method", "teleport"), ("--walk", "symmetric", "--form", "random-walk")):
        cgnn.ok("run", *SHORT, *walk, "-q")
    cgnn.ok("report", "--format", "md", "--output", "out", "-q")
    assert sorted(told) == [
        "svd rank 5, exp",
        "svd rank 5, exp, method teleport",
        "svd rank 5, exp, walk symmetric, form random-walk",
    ]


def test_runs_by_key_and_by_path(cgnn: FrontDoor, runs: list[dict[str, Any]]) -> None:
    names = (runs[0]["key"][:10], runs[2]["artifact"], runs[0]["key"])
    found = cgnn.ok("report", *names, "--format", "csv", "--output", "out", "--json").json["summary"]
    assert (found["runs"], found["comparisons"], found["figures"]) == (2, 1, 0)
    assert not Path("out/figures").exists()


def test_a_run_with_more_splits_takes_the_cell(cgnn: FrontDoor, runs: list[dict[str, Any]]) -> None:
    more = cgnn.ok("run", *SHORT, "--split", 2, "--model", "mlp", "--json").json
    cgnn.ok("report", "--format", "json,md", "--output", "out", "-q")
    values = json.loads(Path("out/report.json").read_text())
    assert values["left_out"] == [runs[2]["key"]]
    assert more["key"] in [row["key"] for row in values["scores"]]
    page = Path("out/report.md").read_text()
    assert "1 run left out" in page and "2 of 3 pairs of runs cannot be compared" in page


def test_an_evaluation_whose_inputs_are_elsewhere_is_still_shown(cgnn: FrontDoor, runs: list[dict[str, Any]]) -> None:
    Path("moved.h5").write_bytes(Path(runs[0]["artifact"]).read_bytes())
    cgnn.ok("report", "moved.h5", "--store", "empty", "--format", "html,json", "--output", "out", "-q")
    (row,) = json.loads(Path("out/report.json").read_text())["scores"]
    assert (row["model"], row["seconds"], row["splits_of_dataset"]) == ("unknown", None, None)


def test_a_damaged_evaluation_is_left_out_with_a_warning(cgnn: FrontDoor, runs: list[dict[str, Any]]) -> None:
    damaged = Path(runs[0]["artifact"])
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    result = cgnn.ok("report", "--format", "json", "--output", "out", "--json").json
    assert result["summary"]["runs"] == 2 and any("damaged" in note for note in result["warnings"])


def test_without_matplotlib_there_are_tables(
    cgnn: FrontDoor, runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in ("cgnn_cli.commands.report", "cgnn_cli.report.style"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    result = cgnn.ok("report", "--output", "out", "--json").json
    assert result["summary"]["figures"] == 0 and any("cgnn[plot]" in note for note in result["warnings"])
    assert "<table" in Path("out/report.html").read_text()


def test_a_single_run_has_no_deviation_in_any_format(cgnn: FrontDoor) -> None:
    cgnn.ok("run", "--epochs", 2, "--hidden", 4, "--split", 0, "--no-compare", "--model", "mlp", "-q")
    cgnn.ok("report", "--format", "html,md,tex", "--output", "out", "-q")
    texts = [Path("out", name).read_text() for name in ("report.html", "report.md", "report.tex")]
    assert not any(" ± 0.00" in text or r"$\pm$ 0.00" in text for text in texts)
    assert texts[1].index("each dataset:") < texts[1].index("% (demo, 1 split: mlp)") < texts[1].index("## Scores")


def test_names_are_short_everywhere_and_the_settings_are_in_a_fold(cgnn: FrontDoor) -> None:
    """Model and weights, and one option that tells two runs apart; not the dozen in which they differ."""
    one = ("--hidden", 4, "--layers", 1, "--lr", 0.02, "--dropout", 0.25, "--weight-decay", 0.001, "--patience", 9)
    other = ("--hidden", 6, "--layers", 2, "--lr", 0.03, "--dropout", 0.5, "--weight-decay", 0.002, "--patience", 7)
    ratio, none = ("--solver", "series", "--proximity", "ratio", "--scale", 0.1), ("--proximity", "none")
    splits = ("--epochs", 2, "--split", 0, "--split", 1, "--no-compare", "-q")
    for more in (one, other, (*one, *ratio), (*one, *none), (*other, "--model", "mlp")):
        cgnn.ok("run", *splits, *more)
    shown = cgnn.ok("report", "--format", ALL, "--output", "out").err
    names = ["cgnn (svd, exp, lr 0.02)", "cgnn (svd, exp, lr 0.03)", "cgnn (series, ratio 0.1, lr 0.02)"]
    names += ["cgnn (no weights, lr 0.02)", "mlp"]
    page, markdown, latex = (Path("out", f"report.{kind}").read_text() for kind in ("html", "md", "tex"))
    for name in names[:-1]:
        assert name in shown and name in markdown and name in latex and name.removeprefix("cgnn ")[1:-1] in page
    assert max(map(len, names)) <= LONGEST
    told = re.findall(r'(?:aria-label|alt)="([^"]*)"', page) + re.findall(r"\\caption\{(.*)\}", latex)
    told += re.findall(r"<dt>(.*?)</dt>", page) + re.findall(r"!\[(.*?)\]", markdown)
    assert not any("dropout" in text or "weight decay" in text for text in told)
    folds = re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", page, re.DOTALL)
    settings = [body for title, body in folds if ", eval " in title]
    assert len(settings) == 5 and all("dropout 0." in body and "weight_decay 0.00" in body for body in settings)
    rows = list(csv.DictReader(Path("out/scores.csv").read_text().splitlines()))
    assert {json.loads(row["options"])["dropout"] for row in rows} == {0.25, 0.5}
    assert {row["setting"] for row in rows} == {name.partition(" ")[2].strip("()") for name in names}


def test_latex_takes_its_figures_as_pdf(reported: Path) -> None:
    text = (reported / "report.tex").read_text()
    targets = re.findall(r"\\includegraphics\[[^]]*\]\{([^}]*)\}", text)
    assert len(targets) >= 4 and len(set(targets)) == len(targets)
    for target in targets:
        content = (reported / target).read_bytes()
        assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF") and b"CreationDate" not in content


def test_macro_f1_stands_in_a_table(reported: Path, runs: list[dict[str, Any]]) -> None:
    page = (reported / "report.md").read_text()
    assert "| run | accuracy | macro-F1 |" in page
    for run in runs:
        mean, std = (100 * run["summary"]["macro_f1"][name] for name in ("mean", "std"))
        assert f"| {mean:.2f} ± {std:.2f} |" in page


def test_at_a_tie_all_are_bold_and_named_alike(cgnn: FrontDoor) -> None:
    """An exact tie: the second model is the first with an option that changes nothing that it predicts."""
    tie = ("run", "--model", "mlp", "--epochs", 1, "--hidden", 2, "--split", 0, "--split", 1, "--no-compare", "-q")
    cgnn.ok(*tie, "--patience", 5)
    cgnn.ok(*tie, "--patience", 6)
    shown = cgnn.ok("report", "--format", "html,md", "--output", "out").err
    page, markdown = Path("out/report.html").read_text(), Path("out/report.md").read_text()
    words = "tie of mlp (patience 5) and mlp (patience 6)"
    (tile,) = re.findall(r"<dt>(.*?)</dt>", page)
    (alternative,) = re.findall(r'aria-label="(Dot plot[^"]*)"', page)
    assert tile.endswith(words) and alternative.endswith(f"{words}.")
    rows = [line for line in markdown.splitlines() if line.startswith("| mlp (patience") and "of 5" in line]
    assert len(rows) == 2 and all("**" in row for row in rows)
    assert "| 0.00 ± 0.00 |" in markdown and "-0.00" not in markdown + page + shown


def test_slips(cgnn: FrontDoor) -> None:
    assert "no evaluations" in cgnn.fails(4, "report", "--output", "out")
    assert not Path("out").exists()
    assert "'pdf' is not known" in cgnn.fails(2, "report", "--format", "html,pdf")
    assert "neither a file nor a key" in cgnn.fails(4, "report", "abcdef")
    assert "no file" in cgnn.fails(4, "report", "gone.h5")
    made = cgnn.ok("commute", "--dataset", "demo", "-q").path
    assert "is a commute artifact" in cgnn.fails(2, "report", made)
    Path("taken").write_text("")
    cgnn.ok("run", *SHORT, "--model", "mlp", "-q")
    assert "cannot make the folder" in cgnn.fails(2, "report", "--output", "taken")
