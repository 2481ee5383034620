"""Where the files of benchmark graphs are looked for and put."""

from pathlib import Path

import pytest

from cgnn_cli.datasets.catalogue import BENCHMARKS, UpstreamFile
from cgnn_cli.datasets.upstream import fetching, locating
from tests.datasets.toy_benchmark import FILE, HTML, NOT_HAD, know_less
from tests.front_door import FrontDoor
from tests.loopback import Server, serve

pytestmark = pytest.mark.usefixtures("own_data")


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


def test_a_quota_page_of_google_drive(
    cgnn: FrontDoor, toy: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_less(monkeypatch, files=(UpstreamFile(FILE, drive="abc"),))
    with serve(mirror, {"/toy/toy.npz": [HTML]}) as server:
        monkeypatch.setattr(locating, "drive_address", lambda file_id: server.url("/toy/toy.npz"))
        line = cgnn.fails(NOT_HAD, "data", "fetch", "toy")
        assert fetching.drive_page("abc") in line and str(tmp_path / "data" / "toy" / FILE) in line
        cgnn.ok("data", "fetch", "toy")


def test_case_30_offline_names_the_command_and_the_files(cgnn: FrontDoor) -> None:
    for name, benchmark in BENCHMARKS.items():
        for command in (("run", "--dataset", name), ("data", "fetch", name), ("data", "show", name)):
            line = cgnn.fails(NOT_HAD, *command, "--offline")
            assert f"`cgnn data fetch {name}`" in line and all(file.name in line for file in benchmark.files)


def test_a_mirror_without_the_file(cgnn: FrontDoor, mirror: Path) -> None:
    mirror.mkdir()
    line = cgnn.fails(NOT_HAD, "data", "show", "citeseer", "--mirror", mirror)
    assert str(mirror) in line and "citeseer.npz" in line
    assert "neither a folder" in cgnn.fails(2, "data", "show", "citeseer", "--mirror", "ftp://nowhere")


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
