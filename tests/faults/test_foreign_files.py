"""A store in a folder of other things: what is not provably cgnn's is never moved, removed, replaced or changed."""

import json
import os
import shutil
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from cgnn_cli.pipeline import STAGES
from cgnn_cli.store.store import Store
from tests.faults.conftest import write_graph
from tests.faults.processes import COMMUTE, TINY, artifacts_of, run
from tests.front_door import FrontDoor

DIGEST = "0123456789abcdef" * 2  # what other programs call their files, too
LONG_AGO = time.time() - 100 * 24 * 3600


def write_foreign(folder: Path) -> dict[Path, bytes]:
    """Other people's files at every place where cgnn has its own, a year old; their content."""
    texts = [f"{stage}/{name}" for stage in STAGES for name in (f"{DIGEST}.json", "metrics.json", "a1.json", "a1.h5")]
    texts += [f"{stage}/{DIGEST}.npz" for stage in STAGES]
    texts += [
        f"runs/{name}/{file}" for name in ("exp1", DIGEST) for file in ("events.out", "metrics.jsonl", "w/model.h5")
    ]
    texts += [f"{place}/{name}.h5" for place in ("partial", "quarantine") for name in ("model", DIGEST)]
    texts += [f"datasets/{DIGEST}.json", "latest/mine.json", "locks/mine.lock", f"locks/{DIGEST}.lock", "mine.tmp"]
    texts += [f"locks/fit-{DIGEST}.lock", f"locks/fit-{DIGEST}.owner", ".notes.0123456789ab.tmp", "train/.x.tmp"]
    for name in texts:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"text": "mine"}))
    for stage in STAGES:
        with h5py.File(folder / stage / f"{DIGEST}.h5", "w") as file:
            file["weights"] = np.arange(5.0)
        np.savez(folder / stage / "a1.npz", weights=np.arange(5.0))
    (folder / "eval" / f"{'f' * 32}.h5").mkdir()
    os.mkfifo(folder / "dilap" / f"{'e' * 32}.h5")
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for path in files:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return files


def assert_untouched(files: dict[Path, bytes], folder: Path) -> None:
    assert {path: path.read_bytes() for path in files if path.is_file()} == files
    assert all(path.stat().st_mtime == pytest.approx(LONG_AGO) for path in files)
    assert (folder / "eval" / f"{'f' * 32}.h5").is_dir() and (folder / "dilap" / f"{'e' * 32}.h5").is_fifo()


def test_f01_no_command_moves_or_removes_the_files_of_others(cgnn: FrontDoor) -> None:
    folder, store = Path("d").absolute(), ("--store", "d")
    theirs = write_foreign(folder)
    edges, _ = write_graph(Path())
    cgnn.ok("data", "import", "tiny", "--edges", edges, *store)
    for rank in (2, 3):
        made = cgnn.ok("commute", "--dataset", "tiny", "--rank", rank, "--format", "npz", *store, "--json").json
    cgnn.ok("cache", "pack", made["key"], "-o", "pack.tar", *store)
    cgnn.ok("cache", "unpack", "pack.tar", *store)
    verified = cgnn.ok("cache", "verify", *store, "--json").json
    results = [row["result"] for row in verified["summary"]["verified"]]
    assert (results.count("not cgnn's"), results.count("ok")) == (len(STAGES) + 2, 5)
    assert sum("is not cgnn's, and stays as it is" in note for note in verified["warnings"]) == len(STAGES) + 2
    cgnn.ok("cache", "ls", *store)
    removed = cgnn.ok("cache", "gc", "--quarantine", *store, "--json").json["summary"]["removed"]
    assert [row["what"] for row in removed].count("artifact") == 1, "the older commute times are cgnn's own"
    assert_untouched(theirs, folder)
    cgnn.fails(4, "cache", "path", DIGEST, *store)
    cgnn.fails(4, "show", DIGEST, *store)
    cgnn.fails(4, "cache", "pack", DIGEST, "-o", "no.tar", *store)
    assert_untouched(theirs, folder)


def test_f01_the_shortest_way_to_see_it(cgnn: FrontDoor) -> None:
    for name in ("d/runs/exp1/events.out", "d/train/metrics.json"):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text("x")
    cgnn.ok("cache", "gc", "--store", "d")
    assert Path("d/runs/exp1/events.out").exists() and Path("d/train/metrics.json").exists()


def test_f01_metrics_go_and_what_others_put_beside_them_stays(full: Path, cgnn: FrontDoor) -> None:
    (fit,) = artifacts_of(full, "fit")
    runs = full / "runs" / fit.stem
    (runs / "notes.txt").write_text("mine")
    (runs / "events.out.tfevents.1.host").write_text("of --tensorboard")
    linked = full / "runs" / ("d" * 32)
    linked.symlink_to(shutil.copytree(runs, Path("elsewhere").absolute()))
    for stage in ("fit", "train", "eval"):
        shutil.rmtree(full / stage)
    cgnn.ok("cache", "gc", "--store", full)
    assert [path.name for path in runs.iterdir()] == ["notes.txt"]
    assert len(list(Path("elsewhere").iterdir())) == 3, "a link is not followed"


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
def test_f01_a_foreign_file_in_the_place_of_a_result_is_not_replaced(
    force: tuple[str, ...], full: Path, cgnn: FrontDoor
) -> None:
    (path,) = artifacts_of(full, "commute")
    path.unlink()
    with h5py.File(path, "w") as file:
        file["weights"] = np.arange(5.0)
    content = path.read_bytes()
    assert f"{path} is not " in cgnn.fails(4, *COMMUTE, *force)
    assert path.read_bytes() == content


def test_f01_foreign_records_are_not_replaced(cgnn: FrontDoor) -> None:
    for name in ("datasets/mine.json", "latest/graph.json"):
        path = Path("store", name)
        path.parent.mkdir(parents=True)
        path.write_text('{"title": "mine"}')
    edges, _ = write_graph(Path())
    error = cgnn.fails(4, "data", "import", "mine", "--edges", edges, "--store", "store")
    assert "datasets/mine.json is not a record of cgnn's" in error
    cgnn.ok("rewire", "--dataset", "demo", "--store", "store")
    for name in ("datasets/mine.json", "latest/graph.json"):
        assert Path("store", name).read_text() == '{"title": "mine"}'


@pytest.mark.parametrize("name", ["partial/{}.h5", "runs/{}/metrics.jsonl"])
@pytest.mark.parametrize("way", ["", "--restart"])
def test_f01_what_lies_in_the_place_of_a_saved_state_is_not_replaced(
    name: str, way: str, full: Path, cgnn: FrontDoor
) -> None:
    (fit,), (rewired,) = artifacts_of(full, "fit"), artifacts_of(full, "rewire")
    for stage in ("fit", "train", "eval", "rewire"):
        shutil.rmtree(full / stage)
    path, other = full / name.format(fit.stem), full / name.format(rewired.stem)
    for place in (path, other):  # a stage that saves no state has nothing to remove
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('{"text": "mine"}\n')
    command = ("train", *TINY, "--solver", "exact", "--epochs", 1, "--hidden", 2, "--split", 0, "--snapshot-seconds", 0)
    error = cgnn.fails(4, *command, *filter(None, [way]))
    assert f"{path} is in the place of what this run saves, is not its own, and stays as it is" in error
    assert {path.read_text(), other.read_text()} == {'{"text": "mine"}\n'}
    path.unlink()
    cgnn.ok(*command)
    assert other.read_text() == '{"text": "mine"}\n'


def test_f01_a_record_of_any_size_is_not_read_whole(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cgnn_cli.store.disk.MOST_JSON", 1 << 16)
    path = Path("store/datasets/mine.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"content": "x" * (1 << 16), "key": "x"}))
    edges, _ = write_graph(Path())
    error = cgnn.fails(4, "data", "import", "mine", "--edges", edges, "--store", "store")
    assert "datasets/mine.json is not a record of cgnn's" in error
    path.unlink()
    path.symlink_to("/dev/zero")
    cgnn.ok("data", "import", "mine", "--edges", edges, "--store", "store")


def test_f01_a_foreign_copy_is_not_replaced(full: Path, cgnn: FrontDoor) -> None:
    copy = artifacts_of(full, "commute")[0].with_suffix(".npz")
    np.savez(copy, weights=np.arange(5.0))
    content = copy.read_bytes()
    assert "is not a copy that cgnn wrote" in cgnn.fails(4, *COMMUTE, "--format", "npz")
    assert copy.read_bytes() == content


# --- quarantine ------------------------------------------------------------------------------------------------------


def test_quarantine_is_emptied_only_when_asked_for_by_name(full: Path, cgnn: FrontDoor) -> None:
    (path,) = artifacts_of(full, "commute")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9])
    cgnn.fails(5, "cache", "verify", "--store", full)
    (moved,) = (full / "quarantine").iterdir()
    result = cgnn.ok("cache", "gc", "--store", full, "--json").json
    assert moved.exists() and result["summary"]["quarantined"] == 1
    assert f"1 damaged file in {moved.parent} stay" in result["warnings"][0]
    assert "`cgnn cache gc --quarantine`" in result["warnings"][0]
    cgnn.ok("cache", "gc", "--quarantine", "--dry-run", "--store", full)
    assert moved.exists()
    result = cgnn.ok("cache", "gc", "--quarantine", "--store", full, "--json").json
    assert not moved.exists() and (result["summary"]["quarantined"], result["warnings"]) == (0, [])


def test_a_damaged_imported_graph_says_where_it_is_and_what_to_do(fresh: Path, cgnn: FrontDoor) -> None:
    (path,) = artifacts_of(fresh, "graph")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9])
    result = cgnn("rewire", *TINY)
    (moved,) = (fresh / "quarantine").iterdir()
    (warning,) = [line for line in result.err.splitlines() if line.startswith("warning: ")]
    error = result.err.splitlines()[-1]
    assert warning.startswith(f"warning: damaged cache entry moved to {moved}: ")
    assert "import it again with `cgnn data import tiny ...`" in warning
    assert result.code == 4 and f"what was there is now {moved} (import it again" in error
    cgnn.ok("cache", "gc", *TINY[2:])
    assert moved.exists()


# --- links -----------------------------------------------------------------------------------------------------------


def places_written(store: Path) -> list[Path]:
    """Where a training writes, but for temporaries, whose names cannot be known before."""
    results = [path for stage in ("commute", "fit") for path in artifacts_of(store, stage)]
    locks = [
        store / "locks" / f"{path.parent.name}-{path.stem}{end}" for path in results for end in (".lock", ".owner")
    ]
    latest = [store / "latest" / f"{stage}.json" for stage in ("commute", "train")]
    return [*locks, *latest, *(path.with_suffix(".json") for path in results)]


def test_f16_nothing_is_written_through_a_symbolic_link(full: Path, payloads: dict[str, str], cgnn: FrontDoor) -> None:
    command = ("train", *TINY, "--solver", "exact", "--epochs", 1, "--hidden", 2, "--split", 0, "--snapshot-seconds", 0)
    places = places_written(full)
    for stage in ("commute", "fit", "train", "eval"):
        shutil.rmtree(full / stage)
    victim = Path("victim")
    victim.write_text("precious")
    victim.chmod(0o600)
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(victim.absolute())
    made = run(*command, "--json").json
    assert (made["cache"], victim.read_text(), victim.stat().st_mode & 0o777) == ("miss", "precious", 0o600)
    assert [place for place in places if place.is_symlink() and place.parent.name != "latest"] == []
    Store(full).load("commute", artifacts_of(full, "commute")[0].stem)


def test_f16_metrics_that_are_a_link_are_refused(full: Path, cgnn: FrontDoor) -> None:
    (fit,) = artifacts_of(full, "fit")
    metrics, victim = full / "runs" / fit.stem / "metrics.jsonl", Path("victim")
    victim.write_text('{"epoch": 1, "loss": 1}\n')
    metrics.unlink()
    metrics.symlink_to(victim.absolute())
    command = ("train", *TINY, "--solver", "exact", "--epochs", 1, "--hidden", 2, "--split", 0, "--force")
    error = cgnn.fails(7, *command)
    assert f"{metrics} is a symbolic link, through which nothing is written" in error
    for stage in ("fit", "train", "eval"):
        shutil.rmtree(full / stage)
    cgnn.ok("cache", "gc", "--store", full)
    assert metrics.is_symlink() and victim.read_text() == '{"epoch": 1, "loss": 1}\n'


def test_f16_a_link_to_an_artifact_keeps_the_mode_of_its_target(full: Path, cgnn: FrontDoor) -> None:
    (path,) = artifacts_of(full, "commute")
    mine = Path("mine.h5").absolute()
    shutil.move(path, mine)
    mine.chmod(0o640)
    path.symlink_to(mine)
    path.with_suffix(".json").unlink()
    cgnn.ok("cache", "verify", "--store", full)
    assert mine.stat().st_mode & 0o777 == 0o640
