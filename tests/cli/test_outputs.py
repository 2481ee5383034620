"""Files that the user asks for: links are followed, pipes and devices written to, a full disk said with 7."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.errors import ResourceError
from cgnn_cli.execution.messages import decode_error, encode_error
from cgnn_cli.execution.sharing import SharedArrays
from cgnn_cli.graph import Graph
from tests.front_door import FrontDoor

LIMIT = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))"


@pytest.fixture
def key(cgnn: FrontDoor) -> str:
    return str(cgnn.ok("rewire", "--dataset", "demo", "--json").json["key"])


@pytest.fixture
def plain(cgnn: FrontDoor, key: str) -> bytes:
    """What an export writes."""
    cgnn.ok("export", key, "--to", "csv", "--output", "plain.csv")
    return Path("plain.csv").read_bytes()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 64 KiB."""
    folder = Path("small").absolute()
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def in_a_shell(script: str) -> subprocess.CompletedProcess[bytes]:
    script = script.replace("cgnn ", f'"{sys.executable}" -m cgnn_cli ', 1)
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=120)


# --- links, pipes, devices -------------------------------------------------------------------------------------------


def test_f05_links_stay_links_and_what_they_lead_to_is_written(cgnn: FrontDoor, key: str, plain: bytes) -> None:
    Path("there").mkdir()
    Path("there/old.csv").write_text("old")
    Path("there/old.csv").chmod(0o640)
    for name, leads_to in (("old", "there/old.csv"), ("new", "there/new.csv"), ("twice", "old")):
        os.symlink(leads_to, name)
        cgnn.ok("export", key, "--to", "csv", "--output", name)
        assert os.readlink(name) == leads_to and Path(name).read_bytes() == plain
    assert Path("there/old.csv").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir("there")) == ["new.csv", "old.csv"]
    os.symlink("nowhere/x.csv", "broken")
    assert "broken" in cgnn.fails(2, "export", key, "--to", "csv", "--output", "broken")


def test_f05_a_fifo_is_written_to_and_stays(cgnn: FrontDoor, key: str) -> None:
    os.mkfifo("pipe")
    for command in (("export", key, "--to", "csv"), ("cache", "pack", key)):
        read: list[bytes] = []
        reader = threading.Thread(target=lambda to=read: to.append(Path("pipe").read_bytes()))
        reader.start()
        assert cgnn.ok(*command, "--output", "pipe").path == "pipe"
        reader.join(240)
        cgnn.ok(*command, "--output", "file")
        assert read == [Path("file").read_bytes()] and Path("pipe").is_fifo()


@pytest.mark.parametrize("command", ["export", "cache pack"])
def test_f05_a_device_is_written_to_and_never_replaced(cgnn: FrontDoor, key: str, command: str) -> None:
    try:
        os.mknod("null", 0o020666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("needs the right to make devices")
    cgnn.ok(*command.split(), key, *(("--to", "csv") if command == "export" else ()), "--output", "null")
    assert Path("null").is_char_device()


def test_f05_descriptors_and_standard_output(cgnn: FrontDoor, key: str, plain: bytes) -> None:
    export = f"cgnn export {key} --to csv --quiet --output"
    assert in_a_shell(f"{export} >(cat > got) && wait $!").returncode == 0 and Path("got").read_bytes() == plain
    appended = in_a_shell(f"echo before > file; {export} /dev/stdout >> file")
    assert appended.returncode == 0 and Path("file").read_bytes() == b"before\n" + plain
    os.symlink("/dev/fd/7", "seven")
    assert in_a_shell(f"{export} seven 7> file").stdout == b"seven\n"
    assert Path("file").read_bytes() == plain


def test_f05_what_cannot_be_written_to_is_refused_first(cgnn: FrontDoor, key: str) -> None:
    export = ("export", key, "--to", "csv", "--output")
    assert "not open for writing" in cgnn.fails(2, *export, "/dev/fd/99")
    assert "not open for writing" in in_a_shell(f"cgnn {' '.join(export)} /dev/stdout >&-").stderr.decode()
    assert "both fill standard output" in cgnn.fails(2, *export, "/dev/stdout", "--json")
    assert "it is a folder" in cgnn.fails(2, *export, ".")
    assert "no such folder" in cgnn.fails(2, *export, "missing/x.csv")


# --- full disks ------------------------------------------------------------------------------------------------------


def test_f06_a_full_disk_behind_every_output(cgnn: FrontDoor, key: str, small_disk: Path) -> None:
    cgnn.ok("eval", "--dataset", "demo", "--model", "mlp", "--epochs", 1, "--split", 0)
    trained = next(Path(".cgnn/train").glob("*.h5"))
    (small_disk / "filling").write_bytes(b"." * 50_000)
    for command in (
        ("export", key, "--to", "csv", "--output", small_disk / "x.csv"),
        ("cache", "pack", key, "--output", small_disk / "x.tar"),
        ("predict", "--input", trained, "--output", small_disk / "x.csv"),
        ("report", "--output", small_disk / "report"),
    ):
        assert "no room for" in cgnn.fails(7, *command), command
        assert {path.name for path in small_disk.iterdir()} <= {"filling", "report"}, command
    assert "no room for /dev/full" in cgnn.fails(7, "export", key, "--to", "csv", "--output", "/dev/full")


def test_case_04_an_output_that_outgrows_its_quota_leaves_the_old_one(key: str) -> None:
    Path("x.csv").write_text("old")
    code = f"{LIMIT}\nfrom cgnn_cli.commands.main import main\nmain()"
    command = [sys.executable, "-c", code, "export", key, "--to", "csv", "--output", "x.csv"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (7, "") and result.stderr.startswith("error: no room for x.csv")
    assert Path("x.csv").read_text() == "old" and not list(Path().glob(".*.tmp"))


def test_f13_a_full_disk_behind_temporary_files(small_disk: Path) -> None:
    train = "cgnn train --dataset demo --epochs 2 --hidden 2 --split 0 --split 1 --jobs 2 --quiet"
    result = in_a_shell(f"export TMPDIR={small_disk}; {train}")
    assert (result.returncode, result.stdout) == (7, b""), result
    (line,) = result.stderr.decode().splitlines()
    assert line.startswith("error: no room for temporary files in") and "TMPDIR" in line
    assert not list(small_disk.iterdir())


def test_f13_a_worker_that_cannot_share_its_arrays_says_so(small_disk: Path) -> None:
    graph = demo_graph()
    with pytest.raises(ResourceError, match="no room for temporary files") as full:
        SharedArrays(small_disk).get("key", Graph, lambda: (graph.to_elements(), {}))
    assert isinstance(decode_error(encode_error(full.value)), ResourceError) and not list(small_disk.iterdir())
    assert isinstance(decode_error(encode_error(OSError(errno.ENOSPC, "No space left on device"))), ResourceError)
