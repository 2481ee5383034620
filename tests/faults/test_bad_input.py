"""Bad input and odd surroundings, case by case: a clear one-line error with its code, or it works. Never exit code 1.

The numbers are those of the list of cases that the tool promises to survive; 46 is in tests/cli/test_settings.py.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from tests.front_door import FrontDoor, run_process

SHORT = ("--epochs", 2, "--hidden", 4)
RING = "a,b\nb,c\nc,d\nd,e\ne,f\nf,a\nb,a\n"
LABELS = "a,x\nb,x\nc,x\nd,y\ne,y\nf,y\n"


@pytest.fixture
def ring() -> None:
    Path("edges.csv").write_text(RING)
    Path("labels.csv").write_text(LABELS)


def refused(cgnn: FrontDoor, *arguments: object, code: int = 3) -> str:
    """The one-line error of an import, which leaves nothing behind."""
    before = {path for path in Path().rglob("*") if ".cgnn" not in path.parts}
    line = cgnn.fails(code, "data", "import", "mine", *arguments)
    assert {path for path in Path().rglob("*") if ".cgnn" not in path.parts} == before
    assert not list(Path(".cgnn").rglob("*.h5")) and not list(Path(".cgnn").rglob("*.tmp"))
    return line


def features_csv(value: str) -> None:
    Path("features.csv").write_text("".join(f"{node},{value if node == 'c' else 1},2\n" for node in "abcdef"))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "NaN"])
def test_case_31_nan_and_infinite_features(cgnn: FrontDoor, ring: None, value: str) -> None:
    features_csv(value)
    line = refused(cgnn, "--edges", "edges.csv", "--features", "features.csv")
    assert "features.csv" in line and "1 value" in line and "3" in line and "--impute zero" in line
    result = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--features", "features.csv", "--impute", "zero")
    assert "1 value" in result.err and "0" in result.err


def test_case_31_zero_rows_and_a_zero_anchor_are_defined(cgnn: FrontDoor, ring: None) -> None:
    np.save("zeros.npy", np.zeros((4, 3)))
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    cgnn.ok("data", "import", "zeros", "--edges", "edges.npy", "--features", "zeros.npy")
    assert "4 nodes have all-zero features" in cgnn.ok("rewire", "--dataset", "zeros").err


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([[0, 1], [-1, 2]]), "-1"),
        (np.array([[0.5, 1.0], [1.0, 2.0]]), "0.5"),
        (np.array([[np.nan, 1.0], [1.0, 2.0]]), "nan"),
        (np.array([[0, 2**64 - 1], [1, 2]], dtype=np.uint64), str(2**64 - 1)),
        (np.array([[0, 1], [1, 2**40]]), "0..N-1"),
        (np.array([[0, 1, 2], [1, 2, 3]]), "shape"),
        (np.array([["a", "b"]]), "type"),
    ],
)
def test_case_32_node_numbers(cgnn: FrontDoor, array: np.ndarray, said: str) -> None:
    if array.shape == (2, 3):
        array = np.hstack([array, array]).reshape(4, 3)
    np.save("edges.npy", array)
    line = refused(cgnn, "--edges", "edges.npy")
    assert "edges.npy" in line and said in line


def test_case_32_relabel_keeps_the_users_numbers(cgnn: FrontDoor) -> None:
    np.save("edges.npy", np.array([[10, 2**40], [2**40, 77], [77, 10]]))
    assert "--relabel" in refused(cgnn, "--edges", "edges.npy")
    cgnn.ok("data", "import", "mine", "--edges", "edges.npy", "--relabel")
    assert cgnn.ok("data", "show", "mine", "--json").json["summary"]["nodes"] == 3
    cgnn.ok("export", cgnn.ok("commute", "--dataset", "mine").path, "--to", "csv", "--output", "out.csv")
    assert {line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]} == {"10", "77", str(2**40)}


def test_case_33_repeats_and_order_do_not_matter(cgnn: FrontDoor, ring: None) -> None:
    key = cgnn.ok("data", "import", "one", "--edges", "edges.csv", "--json").json["key"]
    Path("shuffled.csv").write_text("f,a\nb,a\na,b\na,b\ne,f\nc,d\nb,c\nd,e\nb,c\n")
    shuffled = cgnn.ok("data", "import", "two", "--edges", "shuffled.csv", "--json").json
    assert shuffled["key"] == key and shuffled["summary"]["repeats"] == 2
    Path("loop.csv").write_text(RING + "a,a\n")
    assert cgnn.ok("data", "import", "three", "--edges", "loop.csv", "--json").json["summary"]["self_loops"] == 1


@pytest.mark.parametrize(
    "edges",
    [
        "hub,a\nhub,b\nhub,c\nhub,d\n",
        "a,b\nb,a\nb,c\nc,b\na,c\nc,a\nx,y\ny,x\ny,z\nz,y\nx,z\nz,x\n",
        "a,b\nb,c\nc,d\nd,e\ne,f\n",
        "a,a\nb,b\n",
    ],
    ids=["star", "two cliques", "chain", "only self-loops"],
)
def test_case_34_sinks_and_parts_apart(cgnn: FrontDoor, edges: str) -> None:
    Path("edges.csv").write_text(edges)
    cgnn.ok("data", "import", "odd", "--edges", "edges.csv")
    assert cgnn.ok("rewire", "--dataset", "odd", "--json").json["summary"]["components"] == 1
    for solver in ("svd", "exact", "pi-only"):
        cgnn.ok("commute", "--dataset", "odd", "--solver", solver)


def test_case_34_isolated_nodes_get_a_prediction(cgnn: FrontDoor, ring: None) -> None:
    Path("labels.csv").write_text(LABELS + "lonely,x\nnobody,\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--labels", "labels.csv", "--split-count", 1)
    cgnn.ok("run", "--dataset", "mine", *SHORT)
    cgnn.ok("predict", "--output", "out.csv")
    rows = [line.split(",") for line in Path("out.csv").read_text().splitlines()[1:]]
    assert {"lonely", "nobody"} <= {row[0] for row in rows}
    assert all(np.isfinite(float(row[2])) for row in rows)


def test_case_35_no_nodes(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("source,target\n")
    refused(cgnn, "--edges", "edges.csv")
    save_npz("empty.npz", csr_array((0, 0)))
    refused(cgnn, "--edges", "empty.npz")


@pytest.mark.parametrize("edges", ["a,a\n", "a,b\n", "a,b\nb,a\n"], ids=["one node", "two nodes", "a pair"])
@pytest.mark.parametrize("stage", ["rewire", "dilap", "commute", "train", "eval"])
def test_case_35_one_and_two_nodes(cgnn: FrontDoor, edges: str, stage: str) -> None:
    Path("edges.csv").write_text(edges)
    names = sorted(set(edges.replace("\n", ",").strip(",").split(",")))
    Path("labels.csv").write_text("".join(f"{name},{name}\n" for name in names))
    files = ("--edges", "edges.csv", "--no-header")
    if stage in ("train", "eval"):
        result = cgnn("data", "import", "tiny", *files, "--labels", "labels.csv")
        assert result.code == 3 and "Traceback" not in result.err
        return
    cgnn.ok("data", "import", "tiny", *files)
    for solver in ("svd", "exact", "pi-only") if stage == "commute" else ("svd",):
        options = ("--solver", solver) if stage == "commute" else ()
        assert cgnn(stage, "--dataset", "tiny", *options).code == 0


def test_case_36_rank_too_large_and_too_small(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\nc,a\n")
    cgnn.ok("data", "import", "three", "--edges", "edges.csv")
    result = cgnn.ok("commute", "--dataset", "three", "--rank", 5, "--json")
    assert result.json["summary"]["rank"] == 2
    assert any("2 was used" in warning for warning in result.json["warnings"])
    assert result.json["summary"]["svd_residual"] <= 1e-8
    for rank in ("0", "-3"):
        assert "--rank must be at least 1" in cgnn.fails(2, "commute", "--dataset", "three", "--rank", rank)


def test_case_37_a_walk_that_mixes_too_slowly(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3000
    forward = [(node, node + 1, 1.0) for node in range(count - 1)]
    backward = [(node + 1, node, 1.3) for node in range(count - 1)]
    np.save("chain.npy", np.array(forward + backward))
    cgnn.ok("data", "import", "chain", "--edges", "chain.npy", "--weight-column", 3)
    line = cgnn.fails(8, "dilap", "--dataset", "chain", "--method", "none")
    assert "Perron vector" in line and "--method path" in line
    assert not list(Path(".cgnn/dilap").glob("*.h5"))


def test_case_37_a_long_two_way_path_has_its_exact_vector(cgnn: FrontDoor) -> None:
    count = 100_000
    ends = np.arange(count - 1)
    np.save("path.npy", np.concatenate([np.stack([ends, ends + 1], 1), np.stack([ends + 1, ends], 1)]))
    cgnn.ok("data", "import", "path", "--edges", "path.npy")
    summary = cgnn.ok("dilap", "--dataset", "path", "--method", "none", "--json").json["summary"]
    assert summary["perron_residual"] <= 1e-10
    assert summary["perron_minimum"] == pytest.approx(1 / (2 * (count - 1)))


def test_case_38_weights_of_huge_and_negative_times_are_finite(cgnn: FrontDoor) -> None:
    made = cgnn.ok("commute", "--dataset", "demo", "--solver", "exact", "--json").json
    cgnn.ok("export", made["key"], "--to", "npz", "--output", "exact.npz")
    with np.load("exact.npz") as saved:
        assert saved["commute"].max() > 1e4
        assert np.isfinite(saved["weight_out"]).all() and saved["weight_out"].max() == 1
    summary = cgnn.ok("commute", "--dataset", "demo", "--form", "random-walk", "--json").json["summary"]
    assert summary["negative_commute"] > 0 and summary["effective_neighbours_out"]["mean"] >= 1


@pytest.mark.parametrize(
    ("labels", "splits", "said"),
    [
        ("a,\nb,\n", None, "no node a label"),
        (LABELS, "a,train\nd,train\nc,val\n", "test"),
        (LABELS, "a,train\nd,train\na,val\nc,val\ne,test\n", "a"),
        (LABELS, "zz,train\n", "zz"),
        (LABELS, "a,training\nb,val\n", "training"),
        ("a,x\nb,x\nc,x\nd,y\ne,y\n", "a,train\nd,train\nb,val\nc,test\nf,test\n", "f"),
    ],
)
def test_case_39_labels_and_splits(cgnn: FrontDoor, ring: None, labels: str, splits: str | None, said: str) -> None:
    Path("labels.csv").write_text(labels)
    files: tuple[object, ...] = ("--edges", "edges.csv", "--labels", "labels.csv", "--no-header")
    if splits is not None:
        Path("splits.csv").write_text(splits)
        files = (*files, "--splits", "splits.csv")
    assert said in refused(cgnn, *files)


@pytest.mark.parametrize(
    ("labels", "splits", "said"),
    [
        ("a,x\nb,x\nc,x\nd,x\n", "a,train\nb,train\nc,val\nd,test\n", "single class"),
        (LABELS, "a,train\nb,train\nc,val\nd,val\ne,test\nf,test\n", "split 0 has no train node of class y"),
    ],
)
def test_case_39_what_cannot_be_learnt(cgnn: FrontDoor, ring: None, labels: str, splits: str, said: str) -> None:
    Path("labels.csv").write_text(labels)
    Path("splits.csv").write_text(splits)
    files = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv", "--no-header")
    cgnn.ok("data", "import", "mine", *files)
    assert said in cgnn.fails(3, "train", "--dataset", "mine", *SHORT)
    assert not list(Path(".cgnn").glob("fit/*")) and not list(Path(".cgnn").rglob("*.tmp"))


def test_case_39_masks_that_overlap_and_labels_that_are_no_classes(cgnn: FrontDoor) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    np.save("labels.npy", np.array([0, 0, 1, 1]))
    masks = {"train_mask": [1, 0, 1, 0], "val_mask": [1, 0, 0, 1], "test_mask": [0, 1, 0, 0]}
    arrays: dict[str, Any] = {name: np.array(mask, dtype=bool) for name, mask in masks.items()}
    np.savez("masks.npz", **arrays)
    files = ("--edges", "edges.npy", "--labels", "labels.npy", "--splits", "masks.npz")
    assert "split 0" in refused(cgnn, *files)
    np.save("labels.npy", np.array([0.5, 0, 1, 1]))
    assert "0.5" in refused(cgnn, *files)


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "f2", ">f8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_case_40_types_that_convert_without_loss(cgnn: FrontDoor, dtype: str, order: str) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]], dtype=">i8"))
    features = np.asarray([[1, 0], [0, 1], [1, 1]])
    np.save("features.npy", np.asarray(features.astype(dtype), order="F" if order == "F" else "C"))
    key = cgnn.ok("data", "import", "odd", "--edges", "edges.npy", "--features", "features.npy", "--json").json["key"]
    np.save("plain.npy", features.astype("f4"))
    same = cgnn.ok("data", "import", "plain", "--edges", "edges.npy", "--features", "plain.npy", "--json").json["key"]
    assert key == same


@pytest.mark.parametrize(
    "array", [np.ones((2, 2)), np.ones((3, 2), dtype=complex), np.full((3, 1), 2**60 + 1), np.ones(3)]
)
def test_case_40_what_does_not_fit(cgnn: FrontDoor, array: np.ndarray) -> None:
    np.save("edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    np.save("features.npy", array)
    assert "features.npy" in refused(cgnn, "--edges", "edges.npy", "--features", "features.npy")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"# only a comment\n",
        b"a\nb\n",
        b"a,b\nc\n",
        b"a,b\nc,\xff\n",
        "a,b\n".encode("utf-16"),
        b"a,b\n,c\n",
    ],
)
def test_case_41_bad_text(cgnn: FrontDoor, content: bytes) -> None:
    Path("edges.csv").write_bytes(content)
    assert "edges.csv" in refused(cgnn, "--edges", "edges.csv")


def test_case_41_files_that_are_not_there_or_folders(cgnn: FrontDoor) -> None:
    Path("folder").mkdir()
    for name in ("missing.csv", "folder"):
        assert name in refused(cgnn, "--edges", name)


@pytest.mark.parametrize(("rate", "shown"), [("1e9", "1e+09"), ("1e12", "1e+12")])
def test_case_42_a_loss_that_explodes(cgnn: FrontDoor, rate: str, shown: str) -> None:
    line = cgnn.fails(8, "train", "--dataset", "demo", "--split", 0, "--lr", rate, "--epochs", 50)
    assert "epoch" in line and shown in line and "smaller --lr" in line
    assert not list(Path(".cgnn").glob("train/*")) and not list(Path(".cgnn").rglob("*.tmp"))


def test_case_42_no_improvement_stops_early_and_keeps_the_best_epoch(cgnn: FrontDoor) -> None:
    options = ("--dataset", "demo", "--split", 0, "--model", "linear", "--lr", 1e-12, "--epochs", 40, "--patience", 2)
    (fit,) = (row for row in cgnn.ok("train", *options, "--json").json["stages"] if row["stage"] == "fit")
    summary = cgnn.ok("show", fit["key"], "--json").json["header"]["summary"]
    assert summary["epochs"] < 40 and summary["epochs"] == summary["best_epoch"] + 3


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_case_43_cuda_asked_but_absent(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    line = cgnn.fails(2, "train", "--dataset", "demo", "--device", device, *SHORT)
    assert "--device cpu" in line


def test_case_43_cuda_out_of_memory(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def exhausted(*arguments: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr("cgnn_cli.stages.train.run_epoch", exhausted)
    assert "smaller --hidden" in cgnn.fails(7, "train", "--dataset", "demo", *SHORT)


@pytest.mark.parametrize("threads", [1, 2])
def test_case_44_two_fresh_processes_give_the_same_bits(threads: int) -> None:
    payloads = set()
    for store in ("first", "second"):
        options = ("--dataset", "demo", "--split", 0, "--epochs", 5, "--threads", threads, "--deterministic")
        result = run_process("train", *options, "--store", store, "--json", "--quiet")
        assert result.returncode == 0, result
        record = Path(json.loads(result.stdout)["artifact"]).with_suffix(".json")
        payloads.add(json.loads(record.read_text())["header"]["payload"])
    assert len(payloads) == 1


ODD_NAMES = ["with space", "ünïcödé-目录", "new\nline", "quote'\"$HOME", "-dash"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_case_45_odd_folder_names(name: str) -> None:
    folder = Path(name).absolute()
    folder.mkdir()
    (folder / "edges.csv").write_text(RING)
    for arguments in (("data", "import", "mine", "--edges", folder / "edges.csv"), ("commute", "--dataset", "mine")):
        command = [sys.executable, "-m", "cgnn_cli", *map(str, arguments), "--store", str(folder / "store")]
        result = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        assert result.returncode == 0, result


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"HOME": ""},
        {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"},
        {"COLUMNS": "1"},
        {"TERM": "dumb"},
        {"CGNN_STORE": "~nobody-of-that-name/store"},
    ],
)
def test_case_45_odd_environments(environment: dict[str, str]) -> None:
    Path("kanten.csv").write_text("ä,ö\nö,ü\nü,ä\n", encoding="utf-8")
    result = run_process("data", "import", "mine", "--edges", "kanten.csv", **environment)
    expected = {0, 2} if "CGNN_STORE" in environment else {0}
    assert result.returncode in expected, result
    assert "Traceback" not in result.stderr


def test_case_45_no_home_at_all() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    command = [sys.executable, "-m", "cgnn_cli", "rewire", "--dataset", "demo"]
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def test_case_45_a_strict_umask_and_a_closed_stderr() -> None:
    script = f'umask 077; "{sys.executable}" -m cgnn_cli rewire --dataset demo 2>&-'
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result
    assert Path(result.stdout.strip()).exists()
    failing = subprocess.run(["bash", "-c", script.replace("demo", "nothing")], capture_output=True, check=False)
    assert failing.returncode == 2


def test_case_45_a_working_folder_that_is_gone() -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -m cgnn_cli rewire --dataset demo'
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "Traceback" not in result.stderr, result
    elsewhere = subprocess.run(["bash", "-c", f"{script} --store {os.getcwd()}/kept"], capture_output=True, check=False)
    assert elsewhere.returncode == 0, elsewhere


def test_case_45_very_long_paths(cgnn: FrontDoor) -> None:
    deep = Path(*["a-rather-long-folder-name-number-" + str(n) for n in range(30)])
    cgnn.ok("rewire", "--dataset", "demo", "--store", deep)
    assert cgnn("rewire", "--dataset", "demo", "--store", "x" * 5000).code in (2, 7)
