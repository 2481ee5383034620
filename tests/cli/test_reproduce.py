"""`cgnn reproduce NAME --quick`: each experiment through the front door, its figures against other ways to get them."""

import csv
import dataclasses
import json
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.paper.dataset_figures import beside, records
from cgnn_cli.paper.experiment_table import EXPERIMENTS
from cgnn_cli.paper.rows import PLAIN_EXTENDED
from cgnn_cli.pipeline import STAGES
from cgnn_cli.store import artifact as files
from tests.conftest import QUESTIONS, REAL_DATA
from tests.datasets.toy_benchmark import TOY, write_toy
from tests.front_door import FrontDoor
from tests.paper.test_lab import lab_with

FILES = ("page.html", "page.md", "page.tex", "results.csv", "results.json")
QUICK = ("--epochs", 10, "--hidden", 16, "--layers", 2, "--split", 0, "--split", 1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the tests share: what one has computed another finds, and every test gives the same without it."""
    return tmp_path_factory.mktemp("reproductions")


class Reproduced:
    """What a reproduction wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.page = (folder / "page.md").read_text(encoding="utf-8")
        self.records: list[dict[str, Any]] = json.loads((folder / "results.json").read_text(encoding="utf-8"))[
            "results"
        ]

    def rows(self, **wanted: Any) -> list[dict[str, Any]]:
        return [row for row in self.records if all(row.get(name) == value for name, value in wanted.items())]

    def row(self, **wanted: Any) -> dict[str, Any]:
        (found,) = self.rows(**wanted)
        return found


def quick(cgnn: FrontDoor, store: Path, name: str, *options: object) -> Reproduced:
    """Run an experiment quickly, and check what all have in common."""
    result = cgnn.ok("reproduce", name, "--quick", "--store", store, "--output", "out", "--json", *options).json
    assert set(result["summary"]["cells"]) <= {"done", "partial"}, result["summary"]
    for file in FILES:
        assert str(Path("out", file)) in result["summary"]["files"]
    found = Reproduced(Path("out"))
    cells = [record for record in found.records if record.get("column") != "comparison"]
    assert sum(result["summary"]["cells"].values()) == len(cells)
    with open("out/results.csv", encoding="utf-8", newline="") as table:
        assert len(list(csv.DictReader(table))) == len(found.records)
    for picture in Path("out").glob("figures/*.svg"):
        assert picture.with_suffix(".png").stat().st_size > 1000
        assert f"figures/{picture.name}" in found.page
    assert "quick run" in found.page and "Traceback" not in found.page
    sections = [line for line in found.page.splitlines() if line.startswith("## ")]
    assert len(sections) > 1 and sections[-1] == "## Provenance"
    for record in found.records:
        keys = record.get("keys", [record.get("key")])
        assert keys and all(keys), record
        # A search has hundreds of trainings: their keys are in results.json alone.
        assert record.get("row") == "search" or all(key in found.page for key in keys), record
    return found


def evaluated(cgnn: FrontDoor, store: Path, *options: object) -> list[float]:
    """Test accuracies of the two splits, by the commands of the stages."""
    summary = cgnn.ok("eval", "--dataset", "demo", *QUICK, "--store", store, "--json", *options).json["summary"]
    return list(summary["test_accuracy_per_split"])


def test_list(cgnn: FrontDoor) -> None:
    rows = cgnn.ok("reproduce", "--list", "--json").json["summary"]["experiments"]
    assert [row["name"] for row in rows] == list(EXPERIMENTS)
    assert all(row["minutes"] > 0 and row["datasets"] and row["needs"] for row in rows)
    shown = " ".join(cgnn.ok("reproduce", "--list").out.split())
    assert "rewiring-commute" in shown and "for those of the five small datasets" in shown


def test_datasets(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "datasets")
    shown = cgnn.ok("data", "show", "demo", "--store", store, "--json").json["summary"]
    assert found.row(metric="nodes")["here"] == shown["nodes"] == 1500
    assert found.row(metric="edges")["here"] == shown["edges"]


def test_the_papers_statistics_have_its_decimals() -> None:
    source = {"standin": False, "status": "done", "message": "", "keys": []}
    figures = {"nodes": 5201, "edges": 217073, "features": 2089, "classes": 5, "homophily": 0.2221}
    rows = beside(lab_with(), records("squirrel", figures, source)).rows
    assert [row[1:4] for row in rows][-1] == ["homophily", "0.222", "0.22"]


def test_table1(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "table1", "--models", "gcn,cgnn")
    assert len(found.rows(column="demo")) == len(found.records) == 10
    gcn = found.row(row="GCN")
    assert gcn["test_accuracy_per_split"] == evaluated(cgnn, store, "--model", "gcn")
    assert gcn["test_accuracy"] == pytest.approx(statistics.fmean(gcn["test_accuracy_per_split"]))
    assert (gcn["runs"], gcn["expected_runs"], gcn["status"]) == (2, 5, "partial")
    plain = found.row(row="CGNN, no weights")
    control = ("--solver", "pi-only", "--proximity", "none")
    assert plain["test_accuracy_per_split"] == evaluated(cgnn, store, *control)
    assert f"{100 * gcn['test_accuracy']:.2f} ± {100 * gcn['std']:.2f} (2 of 5)" in found.page.replace("**", "")


def test_a_quick_run_on_a_dataset_of_the_paper_is_not_compared(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A toy takes the place of chameleon, as if it were upstream's file."""
    write_toy(tmp_path / "mirror")
    monkeypatch.setitem(BENCHMARKS, "chameleon", TOY)
    source = ("--datasets", "chameleon", "--mirror", tmp_path / "mirror", "--data", tmp_path / "data")
    found = quick(cgnn, Path("own"), "table1", "--models", "gcn", *source)
    row = found.row(row="GCN")
    assert row["paper"] == 67.96 and not row["standin"]
    assert row["difference"] is None and row["within_one_paper_std"] is None
    assert "quick run: not compared" in row["notes"] and "demonstration graph" not in found.page
    assert "the paper's figure" not in Path("out/figures/scores-chameleon.svg").read_text(encoding="utf-8")


def test_directed_undirected(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "directed-undirected", "--models", "gcn,magnet")
    assert {(row["row"], row["column"]) for row in found.records} == {
        (model, version) for model in ("GCN", "MagNet") for version in ("directed", "undirected")
    }
    for column, options in (("directed", ()), ("undirected", ("--undirected",))):
        expected = evaluated(cgnn, store, "--model", "gcn", "--direction", "out", *options)
        assert found.row(row="GCN", column=column)["test_accuracy_per_split"] == expected


@pytest.mark.parametrize(
    ("name", "title", "option"),
    [("ppr", "CGNN_ppr", ("--method", "teleport")), ("sym", "CGNN_sym", ("--walk", "symmetric"))],
)
def test_other_walks(name: str, title: str, option: tuple[str, str], cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, name)
    public = ("--dropout", 0, "--jumping-knowledge", "max", "--l2-norm")
    changed, own = evaluated(cgnn, store, *public, *option), evaluated(cgnn, store, *public)
    assert found.row(row=title)["test_accuracy_per_split"] == changed
    assert found.row(row="CGNN", column="demo")["test_accuracy_per_split"] == own
    gaps = [a - b for a, b in zip(own, changed, strict=True)]
    paired = found.row(column="comparison")
    assert (paired["row"], paired["against"], paired["splits"]) == ("CGNN", title, 2)
    assert paired["mean_difference"] == pytest.approx(statistics.fmean(gaps))
    shown = f"{100 * statistics.fmean(gaps):+.2f} ± {100 * statistics.stdev(gaps) / 2**0.5:.2f} | 2 |"
    assert "## Split by split" in found.page and shown in found.page


def test_rank(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "rank")
    trained = found.rows(column="demo")
    assert [row["settings"]["commute.rank"] for row in trained] == [3, 5, 7, 10]
    assert [row["row"] for row in trained] == ["q=3", "q=5", "q=7", "q=10"]
    assert [row["against"] for row in found.rows(row="q=5", column="comparison")] == ["q=3", "q=7", "q=10"]
    assert re.search(r"Cells: 4 \w+\.", found.page)


def test_rewiring_commute(cgnn: FrontDoor, store: Path) -> None:
    """delta again, from the exported times of both walks."""
    found = quick(cgnn, store, "rewiring-commute")
    times = {}
    for method in ("none", "path"):
        path = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--method", method, "--store", store).path
        times[method] = files.read(Path(path)).elements["commute"]
    inside = ~np.isnan(times["none"])
    before, after = (times[method][inside] / np.mean(times[method][inside]) for method in ("none", "path"))
    delta = np.sqrt(np.sum((before - after) ** 2) / np.sum(before**2))
    row = found.row(times="true times")
    assert row["here"] == pytest.approx(delta) and row["edges"] == inside.sum() < row["all_edges"]
    for name in ("path", "escape"):
        path = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--method", name, "--store", store).path
        c = files.read(Path(path)).elements["commute"]
        row = found.row(rewiring=name)
        assert row["here"] == pytest.approx(scipy.stats.spearmanr(times["none"][inside], c[inside])[0], abs=1e-6)
        assert row["largest"] == c.max() and (row["edges"], row["all_edges"]) == (inside.sum(), len(c))
        assert (row["added"] == 0) == (name == "escape") and row["beyond"] == 0
    assert found.row(rewiring="escape")["here"] > found.row(rewiring="path")["here"]
    assert [row["rewiring"] for row in found.records if "rewiring" in row] == [
        "path",
        "teleport 0.9",
        "teleport 0.99",
        "escape",
    ]


def test_rewiring_density(cgnn: FrontDoor, store: Path) -> None:
    row = quick(cgnn, store, "rewiring-density").row(dataset="demo")
    path = cgnn.ok("rewire", "--dataset", "demo", "--store", store).path
    adjacency = files.read(Path(path)).elements["adjacency"]
    edges = 16562  # docs/demo-graph.md; the demo graph has no self-loops
    assert row["keys"] == [Path(path).stem]
    assert row["added_edges"] == adjacency.nnz - 1500 - edges <= 2 * 1499
    assert row["here"] == pytest.approx(row["added_edges"] / edges)
    assert row["with_self_loops"] == pytest.approx((adjacency.nnz - edges) / edges)


def test_label_similarity(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "label-similarity")
    assert "figures/label-similarity.svg" in found.page and "A common factor below 1 alone" in found.page
    assert len({row["adjacency"] for row in found.records}) == 1


def test_efficiency(cgnn: FrontDoor, store: Path) -> None:
    """Seconds are the sum of what the artifacts recorded, however often the experiment is repeated."""
    found = quick(cgnn, store, "efficiency", "--models", "linear,gcn")
    again = quick(cgnn, store, "efficiency", "--models", "linear,gcn")
    assert found.records == again.records
    row = found.row(row="GCN")
    evaluation = files.read(store / "eval" / f"{row['key']}.h5").header
    train = files.read(store / "train" / f"{evaluation.inputs['train']}.h5").header
    fits = [files.read(store / "fit" / f"{key}.h5").header for role, key in train.inputs.items() if "fit-" in role]
    operators = files.read(store / "operators" / f"{fits[0].inputs['operators-convolution']}.h5").header
    assert row["seconds"] == pytest.approx(operators.seconds + statistics.fmean(fit.seconds for fit in fits))
    assert "figures/time-demo.svg" in found.page


def test_sensitivity(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "sensitivity")
    assert [row["row"] for row in found.records] == ["layers 1", "layers 2", "hidden 8", "hidden 16"]
    assert found.row(row="layers 2")["test_accuracy"] == found.row(row="hidden 16")["test_accuracy"]
    best = max(found.records[:2], key=lambda row: row["test_accuracy"])["settings"]["train.layers"]
    assert f"| layers | {best} |" in found.page


def test_hyperparameters(cgnn: FrontDoor, store: Path) -> None:
    """What is chosen has the highest validation accuracy of all that was tried, and is then tested."""
    found = quick(cgnn, store, "hyperparameters")
    tried = found.rows(row="search")
    assert len(tried) == 4 and "4 of 4" in found.page
    final = found.row(row="CGNN")
    best = max(tried, key=lambda row: row["validation_accuracy"])
    assert final["settings"] == best["settings"] and final["runs"] == 2
    assert all("test_accuracy" not in row for row in tried)
    for row in tried:
        assert row["splits"] == [0, 1] and len(row["keys"]) == 2
        fits = [files.read(store / "fit" / f"{key}.h5").header.summary["validation_accuracy"] for key in row["keys"]]
        assert row["validation_accuracy_per_split"] == fits
        assert row["validation_accuracy"] == pytest.approx(statistics.fmean(fits))
    assert final["settings_from"] == "search of 4 combinations on validation"
    assert "paper preset" not in found.page and "What is missing" not in found.page


def test_a_search_says_why_a_dataset_has_no_choice(cgnn: FrontDoor, store: Path) -> None:
    options = ("--datasets", "cora-ml,demo", "--offline", "--data", "empty", "--store", store, "--output", "out")
    cgnn.ok("reproduce", "hyperparameters", "--quick", *options)
    page = Reproduced(Path("out")).page
    missing = page[page.index("## What is missing") : page.index("## Provenance")]
    assert missing.count("| cora-ml | failed |") == 1 and "not on disk" in missing and "demo" not in missing


def test_solvers(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "solvers")
    errors = {row["row"]: row["verify"]["median_relative_error"] for row in found.records}
    assert errors["exact"] < 1e-8 < errors["series, 10 steps"] < errors["series, 2 steps"] < errors["pi-only"]
    assert errors["svd, rank 5"] > 0.9
    weights = ("--proximity", "inverse", "--scale", 4)
    assert found.row(row="exact")["test_accuracy_per_split"] == evaluated(cgnn, store, "--solver", "exact", *weights)


def test_proximity(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "proximity")
    for side in ("out", "in"):
        effective = {row["row"]: row[f"effective_neighbours_{side}"] for row in found.records}
        assert effective["none"]["mean"] == pytest.approx(effective["none"]["neighbours"])
        assert effective["ratio 0.1"]["mean"] < effective["ratio 0.5"]["mean"] < effective["ratio 1"]["mean"]
    assert found.row(row="exp 1")["effective_neighbours_out"]["mean"] < 2
    sides = [found.row(row="exp 1")[f"effective_neighbours_{side}"] for side in ("out", "in")]
    shown = [f"{each['mean']:.2f} of {each['neighbours']:.2f}" for each in sides]
    assert f"| demo | exp 1 | {shown[0]} | {shown[1]} |" in found.page


def test_weights(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "weights", "--models", "cgnn-paper,cgnn-paper-none,cgnn-paper-pi")
    comparisons = found.rows(column="comparison")
    assert [row["against"] for row in comparisons] == [
        "CGNN (paper's settings), no weights",
        "CGNN (paper's settings), pi-only",
    ]
    first = found.row(row="CGNN (paper's settings)", column="demo")["test_accuracy_per_split"]
    for each in comparisons:
        second = found.row(row=each["against"], column="demo")["test_accuracy_per_split"]
        gaps = [a - b for a, b in zip(first, second, strict=True)]
        assert each["mean_difference"] == pytest.approx(statistics.fmean(gaps))
        assert each["standard_error"] == pytest.approx(statistics.stdev(gaps) / 2**0.5)


def test_controls_that_are_one_run_are_compared_and_drawn_once(
    cgnn: FrontDoor, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the proximity ratio, pi-only has equal weights: the run without weights."""
    monkeypatch.setitem(PLAIN_EXTENDED, "commute.proximity", "ratio")
    monkeypatch.setitem(PLAIN_EXTENDED, "commute.scale", "0.5")
    rows = ("--models", "cgnn-extended,cgnn-extended-none,cgnn-extended-pi")
    found = quick(cgnn, store, "weights", *rows)
    one = "CGNN (extended), no weights (= pi-only)"
    comparison = found.row(column="comparison")
    assert comparison["against"] == one and found.page.count(f"| {one} |") == 1
    assert len(found.rows(column="demo")) == 3 and len({row["key"] for row in found.rows(column="demo")}) == 2
    quick(cgnn, store, "table1", *rows)
    drawn = Path("out/figures/scores-demo.svg").read_text(encoding="utf-8")
    assert one in drawn


def test_ratios(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "ratios")
    commute = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--proximity", "ratio", "--scale", "0.5",
                      "--store", store, "--json").json["summary"]  # fmt: skip
    assert found.row(figure="ratio")["quantiles"][2] == pytest.approx(commute["ratio"]["median"])
    row = found.row(weights="true times, ratio 0.5")
    assert row["out"] == commute["effective_neighbours_out"]


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[object, ...]:
    """Options that take a stand-in for the dataset `toy`."""
    write_toy(tmp_path / "mirror")
    known = dataclasses.replace(TOY, expected={**TOY.expected, "edges": 195})
    monkeypatch.setitem(BENCHMARKS, "toy", known)
    return ("--datasets", "toy", "--accept-standin", "--mirror", tmp_path / "mirror", "--data", tmp_path / "data")


@pytest.mark.parametrize("name", ["datasets", "rewiring-commute", "rewiring-density", "label-similarity", "ratios"])
def test_a_stand_in_is_named_in_all_tables(name: str, standin: tuple[object, ...], cgnn: FrontDoor) -> None:
    found = quick(cgnn, Path("own"), name, *standin)
    assert {(row["dataset"], row["standin"]) for row in found.records} == {("toy", True)}
    assert "| toy (stand-in) |" in found.page and "| toy |" not in found.page
    for picture in Path("out").glob("figures/*.svg"):
        assert "toy (stand-in)" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["table1", "efficiency"])
def test_scores_on_a_stand_in_are_marked_and_not_ranked(
    name: str, standin: tuple[object, ...], cgnn: FrontDoor
) -> None:
    found = quick(cgnn, Path("own"), name, *standin, "--models", "linear,mlp")
    assert found.page.count("(2, stand-in) |") == 2 and "| **" not in found.page and "<u>" not in found.page
    assert "on toy (stand-in)" in found.page and all(row["standin"] for row in found.records)


def test_one_job_starts_no_process_and_each_artifact_is_reported_once(cgnn: FrontDoor, programs: list[str]) -> None:
    options = ("--quick", "--models", "mlp,linear", "--store", "own", "--output", "out")
    told = cgnn.ok("reproduce", "table1", *options, "--jobs", 1).err
    assert set(programs) <= QUESTIONS
    reported = re.findall(r"^(\w+)(?: split \d)? +([0-9a-f]{12})  ", told, re.MULTILINE)
    assert len(set(reported)) == len(reported), told
    made = [path for path in Path("own").glob("*/*.h5") if path.parent.name in STAGES]
    assert sorted(reported) == sorted((path.parent.name, path.stem[:12]) for path in made)
    assert [stage for stage, _ in reported].count("fit") == 4


def test_a_failed_dataset_is_shown_and_the_rest_goes_on(cgnn: FrontDoor, store: Path) -> None:
    options = ("--datasets", "cora-ml,demo", "--offline", "--data", "empty", "--models", "linear", "--splits", 1)
    result = cgnn.ok("reproduce", "table1", "--quick", *options, "--store", store, "--output", "out", "--json").json
    assert result["summary"]["cells"] == {"failed": 1, "partial": 1}
    found = Reproduced(Path("out"))
    assert "not on disk" in found.row(dataset="cora-ml")["message"]
    assert "| Linear | failed |" in found.page and "## What failed" in found.page
    assert "What was not run" not in found.page and "Settings and artifacts of 2 cells" in found.page


def test_after_the_time_only_what_is_there_is_shown(cgnn: FrontDoor) -> None:
    options = (
        "reproduce",
        "table1",
        "--quick",
        "--models",
        "linear,mlp",
        "--store",
        "own",
        "--output",
        "out",
        "--json",
    )
    assert cgnn.ok(*options, "--max-minutes", 0).json["summary"]["cells"] == {"not run": 2}
    page = Path("out/page.md").read_text(encoding="utf-8")
    assert "| Linear | not run |" in page and "2 cells: the time was up" in page
    assert {row["message"] for row in Reproduced(Path("out")).records} == {"the time was up"}
    assert cgnn.ok(*options, "--max-minutes", 5).json["summary"]["cells"] == {"partial": 2}
    assert cgnn.ok(*options, "--max-minutes", 0).json["summary"]["cells"] == {"partial": 2}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name an experiment"),
        (("tabel1",), "unknown experiment 'tabel1'; did you mean table1?"),
        (("table1", "--datasets", "coraml"), "unknown dataset 'coraml'"),
        (("table1", "--quick", "--models", "gnc"), "unknown model 'gnc'"),
        (("rank", "--models", "gcn"), "--models has no use in rank: it is about one model"),
        (("rewiring-density", "--models", "gcn"), "--models has no use in rewiring-density: it trains nothing"),
        (("weights", "--quick", "--models", "gcn"), "'gcn' is no row of this experiment"),
        (("directed-undirected", "--quick", "--models", "gcn,mlp"), "'mlp' is no row of this experiment"),
        (("table1", "--datasets", " ,"), "names nothing"),
        (("table1", "--quick", "--models", ","), "names nothing"),
        (("ratios", "--splits", 2), "--splits has no use in ratios"),
    ],
)
def test_mistakes(arguments: tuple[object, ...], said: str, cgnn: FrontDoor) -> None:
    assert said in cgnn.fails(2, "reproduce", *arguments, "--store", "own", "--output", "out")


def test_a_dataset_that_is_named_twice_counts_once(cgnn: FrontDoor, store: Path) -> None:
    found = quick(cgnn, store, "rewiring-density", "--datasets", "demo, demo")
    assert len(found.records) == 1


@pytest.mark.realdata
def test_statistics_of_real_graphs_are_the_papers(cgnn: FrontDoor) -> None:
    """All but the edges of am-photo, which the paper counts on the symmetrised graph."""
    datasets = "squirrel,chameleon,citeseer,cora-ml,am-photo"
    options = ("--datasets", datasets, "--mirror", REAL_DATA, "--data", "fetched", "--store", "own", "--output", "out")
    cgnn.ok("reproduce", "datasets", *options)
    found = Reproduced(Path("out"))
    differing = [(row["dataset"], row["metric"]) for row in found.records if not row["agrees"]]
    assert len(found.records) == 25 and differing == [("am-photo", "edges")]


def test_where(cgnn: FrontDoor, store: Path) -> None:
    """Two graphs of one dataset, each addition beside the same run with nothing added."""
    found = quick(cgnn, store, "where")
    comparisons = found.rows(column="comparison")
    plain = ("--solver", "pi-only", "--proximity", "none")
    for place, form in (("demo", ()), ("demo, no features", ("--featureless",))):
        base = found.row(row="none", column=place)["test_accuracy_per_split"]
        assert base == evaluated(cgnn, store, "--method", "escape", *plain, "--patience", 60, *form)
        there = [each for each in comparisons if each["place"] == place]
        assert {each["row"] for each in there} == {
            row["row"] for row in found.rows(column=place) if row["row"] != "none"
        }
        for each in there:
            added = found.row(row=each["row"], column=place)["test_accuracy_per_split"]
            gaps = [a - b for a, b in zip(added, base, strict=True)]
            assert each["mean_difference"] == pytest.approx(statistics.fmean(gaps))
            assert each["holm_family"] == len(comparisons)
    assert not found.rows(row="laplacian", column="demo, no features")
    assert "Map of" in found.page and Path("out/figures/where.svg").exists()
