"""Odd surroundings of a process, and names that are not UTF-8: it works, or says what is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.imports import RING, SHORT
from tests.faults.processes import finish, start
from tests.front_door import FrontDoor, run_process


@pytest.mark.parametrize("threads", [1, 2])
def test_case_44_two_processes_give_the_same_bits(threads: int) -> None:
    payloads = set()
    for store, fresh in (("first", True), ("second", False)):
        options = ("--dataset", "demo", "--split", 0, "--epochs", 5, "--threads", threads)
        result = run_process("train", *options, "--store", store, "--json", "--quiet", fresh=fresh)
        assert result.returncode == 0, result
        record = Path(json.loads(result.stdout)["artifact"]).with_suffix(".json")
        payloads.add(json.loads(record.read_text())["header"]["payload"])
    assert len(payloads) == 1


ODD_NAMES = ["with space", "ünïcödé-目录", "new\nline", "quote'\"$HOME", "-dash"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_case_45_odd_folder_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(name).absolute()
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "edges.csv").write_text(RING)
    for arguments in (("data", "import", "mine", "--edges", folder / "edges.csv"), ("commute", "--dataset", "mine")):
        result = run_process(*arguments, "--store", folder / "store")
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
    arguments = ("data", "import", "mine", "--edges", "kanten.csv")
    result = finish(start(*arguments, environment=environment, fresh=True))
    assert result.code == (2 if "CGNN_STORE" in environment else 0), result
    assert "Traceback" not in result.err


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


@pytest.fixture
def latin(ring: None) -> str:
    """A name that is not UTF-8, as Python takes it from the command line; there is a file of edges of that name."""
    name = os.fsdecode(b"k\xe4nten")
    try:
        Path("edges.csv").rename(f"{name}.csv")
    except OSError:
        pytest.skip("this disk takes only UTF-8")
    return name


def test_f15_files_and_stores_with_names_that_are_not_utf8(cgnn: FrontDoor, latin: str) -> None:
    store = ("--store", latin)
    files = ("--edges", f"{latin}.csv", "--labels", "labels.csv", "--split-ratio", "1/1/1")
    made = cgnn.ok("data", "import", "mine", *files, *store, "--json")
    assert made.json["artifact"].startswith(str(Path(latin).absolute())) and r"k\xe4nten.csv" in made.err
    train = ("run", "--dataset", "mine", *SHORT, "--split", 0, *store, "--json")
    assert (cgnn.ok(*train).json["cache"], cgnn.ok(*train).json["cache"]) == ("miss", "hit")
    key = cgnn.ok("commute", "--dataset", "mine", *store, "--json").json["key"]
    header = cgnn.ok("show", key, *store, "--json").json["header"]
    assert r"--store 'k\xe4nten'" in header["provenance"]["command"]
    assert r"k\xe4nten" in cgnn.ok("show", key, *store).out
    cgnn.ok("explain", "a", *store, "--figure", f"{latin}.svg")
    cgnn.ok("export", key, "--to", "parquet", "--output", f"{latin}.parquet", *store, "--json")
    cgnn.ok("cache", "pack", key, "--output", f"{latin}.tar", *store, "--json")
    cgnn.ok("cache", "unpack", f"{latin}.tar", "--store", f"{latin}2")
    cgnn.ok("cache", "verify", *store)
    report = ("report", "--output", latin, "--title", latin, "--format", "html,md,tex,csv,json", *store, "--json")
    assert r"k\xe4nten" not in cgnn.ok(*report).out
    assert json.loads(Path(latin, "report.json").read_text())
    sweep = ("sweep", "--dataset", "mine", "--set", "train.hidden=2,3", "--epochs", 1, "--split", 0, *store)
    cgnn.ok(*sweep, "--record", f"{latin}.toml", "--json")
    cgnn.ok("train", "--dataset", "mine", "--preset", f"{latin}.toml", "--split", 0, *store, "--json")


def test_f15_names_that_are_not_utf8_in_errors(cgnn: FrontDoor, latin: str) -> None:
    missing = f"no{latin}"
    for code, arguments in (
        (3, ("data", "import", "mine", "--edges", missing)),
        (2, ("data", "import", missing, "--edges", f"{latin}.csv")),
        (2, ("rewire", "--dataset", missing)),
        (2, ("config", "show", "--config", missing)),
        (2, ("train", "--dataset", "demo", "--preset", f"{missing}.toml")),
        (4, ("show", missing)),
        (4, ("commute", "--input", missing)),
        (2, (missing,)),
        (2, ("rewire", f"--{missing}")),
        (2, ("train", "--dataset", "demo", "--set", f"train.lr={missing}")),
    ):
        assert "nok\\" in (line := cgnn.fails(code, *arguments)) and line.isascii()


def test_f15_standard_output_has_the_bytes_of_a_name(latin: str) -> None:
    command = [sys.executable, "-m", "cgnn_cli", "rewire", "--dataset", "demo", "--store", latin]
    strict = {
        **os.environ,
        "PYTHONIOENCODING": "utf-8:strict",
    }  # as where the language is set; without one Python escapes
    result = subprocess.run(command, capture_output=True, check=False, env=strict)
    assert result.returncode == 0 and Path(os.fsdecode(result.stdout.rstrip(b"\n"))).exists()


def test_case_45_markup_in_names(cgnn: FrontDoor, ring: None) -> None:
    Path("edges.csv").rename("[red]edges.csv")
    said = cgnn.ok("data", "import", "mine", "--edges", "[red]edges.csv", "--store", "[/red]").err
    assert "[red]edges.csv: no header" in said
    assert "[/nix]" in cgnn.fails(2, "rewire", "--dataset", "[/nix]")


def test_case_45_very_long_paths(cgnn: FrontDoor) -> None:
    deep = Path(*["a-rather-long-folder-name-number-" + str(n) for n in range(30)])
    cgnn.ok("rewire", "--dataset", "demo", "--store", deep)
    assert "xxx" in cgnn.fails(7, "rewire", "--dataset", "demo", "--store", "x" * 5000)
