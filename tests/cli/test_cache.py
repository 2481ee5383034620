"""`cgnn cache`: listing, verifying, freeing space, paths, and packs that travel between stores."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from filelock import FileLock

from cgnn_cli.store.store import Store
from tests.faults.conftest import LEARNING, call, write_graph
from tests.faults.processes import artifacts_of, assert_nothing_half_written, finish, start, wait_for
from tests.front_door import FrontDoor

STORE = ("--store", "store")
HOLD_PUBLISHING = """
import os, time
from cgnn_cli.store.store import Store
publish = Store.publish
def hold(store, artifact):
    open("holding", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)
    return publish(store, artifact)
Store.publish = hold
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the dataset `tiny`: an artifact of every stage, and two operators, CGNN's and the encoding's."""
    folder = tmp_path_factory.mktemp("cache")
    edges, labels = write_graph(folder)
    store = ("--store", folder / "store", "-q")
    call("data", "import", "tiny", "--edges", edges, "--labels", labels, *store)
    call("eval", "--dataset", "tiny", "--solver", "exact", *LEARNING, *store)
    return folder / "store"


@pytest.fixture
def store(template: Path) -> Store:
    """A copy of the template in the working folder."""
    shutil.copytree(template, "store")
    return Store(Path("store").absolute())


def names(store: Store) -> set[str]:
    """The artifacts of a store as `stage/key`."""
    return {f"{path.parent.name}/{path.stem}" for path in artifacts_of(store.root)}


def key_of(store: Store, stage: str) -> str:
    header = store.latest(stage)
    assert header is not None
    return header.key


def damage(path: Path) -> None:
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


# --- ls, path --------------------------------------------------------------------------------------------------------


def test_ls_lists_artifacts_with_their_dataset(cgnn: FrontDoor, store: Store) -> None:
    listed = cgnn.ok("cache", "ls", *STORE, "--json").json["summary"]
    assert {f"{row['stage']}/{row['key']}" for row in listed["artifacts"]} == names(store)
    assert all(row["datasets"] == ["tiny"] and row["made"] and row["bytes"] for row in listed["artifacts"])
    assert listed["bytes"] == sum(path.stat().st_size for path in artifacts_of(store.root))
    text = cgnn.ok("cache", "ls", *STORE)
    assert key_of(store, "commute")[:12] in text.out and "9 artifacts" in text.err


def test_ls_of_one_stage_reads_side_records_only(cgnn: FrontDoor, store: Store) -> None:
    damage(store.path("commute", key_of(store, "commute")))
    rows = cgnn.ok("cache", "ls", "--stage", "commute", *STORE, "--json").json["summary"]["artifacts"]
    assert [row["stage"] for row in rows] == ["commute"]
    cgnn.fails(2, "cache", "ls", "--stage", "laplace", *STORE)


def test_ls_counts_what_is_not_an_artifact(cgnn: FrontDoor, store: Store) -> None:
    for folder in ("partial", "quarantine"):
        (store.root / folder).mkdir(exist_ok=True)
    (store.root / "partial" / f"{'a' * 32}.h5").touch()
    (store.root / "partial" / f"{key_of(store, 'fit')}.h5").touch()
    (store.root / "quarantine" / f"graph-{'a' * 32}-1.h5").touch()
    (store.root / "graph" / ".abc.0123456789ab.cgnn.tmp").touch()
    store.path("dilap", key_of(store, "dilap")).with_suffix(".json").unlink()
    result = cgnn.ok("cache", "ls", *STORE, "--json").json
    counted = {name: value for name, value in result["summary"].items() if isinstance(value, int) and name != "bytes"}
    assert counted == {"unfinished": 1, "quarantined": 1, "temporaries": 1, "unrecorded": 1}
    assert "cache verify" in result["warnings"][0]


def test_ls_of_no_store_writes_nothing(cgnn: FrontDoor) -> None:
    assert cgnn.ok("cache", "ls", "--json").json["summary"]["artifacts"] == []
    assert cgnn.ok("cache", "gc", "--json").json["summary"]["bytes"] == 0
    assert cgnn.ok("cache", "verify", "--json").json["summary"]["verified"] == []
    assert not Path(".cgnn").exists()


def test_path_takes_the_beginning_of_a_key(cgnn: FrontDoor, store: Store) -> None:
    key = key_of(store, "train")
    assert cgnn.ok("cache", "path", key[:10], *STORE).path == str(store.path("train", key))
    assert cgnn.ok("cache", "path", store.path("train", key), *STORE).path == str(store.path("train", key))
    shutil.copy(store.path("train", key), "copy.h5")
    for wrong in ("zzz", "copy.h5", "missing/file.h5", "datasets/tiny.json", "a/b/c"):
        cgnn.fails(4, "cache", "path", wrong, *STORE)
    cgnn.fails(4, "cache", "path", "../graph", *STORE)
    damage(store.path("train", key))
    assert "damaged" in cgnn.fails(4, "cache", "path", key, *STORE)


# --- verify ----------------------------------------------------------------------------------------------------------


def test_verify_reads_everything(cgnn: FrontDoor, store: Store) -> None:
    rows = cgnn.ok("cache", "verify", *STORE, "--json").json["summary"]["verified"]
    assert {f"{row['stage']}/{row['key']}" for row in rows} == names(store)
    assert "ok" in cgnn.ok("cache", "verify", *STORE).out


def test_verify_moves_damaged_artifacts_away(cgnn: FrontDoor, store: Store) -> None:
    key = key_of(store, "dilap")
    path = store.path("dilap", key)
    size = path.stat().st_size
    damage(path)
    assert path.stat().st_size == size
    assert "1 of 9 artifacts" in cgnn.fails(5, "cache", "verify", *STORE)
    assert not path.exists() and len(list((store.root / "quarantine").iterdir())) == 1
    cgnn.ok("cache", "verify", *STORE)
    assert cgnn.ok("eval", "--dataset", "tiny", "--solver", "exact", *LEARNING, *STORE, "--json").json["cache"] == "hit"


def test_verify_of_given_keys_leaves_others_alone(cgnn: FrontDoor, store: Store) -> None:
    damage(store.path("dilap", key_of(store, "dilap")))
    keys = [key_of(store, "graph")[:12], key_of(store, "commute")]
    rows = cgnn.ok("cache", "verify", *keys, *STORE, "--json").json["summary"]["verified"]
    assert [row["stage"] for row in rows] == ["graph", "commute"]
    cgnn.fails(5, "cache", "verify", key_of(store, "dilap"), *STORE)
    cgnn.fails(4, "cache", "verify", "zzz", *STORE)


def test_verify_writes_a_lost_record_anew(cgnn: FrontDoor, store: Store) -> None:
    record = store.path("rewire", key_of(store, "rewire")).with_suffix(".json")
    before = record.read_text()
    record.write_text("{}")
    cgnn.ok("cache", "verify", *STORE)
    assert record.read_text() == before


# --- gc --------------------------------------------------------------------------------------------------------------


def test_gc_keeps_what_the_newest_results_depend_on(cgnn: FrontDoor, store: Store) -> None:
    before = names(store)
    cgnn.ok("commute", "--dataset", "tiny", "--solver", "pi-only", *STORE)
    newest = names(store)
    cgnn.ok("cache", "gc", *STORE)
    assert names(store) == newest, "the newest training still needs the older commute times"
    cgnn.ok("eval", "--dataset", "tiny", "--solver", "pi-only", *LEARNING, *STORE)
    everything = names(store)
    of_weights = {f"operators/{header.key}" for header in store.headers("operators") if "commute" in header.inputs}
    old = {name for name in before if name.split("/")[0] in ("commute", "fit", "train", "eval")} | before & of_weights
    result = cgnn.ok("cache", "gc", *STORE, "--json").json["summary"]
    assert names(store) == everything - old
    assert result["kept"] == 9 and len([row for row in result["removed"] if row["what"] == "artifact"]) == 5
    assert not [path for path in (store.root / "runs").iterdir() if f"fit/{path.name}" in old]
    assert not list((store.root / "locks").iterdir())
    assert_nothing_half_written(store.root)
    assert not [path for path in store.root.glob("*/*.json") if f"{path.parent.name}/{path.stem}" in old]


def test_gc_keeps_the_newest_results_of_every_dataset(cgnn: FrontDoor, store: Store) -> None:
    edges, labels = write_graph(Path(), seed=1)
    cgnn.ok("data", "import", "other", "--edges", edges, "--labels", labels, *STORE)
    cgnn.ok("eval", "--dataset", "other", "--solver", "exact", *LEARNING, *STORE)
    before = names(store)
    cgnn.ok("cache", "gc", *STORE)
    assert names(store) == before and len(before) == 18
    cgnn.ok("data", "import", "tiny", "--edges", edges, "--labels", labels, *STORE)
    cgnn.ok("cache", "gc", *STORE)
    assert len(names(store)) == 9, "the old graph of a name that was imported anew goes with all that was made from it"


def test_gc_keeps_the_graph_of_a_dataset_that_was_never_used(cgnn: FrontDoor, store: Store) -> None:
    edges, _ = write_graph(Path(), seed=2)
    key = cgnn.ok("data", "import", "unused", "--edges", edges, *STORE, "--json").json["key"]
    cgnn.ok("cache", "gc", *STORE)
    assert f"graph/{key}" in names(store)


def old_commute(cgnn: FrontDoor, store: Store) -> str:
    """A commute artifact that nothing newest depends on; its key."""
    options = ("commute", "--dataset", "tiny", *STORE, "--json", "--solver", "svd")
    key: str = cgnn.ok(*options, "--rank", 3).json["key"]
    cgnn.ok(*options, "--rank", 4)
    return key


def test_gc_dry_run_tells_and_changes_nothing(cgnn: FrontDoor, store: Store) -> None:
    key = old_commute(cgnn, store)
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}
    told = cgnn.ok("cache", "gc", "--dry-run", *STORE, "--json").json["summary"]
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if "locks" not in path.parts} == {
        path: changed for path, changed in before.items() if "locks" not in path.parts
    }
    assert set(store.root.rglob("*")) == set(before)
    shown = cgnn.ok("cache", "gc", "--dry-run", *STORE)
    assert shown.out.startswith(f"would free {told['bytes']} bytes") and key[:12] in shown.err
    free = sum(path.stat().st_size for path in before if path.is_file())
    done = cgnn.ok("cache", "gc", *STORE, "--json").json["summary"]
    assert done["bytes"] == told["bytes"] == free - sum(p.stat().st_size for p in store.root.rglob("*") if p.is_file())
    assert done["removed"] == told["removed"]
    assert "freed 0 bytes" in cgnn.ok("cache", "gc", *STORE).out


def test_gc_keep_days(cgnn: FrontDoor, store: Store) -> None:
    key = old_commute(cgnn, store)
    cgnn.ok("cache", "gc", "--keep-days", 1, *STORE)
    assert f"commute/{key}" in names(store)
    cgnn.ok("cache", "gc", *STORE)
    assert f"commute/{key}" not in names(store)
    cgnn.fails(2, "cache", "gc", "--keep-days", -1, *STORE)


def test_gc_keeps_fits_that_an_interrupted_training_will_want(cgnn: FrontDoor, store: Store) -> None:
    cgnn.ok("train", "--dataset", "tiny", "--epochs", 2, "--hidden", 2, "--split", 1, *STORE)
    key = key_of(store, "fit")
    cgnn.ok("eval", "--dataset", "tiny", "--solver", "exact", *LEARNING, *STORE)
    for path in store.root.glob("train/*"):
        if path.stem != key_of(store, "train"):
            path.unlink()
    cgnn.ok("cache", "gc", *STORE)
    assert f"fit/{key}" in names(store) and (store.root / "runs" / key).exists()


def test_gc_removes_leftovers_and_nothing_else(cgnn: FrontDoor, store: Store) -> None:
    """Records, copies and states of artifacts that went, metrics of runs, locks, old temporaries: those of cgnn."""
    root, key = store.root, old_commute(cgnn, store)
    fit, other, orphan = key_of(store, "fit"), "b" * 32, store.path("commute", key)
    cgnn.ok("commute", "--dataset", "tiny", *STORE, "--solver", "svd", "--rank", 3, "--format", "npz")
    orphan.unlink()
    for folder in ("partial", f"runs/{other}", f"runs/{'c' * 32}", "runs/exp1"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    gone = {
        root / "partial" / f"{fit}.h5": f"cgnn-partial {fit}",
        root / f"runs/{'c' * 32}/metrics.jsonl": '{"epoch": 1, "loss": 0.5}\n',
        root / "eval" / f".{other}.0123456789ab.tmp": "half",
        root / "eval" / ".k.0123456789ab.cgnn.tmp": "half",
        root / ".pin-0123456789ab.json": '{"pinned": []}',
        root / "locks" / f"graph-{other}.lock": "",
        root / "locks" / f"graph-{other}.owner": "host:12",
    }
    stay = {
        root / "partial" / f"{other}.h5": f"cgnn-partial {other}",
        root / f"runs/{other}/metrics.jsonl": '{"epoch": 1, "loss": 0.5}\n',
        root / "eval" / ".k.ba9876543210.cgnn.tmp": "being written",
        root / "locks" / "mine.lock": "",
    }
    old = time.time() - 90_000
    for path, content in (*gone.items(), *stay.items()):
        path.write_text(content)
        if path not in stay:
            os.utime(path, (old, old))
    gone |= {orphan.with_suffix(".json"): "", orphan.with_suffix(".npz"): ""}
    before = names(store)
    cgnn.ok("cache", "gc", *STORE)
    assert not (root / f"runs/{'c' * 32}").exists()
    assert not [path for path in gone if path.exists()]
    assert [path for path in stay if path.exists()] == list(stay)
    assert names(store) == before - {f"commute/{key}"}


def test_gc_removes_a_damaged_file_without_a_record_and_keeps_a_sound_one(cgnn: FrontDoor, store: Store) -> None:
    sound = store.path("dilap", key_of(store, "dilap"))
    sound.with_suffix(".json").unlink()
    broken = store.path("commute", old_commute(cgnn, store))
    broken.with_suffix(".json").unlink()
    damage(broken)
    another = store.path("graph", "d" * 32)  # damaged too, but nothing says that it is the graph of this key
    another.write_bytes(broken.read_bytes())
    cgnn.ok("cache", "gc", *STORE)
    assert sound.exists() and another.exists() and not broken.exists()


def test_gc_leaves_a_key_whose_lock_is_held(cgnn: FrontDoor, store: Store) -> None:
    key = old_commute(cgnn, store)
    with FileLock(store.root / "locks" / f"commute-{key}.lock"):
        result = cgnn.ok("cache", "gc", *STORE, "--json").json["summary"]
        assert str(store.path("commute", key)) in result["in_use"]
        assert "in use" in cgnn.ok("cache", "gc", "--dry-run", *STORE).err
        assert f"commute/{key}" in names(store) and (store.root / "locks" / f"commute-{key}.lock").exists()
    cgnn.ok("cache", "gc", *STORE)
    assert f"commute/{key}" not in names(store)


def test_gc_while_another_process_computes(cgnn: FrontDoor, store: Store) -> None:
    old = old_commute(cgnn, store)
    process = start(
        "commute", "--dataset", "tiny", "--store", "store", "--solver", "svd", "--rank", 3, "--force", "--json",
        patch=HOLD_PUBLISHING,
    )  # fmt: skip
    wait_for(Path("holding").exists)
    result = cgnn.ok("cache", "gc", *STORE, "--json").json["summary"]
    assert str(store.path("commute", old)) in result["in_use"] and f"commute/{old}" in names(store)
    Path("go").touch()
    made = finish(process).json
    assert made["key"] == old and Path(made["artifact"]).exists()
    assert_nothing_half_written(store.root)


def test_case_13_gc_again_and_again_beside_running_stages(cgnn: FrontDoor, store: Store) -> None:
    processes: list[subprocess.Popen[str]] = [
        start("eval", "--dataset", "tiny", "--store", "store", "--solver", "svd", "--rank", rank, *LEARNING, "--json")
        for rank in (2, 3)
    ]
    while any(process.poll() is None for process in processes):
        cgnn.ok("cache", "gc", "-q", *STORE)
    for process in processes:
        assert finish(process).json["key"]
    assert_nothing_half_written(store.root)


def test_case_13_gc_again_and_again_beside_imports_and_unpacking(cgnn: FrontDoor, store: Store) -> None:
    cgnn.ok("cache", "pack", key_of(store, "eval"), "-o", "a.tar", *STORE)
    for path in (store.root / "datasets").iterdir():  # so that nothing but the pack keeps what it brings
        path.unlink()
    commands: list[tuple[object, ...]] = [("cache", "unpack", "a.tar", *STORE)]
    for seed in (5, 6):
        edges, _ = write_graph(Path(), seed=seed)
        commands.append(("data", "import", f"mine{seed}", "--edges", edges, *STORE))
    processes = [start(*command) for command in commands]
    while any(process.poll() is None for process in processes):
        cgnn.ok("cache", "gc", "-q", *STORE)
    assert [finish(process).code for process in processes] == [0, 0, 0]
    cgnn.ok("cache", "gc", *STORE)
    for name in ("tiny", "mine5", "mine6"):
        assert cgnn.ok("rewire", "--dataset", name, *STORE)
    assert_nothing_half_written(store.root)


def test_gc_of_a_store_that_cannot_be_written(cgnn: FrontDoor, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old_commute(cgnn, store)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert "cannot remove" in cgnn.fails(7, "cache", "gc", *STORE)


# --- pack, unpack ----------------------------------------------------------------------------------------------------


def test_commute_times_travel_to_a_machine_that_trains(cgnn: FrontDoor, store: Store) -> None:
    key = key_of(store, "commute")
    packed = cgnn.ok("cache", "pack", key[:12], "--output", "commute.tar", *STORE)
    assert packed.path == "commute.tar"
    store.root.rename("away")
    there = ("--store", "there")
    rows = cgnn.ok("cache", "unpack", "commute.tar", *there, "--json").json["summary"]
    assert [row["stage"] for row in rows["artifacts"]] == ["graph", "rewire", "dilap", "commute"]
    assert {row["cache"] for row in rows["artifacts"]} == {"new"} and rows["datasets"] == {"tiny": "new"}
    trained = cgnn.ok("train", *LEARNING, *there, "--json")
    assert f"taking the newest commute artifact, {key[:12]} (dataset tiny)" in trained.err
    assert [stage["cache"] for stage in trained.json["stages"] if stage["stage"] == "commute"] == ["hit"]
    forecast = cgnn.ok("train", "--dataset", "tiny", "--solver", "exact", *LEARNING, *there, "--dry-run", "--json").json
    assert {row["cache"] for row in forecast["stages"]} == {"hit"}
    cgnn.ok("cache", "verify", *there)


def test_unpack_tells_hits_and_is_what_the_next_command_takes(cgnn: FrontDoor, store: Store) -> None:
    key = key_of(store, "commute")
    cgnn.ok("cache", "pack", key, "--output", "a.tar", *STORE)
    cgnn.ok("commute", "--dataset", "tiny", "--solver", "pi-only", *STORE)
    assert key_of(store, "commute") != key
    rows = cgnn.ok("cache", "unpack", "a.tar", *STORE, "--json").json["summary"]
    assert {row["cache"] for row in rows["artifacts"]} == {"hit"} and rows["datasets"] == {"tiny": "hit"}
    assert key_of(store, "commute") == key
    text = cgnn.ok("cache", "unpack", "a.tar", *STORE)
    assert "hit" in text.out and "0 new artifacts, 4 in the store already" in text.err


def test_pack_of_a_training_has_its_fits_and_is_reproducible(cgnn: FrontDoor, store: Store) -> None:
    keys = (key_of(store, "train"), key_of(store, "eval"))
    stages = cgnn.ok("cache", "pack", *keys, "-o", "a.tar", *STORE, "--json").json["summary"]["artifacts"]
    assert sorted(row["stage"] for row in stages) == sorted(
        ["graph", "rewire", "dilap", "commute", "operators", "operators", "fit", "train", "eval"]
    )
    cgnn.ok("cache", "pack", *keys, "-o", "b.tar", *STORE)
    assert Path("a.tar").read_bytes() == Path("b.tar").read_bytes()
    shutil.rmtree("store")
    cgnn.ok("cache", "unpack", "a.tar", *STORE)
    assert cgnn.ok("eval", "--dataset", "tiny", "--solver", "exact", *LEARNING, *STORE, "--json").json["cache"] == "hit"


def test_unpack_keeps_the_meaning_of_a_dataset_name(cgnn: FrontDoor, store: Store) -> None:
    cgnn.ok("cache", "pack", key_of(store, "commute"), "-o", "a.tar", *STORE)
    edges, _ = write_graph(Path(), seed=3)
    cgnn.ok("data", "import", "tiny", "--edges", edges, "--store", "there")
    mine = Path("there/datasets/tiny.json").read_text()
    result = cgnn.ok("cache", "unpack", "a.tar", "--store", "there", "--json").json
    assert result["summary"]["datasets"] == {"tiny": "kept"}
    assert "the dataset name tiny stands for another graph" in result["warnings"][0]
    assert Path("there/datasets/tiny.json").read_text() == mine


def test_pack_errors_leave_nothing(cgnn: FrontDoor, store: Store) -> None:
    key = key_of(store, "commute")
    cgnn.fails(4, "cache", "pack", "zzz", "-o", "a.tar", *STORE)
    cgnn.fails(2, "cache", "pack", key, "-o", "missing/a.tar", *STORE)
    cgnn.fails(2, "cache", "pack", key, *STORE)
    store.path("rewire", key_of(store, "rewire")).unlink()
    assert "rewire" in cgnn.fails(4, "cache", "pack", key, "-o", "a.tar", *STORE)
    assert [path.name for path in Path().iterdir()] == ["store"]


def test_pack_repairs_nothing_silently(cgnn: FrontDoor, store: Store) -> None:
    damage(store.path("dilap", key_of(store, "dilap")))
    assert "damaged" in cgnn.fails(4, "cache", "pack", key_of(store, "commute"), "-o", "a.tar", *STORE)
    assert not Path("a.tar").exists()


def test_records_name_the_graph(store: Store) -> None:
    record = json.loads((store.root / "datasets/tiny.json").read_text())
    assert record["key"] == key_of(store, "graph")
