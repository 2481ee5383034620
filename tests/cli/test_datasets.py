"""Benchmark graphs through the front door: fetched, verified, refused, or taken as stand-ins; and their forms."""

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from cgnn_cli.datasets import benchmarks, catalogue, fetching, locating
from cgnn_cli.datasets.catalogue import BENCHMARKS, Benchmark, UpstreamFile
from cgnn_cli.errors import EXIT_CODES, DataError, FetchError
from tests.datasets.readers.upstream import LAYOUTS
from tests.faults.processes import finish, start
from tests.front_door import FrontDoor
from tests.graphs import toy_arrays
from tests.loopback import Fault, Server, serve

FILE = "toy.npz"
TINY = ("--epochs", 1, "--hidden", 2, "--split", 0)
BAD_DATA, NOT_HAD = DataError.exit_code, FetchError.exit_code


def write_toy(folder: Path, *, compressed: bool = False, shift: int = 0) -> Path:
    """The toy graph as a mirror has it; `compressed` changes the bytes and not the content."""
    path = folder / "toy" / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    save: Any = np.savez_compressed if compressed else np.savez
    save(path, **toy_arrays(shift=shift))
    return path


TOY = Benchmark(
    "a toy",
    "toy",
    (UpstreamFile(FILE),),
    "heterophilous",
    catalogue.PUBLISHED_FIRST,
    {"nodes": 60, "edges": 194, "features": 4, "classes": 3, "splits": 2},
    "nobody, 2026",
    "none",
)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CGNN_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(fetching, "_wait", lambda seconds: None)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, mirror: Path) -> Path:
    """A benchmark graph `toy` whose checksum and content are known; its file on the mirror."""
    path = write_toy(mirror)
    known = dataclasses.replace(TOY, files=(UpstreamFile(FILE, sha256=sha256_of(path)),), content=content_of(path))
    monkeypatch.setitem(BENCHMARKS, "toy", known)
    return path


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def content_of(path: Path) -> str:
    from cgnn_cli.datasets.readers import heterophilous
    from cgnn_cli.store.elements import checksum

    return checksum(heterophilous.read({FILE: path}).to_elements())


def know_less(monkeypatch: pytest.MonkeyPatch, *, sha256: bool = False, content: bool = False, **more: Any) -> None:
    """Forget the checksum or the content checksum of the toy."""
    known = BENCHMARKS["toy"]
    if sha256:
        known = dataclasses.replace(known, files=(UpstreamFile(FILE),))
    if content:
        known = dataclasses.replace(known, content=None)
    monkeypatch.setitem(BENCHMARKS, "toy", dataclasses.replace(known, **more))


def left_behind(tmp_path: Path) -> list[str]:
    """All files in the data folder, and all graphs and records in the store."""
    folders = (tmp_path / "data", tmp_path / ".cgnn" / "graph", tmp_path / ".cgnn" / "datasets")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in found if path.parent.name != ".locks"]


# What is verified, and by what


def test_upstreams_file_is_verified_by_both_checks(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    summary = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json["summary"]
    assert (summary["verified"], "standin" in summary) == ("checksum and content", False)
    assert summary["expected"]["edges"] == summary["edges"] == 194


def test_other_bytes_with_the_same_content_are_accepted_and_noted(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    before = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--store", "a", "--json").json
    write_toy(mirror, compressed=True)
    after = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--store", "b", "--json").json
    assert after["summary"]["verified"] == "content"
    assert after["warnings"] == ["toy.npz: other bytes than upstream's file, the same content"]
    assert after["key"] == before["key"]


def test_other_content_is_refused(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    expected = sha256_of(toy)
    write_toy(mirror, shift=1)
    for command in (("data", "show", "toy"), ("data", "fetch", "toy"), ("rewire", "--dataset", "toy")):
        line = cgnn.fails(BAD_DATA, *command, "--mirror", mirror)
        assert str(toy) in line and expected in line and sha256_of(toy) in line and "--accept-standin" in line
    assert left_behind(tmp_path) == []


def test_a_known_checksum_alone_decides(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, content=True)
    assert cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json["summary"]["verified"] == "checksum"
    write_toy(mirror, compressed=True)
    assert sha256_of(toy) in cgnn.fails(BAD_DATA, "data", "show", "toy", "--mirror", mirror, "--store", "other")


def test_published_figures_decide_where_nothing_else_is_known(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, sha256=True, content=True)
    shown = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json
    assert shown["summary"]["verified"] == "statistics"
    assert shown["warnings"] == ["no checksum of toy's files is known; the published figures agree"]
    know_less(monkeypatch, expected={**TOY.expected, "edges": 195})
    line = cgnn.fails(BAD_DATA, "data", "show", "toy", "--mirror", mirror, "--store", "other")
    assert "edges 194 (expected 195)" in line


def test_the_catalogue_is_complete() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.files, name
        for file in benchmark.files:
            assert bool(file.address.startswith("https://")) != bool(file.drive), file
            assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
        assert benchmark.protocols[0] in ("published", "per-class") and benchmark.citation and benchmark.licence


# Stand-ins


def test_a_stand_in_marks_all_that_is_made_from_it(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    genuine = cgnn.ok(
        "data", "show", "toy", "--mirror", mirror, "--store", "genuine", "--accept-standin", "--json"
    ).json
    assert "standin" not in genuine["summary"]
    write_toy(mirror, shift=1)
    source = ("--mirror", mirror, "--accept-standin")
    shown = cgnn.ok("data", "show", "toy", *source, "--json").json
    assert shown["summary"]["standin"] == "toy" and shown["summary"]["verified"] is None
    assert shown["warnings"] == ["made from a stand-in for toy: figures say nothing about toy itself"]
    scores = cgnn.ok("run", "--dataset", "toy", *source, *TINY)
    assert "toy+standin: accuracy" in scores.err and "warning: made from a stand-in for toy" in scores.err
    for stage in ("graph", "rewire", "dilap", "commute", "fit", "train", "eval"):
        (path,) = Path(".cgnn", stage).glob("*.json")
        assert json.loads(path.read_text())["header"]["summary"]["standin"] == "toy", stage
    result = cgnn.ok("predict", "--output", "p.csv", "--json").json
    assert result["summary"]["standin"] == "toy" and any("stand-in for toy" in line for line in result["warnings"])


def test_a_stand_in_in_the_store_is_taken_only_when_accepted(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    write_toy(mirror, shift=1)
    made = cgnn.ok("rewire", "--dataset", "toy", "--mirror", mirror, "--accept-standin", "--json").json
    assert cgnn.ok("rewire", "--dataset", "toy", "--accept-standin", "--offline", "--json").json["key"] == made["key"]
    assert "--offline" in cgnn.fails(NOT_HAD, "rewire", "--dataset", "toy", "--offline")
    write_toy(mirror)
    real = cgnn.ok("rewire", "--dataset", "toy", "--mirror", mirror, "--json").json
    assert real["key"] != made["key"] and real["warnings"] == []


def test_a_changed_stand_in_is_read_again(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    keys = []
    for shift in (1, 2):
        write_toy(mirror, shift=shift)
        keys.append(cgnn.ok("data", "show", "toy", "--mirror", mirror, "--accept-standin", "--json").json["key"])
    assert keys[0] != keys[1]


def test_a_stand_in_with_the_content_of_an_imported_graph_has_its_own_key(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json["key"]
    know_less(monkeypatch, sha256=True, content=True, expected={**TOY.expected, "edges": 195})
    standin = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--accept-standin", "--store", "b", "--json").json
    assert standin["summary"]["standin"] == "toy" and standin["key"] != real


# Forms of a graph


def test_undirected_is_another_graph(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    source = ("--mirror", mirror, "--json")
    directed = cgnn.ok("data", "show", "toy", *source).json
    undirected = cgnn.ok("data", "show", "toy", "--undirected", *source).json
    assert undirected["key"] != directed["key"]
    assert undirected["summary"]["reciprocity"] == 1 and undirected["summary"]["undirected"] is True
    pairs = {frozenset(edge) for edge in toy_arrays()["edges"].tolist()}
    assert undirected["summary"]["clean_edges"] == 2 * sum(len(pair) == 2 for pair in pairs)
    again = cgnn.ok("rewire", "--dataset", "toy", "--undirected", *source).json
    assert again["stages"][0] == {**again["stages"][0], "key": undirected["key"], "cache": "hit"}


def test_undirected_keeps_the_greater_weight(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b,2\nb,a,5\nb,c,3\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--weight-column", 3, "-q")
    path = cgnn.ok("data", "show", "mine", "--undirected", "--json").json["artifact"]
    with np.load(_npz(cgnn, path)) as arrays:
        assert arrays["adjacency/data"].tolist() == [5, 5, 3, 3]


def _npz(cgnn: FrontDoor, path: str) -> str:
    cgnn.ok("export", path, "--to", "npz", "--output", "graph.npz")
    return "graph.npz"


@pytest.mark.parametrize(("protocol", "count", "train"), [("random", 10, 30), ("published", 2, 20), ("default", 2, 20)])
def test_protocols(cgnn: FrontDoor, toy: Path, mirror: Path, protocol: str, count: int, train: int) -> None:
    shown = cgnn.ok("data", "show", "toy", "--mirror", mirror, "--protocol", protocol, "--json").json["summary"]
    assert len(shown["splits"]) == count and shown["splits"][0]["train"] == train
    assert shown["protocol"] == ("published" if protocol == "default" else protocol)


def test_the_default_protocol_by_its_name_is_the_same_graph(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    keys = [
        cgnn.ok("data", "show", "toy", "--mirror", mirror, "--protocol", protocol, "--json").json["key"]
        for protocol in ("default", "published", "random")
    ]
    assert keys[0] == keys[1] != keys[2]


def test_drawn_protocols_work_on_any_labelled_graph(cgnn: FrontDoor) -> None:
    shown = cgnn.ok("data", "show", "demo", "--protocol", "per-class", "--json").json["summary"]
    assert [split["val"] for split in shown["splits"]] == [500] * 10 and shown["splits"][0]["train"] == 100
    one = cgnn.ok("data", "show", "demo", "--protocol", "per-class-1020", "--json").json["summary"]
    assert len(one["splits"]) == 1
    assert "demo has no published splits" in cgnn.fails(2, "data", "show", "demo", "--protocol", "published")


def test_a_protocol_needs_labels_and_enough_of_them(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("a,b\nb,c\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "-q")
    assert "no labels" in cgnn.fails(BAD_DATA, "rewire", "--dataset", "mine", "--protocol", "random")


def test_graph_options_do_not_go_with_an_artifact(cgnn: FrontDoor) -> None:
    graph = cgnn.ok("data", "show", "demo", "--json").json["artifact"]
    rewired = cgnn.ok("rewire", "--dataset", "demo").path
    for given, target in ((graph, "rewire"), (rewired, "dilap")):
        assert "--undirected belongs to graph" in cgnn.fails(2, target, "--input", given, "--undirected")


def test_a_dry_run_reads_and_writes_nothing_new(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    rows = cgnn.ok("rewire", "--dataset", "toy", "--mirror", mirror, "--undirected", "--dry-run", "--json").json
    assert [row["cache"] for row in rows["stages"]] == ["miss", "miss"]
    assert left_behind(tmp_path) == []


def test_forms_and_stand_ins_travel_in_packs(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    write_toy(mirror, shift=1)
    source = ("--dataset", "toy", "--undirected", "--accept-standin")
    made = cgnn.ok("rewire", *source, "--mirror", mirror, "--json").json
    cgnn.ok("cache", "pack", made["key"], "--output", "pack.tar")
    unpacked = cgnn.ok("cache", "unpack", "pack.tar", "--store", "other", "--json").json["summary"]["datasets"]
    assert unpacked == {"toy+standin+undirected": "new"}
    there = ("--store", "other", "--offline", "--json")
    again = cgnn.ok("rewire", *source, *there).json
    assert (again["key"], again["cache"]) == (made["key"], "hit")
    assert "--offline" in cgnn.fails(NOT_HAD, "rewire", *source[:-1], *there[:-1])


def test_the_graph_itself_is_kept_when_only_a_form_was_asked_for(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    cgnn.ok("data", "show", "toy", "--undirected", "--mirror", mirror)
    assert cgnn.ok("rewire", "--dataset", "toy", "--offline", "--json").json["stages"][0]["cache"] == "hit"
    cgnn.ok("rewire", "--dataset", "toy", "--undirected", "--protocol", "random", "--offline")


def test_datasets_in_python(toy: Path, mirror: Path) -> None:
    from cgnn_cli import api

    source = api.SourceConfig(mirror=str(mirror))
    graph = api.load_dataset("toy", source=source)
    assert (graph.adjacency.nnz, graph.split_count, graph.summary["verified"]) == (194, 2, "checksum and content")
    other = api.load_dataset("toy", api.GraphConfig(undirected=True, protocol="random"), source)
    assert (other.adjacency != other.adjacency.T).nnz == 0 and other.split_count == 10
    with pytest.raises(api.CgnnError, match="unknown dataset"):
        api.load_dataset("nothing")


# Downloads


@pytest.fixture
def served(toy: Path, mirror: Path) -> Iterator[Server]:
    with serve(mirror) as server:
        yield server


def test_a_mirror_on_the_web(cgnn: FrontDoor, toy: Path, served: Server, tmp_path: Path) -> None:
    shown = cgnn.ok("data", "fetch", "toy", "--mirror", served.url(""), "--json").json["summary"]["datasets"]
    assert [row["state"] for row in shown] == ["verified"] and shown[0]["files"][0]["sha256"] == sha256_of(toy)
    assert (tmp_path / "data" / "toy" / FILE).read_bytes() == toy.read_bytes()
    assert [request.path for request in served.requests] == ["/toy/toy.npz"]
    cgnn.ok("rewire", "--dataset", "toy", "--offline")
    cgnn.ok("data", "fetch", "toy", "--mirror", served.url("/"))
    assert len(served.requests) == 1
    cgnn.ok("data", "fetch", "toy", "--mirror", served.url("/"), "--force")
    assert len(served.requests) == 2


def test_variables_name_the_mirror_and_the_folder(
    cgnn: FrontDoor, served: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CGNN_MIRROR", served.url(""))
    monkeypatch.setenv("CGNN_DATA", str(tmp_path / "elsewhere"))
    cgnn.ok("data", "show", "toy")
    assert (tmp_path / "elsewhere" / "toy" / FILE).is_file()
    monkeypatch.setenv("CGNN_OFFLINE", "1")
    monkeypatch.setenv("CGNN_DATA", str(tmp_path / "nowhere"))
    cgnn.fails(NOT_HAD, "data", "show", "toy", "--store", "other")


def test_a_cut_download_goes_on(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    with serve(mirror, {"/toy/toy.npz": [Fault(cut=1000), Fault(cut=500)]}) as server:
        cgnn.ok("data", "fetch", "toy", "--mirror", server.url(""))
    assert [request.range for request in server.requests] == [None, "bytes=1000-", "bytes=1500-"]


HTML = Fault(body=b"<!DOCTYPE html><html>Quota exceeded</html>", headers={"Content-Type": "text/html"})


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (Fault(status=404), NOT_HAD, "404"),
        (HTML, NOT_HAD, "web page"),
        (Fault(stall=True), NOT_HAD, "0.2 s"),
        (Fault(cut=100), NOT_HAD, "toy.npz"),
        (Fault(body=b"PK damaged"), BAD_DATA, "sha256"),
    ],
    ids=["404", "html", "slow", "cut", "checksum"],
)
@pytest.mark.parametrize("command", [("data", "fetch", "toy"), ("data", "show", "toy")], ids=["fetch", "show"])
def test_a_failed_download_leaves_nothing(
    cgnn: FrontDoor,
    toy: Path,
    mirror: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    code: int,
    words: str,
    command: tuple[str, ...],
) -> None:
    patience = ("--timeout", 0.2, "--retries", 1) if "fetch" in command else ()
    if not patience:
        short = dataclasses.replace(fetching.FetchOptions(), timeout=0.2, retries=1)
        monkeypatch.setattr(benchmarks, "FetchOptions", lambda: short)
    with serve(mirror, {"/toy/toy.npz": [fault] * 20}) as server:
        line = cgnn.fails(code, *command, "--mirror", server.url(""), *patience)
    assert words in line and "toy.npz" in line
    assert left_behind(tmp_path) == [] and not (tmp_path / "data" / "toy").exists()
    assert code in EXIT_CODES


def test_upstreams_checksum_is_checked_at_once(
    cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(mirror) as server:
        expected = sha256_of(toy)
        upstream = UpstreamFile(FILE, server.url("/toy/toy.npz"), expected)
        know_less(monkeypatch, files=(upstream,))
        cgnn.ok("data", "fetch", "toy")
        write_toy(mirror, compressed=True)
        line = cgnn.fails(BAD_DATA, "data", "fetch", "toy", "--data", "fresh")
    assert expected in line and sha256_of(toy) in line and not Path("fresh", "toy").exists()


def test_a_quota_page_of_google_drive(
    cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, files=(UpstreamFile(FILE, drive="abc"),))
    with serve(mirror, {"/toy/toy.npz": [HTML]}) as server:
        monkeypatch.setattr(locating, "drive_address", lambda file_id: server.url("/toy/toy.npz"))
        line = cgnn.fails(NOT_HAD, "data", "fetch", "toy")
        assert fetching.drive_page("abc") in line and str(tmp_path / "data" / "toy" / FILE) in line
        cgnn.ok("data", "fetch", "toy")


def test_one_failure_does_not_stop_the_others(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    result = cgnn("data", "fetch", "roman-empire", "toy", "--mirror", mirror)
    assert result.code == NOT_HAD and "roman_empire_directed.npz" in result.err and result.out == ""
    assert (tmp_path / "data" / "toy" / FILE).is_file()


def test_fetch_copies_from_a_mirror_folder(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    cgnn.ok("data", "fetch", "toy", "--mirror", mirror)
    toy.unlink()
    cgnn.ok("data", "verify", "toy")
    cgnn.ok("data", "show", "toy", "--offline")


def test_offline_names_the_command_and_the_files(cgnn: FrontDoor) -> None:
    for name, benchmark in BENCHMARKS.items():
        for command in (("run", "--dataset", name), ("data", "fetch", name), ("data", "show", name)):
            line = cgnn.fails(NOT_HAD, *command, "--offline")
            assert f"`cgnn data fetch {name}`" in line and all(file.name in line for file in benchmark.files)


def test_a_mirror_without_the_file(cgnn: FrontDoor, mirror: Path) -> None:
    mirror.mkdir()
    line = cgnn.fails(NOT_HAD, "data", "show", "citeseer", "--mirror", mirror)
    assert str(mirror) in line and "citeseer.npz" in line
    assert "neither a folder" in cgnn.fails(2, "data", "show", "citeseer", "--mirror", "ftp://nowhere")


def test_bad_use_of_fetch(cgnn: FrontDoor) -> None:
    assert "--all" in cgnn.fails(2, "data", "fetch")
    assert "squirrel" in cgnn.fails(2, "data", "fetch", "demo")


def test_verify(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    assert cgnn.ok("data", "verify", "--json").json["summary"]["datasets"] == []
    (row,) = cgnn.ok("data", "verify", "--mirror", mirror, "--json").json["summary"]["datasets"]
    assert (row["name"], row["state"], row["verified"]) == ("toy", "verified", "checksum and content")
    write_toy(mirror, shift=1)
    assert "not verified: toy" in cgnn.fails(BAD_DATA, "data", "verify", "--mirror", mirror)
    (row,) = cgnn.ok("data", "verify", "--mirror", mirror, "--accept-standin", "--json").json["summary"]["datasets"]
    assert row["state"] == "stand-in"
    assert "citeseer.npz" in cgnn.fails(NOT_HAD, "data", "verify", "citeseer")
    write_tiny_arxiv(mirror)
    (mirror / "arxiv" / "arxiv.zip").unlink()
    rows = cgnn.ok("data", "verify", "--mirror", mirror, "--accept-standin", "--json").json["summary"]["datasets"]
    assert {row["name"]: row["state"] for row in rows} == {"toy": "stand-in", "arxiv-year": "incomplete"}


def test_list_says_what_is_on_disk(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    def listed(*options: object) -> dict[str, Any]:
        rows = cgnn.ok("data", "list", "--json", *options).json["summary"]["datasets"]
        return {row["name"]: row for row in rows}

    assert listed()["toy"]["on_disk"] == []
    assert listed("--mirror", mirror)["toy"]["on_disk"] == ["files"]
    cgnn.ok("data", "show", "toy", "--mirror", mirror, "--undirected")
    cgnn.ok("data", "show", "toy", "--mirror", mirror)
    rows = listed()
    assert rows["toy"]["on_disk"] == ["store"] and "toy+undirected" not in rows
    assert {"demo", *BENCHMARKS} <= set(rows)


def test_force_loses_nothing(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    target = tmp_path / "data" / "toy" / FILE
    cgnn.ok("data", "fetch", "toy", "--mirror", mirror)
    before = target.read_bytes()
    (target.parent / f".{FILE}.new").write_bytes(b"left by a killed process")
    with serve(mirror, {"/toy/toy.npz": [Fault(status=404), Fault(body=b"PK damaged")]}) as server:
        for code in (NOT_HAD, BAD_DATA):
            cgnn.fails(code, "data", "fetch", "toy", "--force", "--mirror", server.url(""))
            assert target.read_bytes() == before and [path.name for path in target.parent.iterdir()] == [FILE]
        cgnn.ok("data", "fetch", "toy", "--force", "--mirror", server.url(""))
    assert "--offline forbids it" in cgnn.fails(2, "data", "fetch", "toy", "--force", "--offline")


def test_a_stand_in_never_replaces_a_genuine_file(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    target = tmp_path / "data" / "toy" / FILE
    cgnn.ok("data", "fetch", "toy", "--mirror", mirror)
    before = target.read_bytes()
    write_toy(mirror, shift=1)
    cgnn.ok("data", "fetch", "toy", "--mirror", mirror, "--accept-standin", "--force")
    assert target.read_bytes() == before
    target.write_bytes(toy.read_bytes())  # a stand-in that came there in some other way
    line = cgnn.fails(BAD_DATA, "data", "show", "toy", "--offline")
    assert "`cgnn data fetch toy --force`" in line
    write_toy(mirror)
    cgnn.ok("data", "fetch", "toy", "--force", "--mirror", mirror)
    assert target.read_bytes() == before


def write_tiny_arxiv(mirror: Path) -> None:
    layout = LAYOUTS["ogb"]
    (mirror / "arxiv").mkdir(parents=True)
    layout.write(mirror / "arxiv", layout.parts())


def test_whole_files_stay_when_a_later_one_fails(cgnn: FrontDoor, mirror: Path, tmp_path: Path) -> None:
    write_tiny_arxiv(mirror)
    with serve(mirror, {"/arxiv/arxiv-year-splits.npy": [Fault(status=404)]}) as server:
        fetch = ("data", "fetch", "arxiv-year", "--accept-standin", "--mirror", server.url(""))
        cgnn.fails(NOT_HAD, *fetch)
        assert [path.name for path in (tmp_path / "data" / "arxiv").iterdir()] == ["arxiv.zip"]
        cgnn.ok(*fetch)
    asked = [request.path for request in server.requests]
    assert asked == ["/arxiv/arxiv.zip", "/arxiv/arxiv-year-splits.npy", "/arxiv/arxiv-year-splits.npy"]


def test_many_processes_fetch_once(mirror: Path, tmp_path: Path) -> None:
    write_tiny_arxiv(mirror)
    with serve(mirror) as server:
        options = ("--mirror", server.url(""), "--accept-standin", "--json")
        running = [start("data", "show", "arxiv-year", *options) for _ in range(4)]
        ended = [finish(process) for process in running]
    assert [process.code for process in ended] == [0] * 4, ended
    assert len({process.json["key"] for process in ended}) == 1
    assert sorted(request.path for request in server.requests) == ["/arxiv/arxiv-year-splits.npy", "/arxiv/arxiv.zip"]
    assert sorted(path.name for path in (tmp_path / "data" / "arxiv").iterdir()) == [
        "arxiv-year-splits.npy",
        "arxiv.zip",
    ]


def test_waiting_for_another_process_has_a_limit(cgnn: FrontDoor, served: Server, tmp_path: Path) -> None:
    with FileLock(tmp_path / "data" / ".locks" / "toy.lock"):
        line = cgnn.fails(6, "data", "fetch", "toy", "--mirror", served.url(""), "--lock-timeout", 0.01)
    assert "fetching toy" in line and served.requests == []


def test_a_dry_run_downloads_nothing(cgnn: FrontDoor, served: Server, tmp_path: Path) -> None:
    rows = cgnn.ok("rewire", "--dataset", "toy", "--dry-run", "--mirror", served.url(""), "--json").json["stages"]
    assert [row["cache"] for row in rows] == ["miss", "miss"]
    assert "dry run" in cgnn.fails(
        NOT_HAD, "rewire", "--dataset", "toy", "--undirected", "--dry-run", "--mirror", served.url("")
    )
    assert served.requests == [] and left_behind(tmp_path) == []


def test_a_complete_mirror_needs_no_data_folder(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home(name: str) -> Path:
        raise RuntimeError("no home folder")

    monkeypatch.delenv("CGNN_DATA")
    monkeypatch.setattr("platformdirs.user_data_path", no_home)
    cgnn.ok("data", "show", "toy", "--mirror", mirror)
    assert "give an absolute --data" in cgnn.fails(2, "data", "fetch", "toy")


def test_a_data_folder_that_cannot_be_written(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("CGNN_DATA", "file")
    assert "cannot be written" in cgnn.fails(7, "data", "fetch", "toy", "--mirror", mirror)


def test_published_homophily_is_checked_too(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, sha256=True, content=True, paper={"homophily": 0.99})
    assert "homophily 0.273 (expected 0.99)" in cgnn.fails(BAD_DATA, "data", "show", "toy", "--mirror", mirror)


def test_another_file_in_place_of_one_without_checksum_is_read_again(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, sha256=True, content=True)
    keys = []
    for shift in (0, 1):
        write_toy(mirror, shift=shift)
        keys.append(cgnn.ok("data", "show", "toy", "--mirror", mirror, "--json").json["key"])
    assert keys[0] != keys[1]


# Archives


def bad_zip(path: Path, name: str, *, link: bool = False, oversized: bool = False) -> None:
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo(name)
        if link:
            member.external_attr = 0o120777 << 16
        archive.writestr(member, "x")
    if oversized:  # declare a size that no member of so few bytes can have
        data = bytearray(path.read_bytes())
        central = data.index(b"PK\x01\x02")
        data[central + 24 : central + 28] = (1 << 30).to_bytes(4, "little")
        path.write_bytes(data)


@pytest.mark.parametrize(
    "fault", [{"name": "../../evil"}, {"name": "link", "link": True}, {"name": "big", "oversized": True}]
)
def test_hostile_archives_from_the_web_are_refused(
    cgnn: FrontDoor, mirror: Path, tmp_path: Path, fault: dict[str, Any]
) -> None:
    bad_zip(mirror / "arxiv" / "arxiv.zip", **fault)
    (mirror / "arxiv" / "arxiv-year-splits.npy").write_bytes(b"never read")
    with serve(mirror) as server:
        line = cgnn.fails(BAD_DATA, "data", "show", "arxiv-year", "--mirror", server.url(""), "--accept-standin")
    assert "arxiv.zip" in line and fault["name"].split("/")[-1] in line
    assert left_behind(tmp_path) == [] and not list(tmp_path.rglob("evil"))
