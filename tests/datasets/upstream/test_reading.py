"""Benchmark graphs through the front door: fetched, verified, refused, or taken as stand-ins."""

import dataclasses
import threading
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from cgnn_cli.configs import SourceConfig
from cgnn_cli.datasets.catalogue import BENCHMARKS, UpstreamFile
from cgnn_cli.datasets.upstream import fetching, reading
from cgnn_cli.datasets.upstream.fetching import FetchOptions
from cgnn_cli.datasets.upstream.locating import Nobody
from cgnn_cli.errors import EXIT_CODES, FetchError
from tests.datasets.toy_benchmark import (
    BAD_DATA,
    FILE,
    HTML,
    NOT_HAD,
    TOY,
    know_less,
    left_behind,
    sha256_of,
    write_toy,
)
from tests.datasets.upstream.readers.layouts import LAYOUTS
from tests.faults.processes import finish, start
from tests.front_door import FrontDoor
from tests.loopback import Fault, Server, serve

pytestmark = pytest.mark.usefixtures("own_data")


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


def test_a_cut_download_goes_on(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    with serve(mirror, {"/toy/toy.npz": [Fault(cut=1000), Fault(cut=500)]}) as server:
        cgnn.ok("data", "fetch", "toy", "--mirror", server.url(""))
    assert [request.range for request in server.requests] == [None, "bytes=1000-", "bytes=1500-"]


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
def test_case_30_a_failed_download_leaves_nothing(
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
    seconds = 0.2 if fault.stall else 60.0  # a busy machine may be slow to answer
    patience = ("--timeout", seconds, "--retries", 1) if "fetch" in command else ()
    if not patience:
        short = dataclasses.replace(fetching.FetchOptions(), timeout=seconds, retries=1)
        monkeypatch.setattr(reading, "FetchOptions", lambda: short)
    with serve(mirror, {"/toy/toy.npz": [fault] * 20}) as server:
        line = cgnn.fails(code, *command, "--mirror", server.url(""), *patience)
    assert words in line and "toy.npz" in line
    assert left_behind(tmp_path) == [] and not (tmp_path / "data" / "toy").exists()
    assert code in EXIT_CODES


def test_case_30_upstreams_checksum_is_checked_at_once(
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


def test_one_failure_does_not_stop_the_others(cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path) -> None:
    result = cgnn("data", "fetch", "roman-empire", "toy", "--mirror", mirror)
    assert result.code == NOT_HAD and "roman_empire_directed.npz" in result.err and result.out == ""
    assert (tmp_path / "data" / "toy" / FILE).is_file()


def test_fetch_copies_from_a_mirror_folder(cgnn: FrontDoor, toy: Path, mirror: Path) -> None:
    cgnn.ok("data", "fetch", "toy", "--mirror", mirror)
    toy.unlink()
    cgnn.ok("data", "verify", "toy")
    cgnn.ok("data", "show", "toy", "--offline")


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
    assert rows["am-photo"]["in_paper"] and not any(rows[name]["in_paper"] for name in ("demo", "texas", "toy"))


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


@pytest.mark.parametrize("works", [True, False])
def test_who_comes_second_waits(served: Server, works: bool, tmp_path: Path) -> None:
    source = SourceConfig(mirror=served.url(""), data=str(tmp_path / "data"))
    second_waits = threading.Event()
    ends: list[str | None] = []

    class Second(Nobody):
        def warn(self, message: str) -> None:
            assert "which is fetching toy" in message
            second_waits.set()

    class First(Nobody):
        def progress(self, done: int, total: int, message: str) -> None:
            if not second.ident:
                second.start()
                assert second_waits.wait(240)
                if not works:
                    raise FetchError("the first one fails", "hint")

    def run_second() -> None:
        ends.append(reading.fetch_benchmark("toy", source, FetchOptions(), Second()).verified)

    second = threading.Thread(target=run_second)
    with nullcontext() if works else pytest.raises(FetchError, match="the first one fails"):
        reading.fetch_benchmark("toy", source, FetchOptions(), First())
    second.join()
    assert ends == ["checksum"] and len(served.requests) == (1 if works else 2)
    assert [path.name for path in (tmp_path / "data" / "toy").iterdir()] == [FILE]


def test_waiting_for_another_process_has_a_limit(cgnn: FrontDoor, served: Server, tmp_path: Path) -> None:
    with FileLock(tmp_path / "data" / ".locks" / "toy.lock"):
        line = cgnn.fails(6, "data", "fetch", "toy", "--mirror", served.url(""), "--lock-timeout", 0.01)
    assert "fetching toy" in line and served.requests == []


def test_case_30_a_dry_run_downloads_nothing(cgnn: FrontDoor, served: Server, tmp_path: Path) -> None:
    rows = cgnn.ok("rewire", "--dataset", "toy", "--dry-run", "--mirror", served.url(""), "--json").json["stages"]
    assert [row["cache"] for row in rows] == ["miss", "miss"]
    assert "dry run" in cgnn.fails(
        NOT_HAD, "rewire", "--dataset", "toy", "--undirected", "--dry-run", "--mirror", served.url("")
    )
    assert served.requests == [] and left_behind(tmp_path) == []


def test_published_homophily_is_checked_too(
    cgnn: FrontDoor, toy: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, sha256=True, content=True, paper={"homophily": 0.99})
    assert "homophily 0.273 (expected 0.99)" in cgnn.fails(BAD_DATA, "data", "show", "toy", "--mirror", mirror)


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
def test_case_29_hostile_archives_from_the_web_are_refused(
    cgnn: FrontDoor, mirror: Path, tmp_path: Path, fault: dict[str, Any]
) -> None:
    bad_zip(mirror / "arxiv" / "arxiv.zip", **fault)
    (mirror / "arxiv" / "arxiv-year-splits.npy").write_bytes(b"never read")
    with serve(mirror) as server:
        line = cgnn.fails(BAD_DATA, "data", "show", "arxiv-year", "--mirror", server.url(""), "--accept-standin")
    assert "arxiv.zip" in line and fault["name"].split("/")[-1] in line
    assert left_behind(tmp_path) == [] and not list(tmp_path.rglob("evil"))
