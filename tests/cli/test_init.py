"""cgnn init: a cgnn.toml that can be read back, and commands that work."""

import gzip
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cgnn_cli.commands.init import SHOWN
from cgnn_cli.settings import KEYS
from tests.front_door import FrontDoor

PAYMENTS = "txid,payee,payer,amount\n" + "".join(
    f"t{row},{'abcdefgh'[(row * 3) % 8]},{'abcdefgh'[(row * 5 + 1) % 8]},{row + 1}\n" for row in range(24)
)
ACCOUNTS = "account,status\n" + "".join(f"{name},{'fraud' if name in 'aeg' else 'fine'}\n" for name in "abcdefgh")

PARTS = ["train", "train", "val", "val", "test", "test", "train", "train"]


def uncommented(text: str) -> str:
    """The file with every default taken out of its comment."""
    return re.sub(r"^# (?=[a-z_]+ = \S+$)", "", text, flags=re.MULTILINE)


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, **files: str | bytes) -> Path:
    made = folder / name
    made.mkdir()
    for title, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (made / title.replace("__", ".")).write_bytes(data)
    monkeypatch.chdir(made)
    return made


def summary_of(cgnn: FrontDoor, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = cgnn.ok("init", "--json", *words).json["summary"]
    return found


def test_the_file_is_read_back_without_complaint(
    cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_folder(tmp_path, monkeypatch, "shop", payments__csv=PAYMENTS, accounts__csv=ACCOUNTS)
    cgnn.ok("init")
    text = Path("cgnn.toml").read_text(encoding="utf-8")
    shown = cgnn.ok("config", "show", "--json")
    assert shown.json["summary"]["settings"]["dataset"]["value"] == "shop"
    assert shown.json["warnings"] == []
    Path("cgnn.toml").write_text(uncommented(text), encoding="utf-8")
    settings = cgnn.ok("config", "show", "--json").json["summary"]["settings"]
    taken = {path: value for path, value in settings.items() if value["origin"].startswith("cgnn.toml")}
    assert taken.keys() == {"dataset", *SHOWN}
    defaults = {path: value["value"] for path, value in taken.items() if path not in ("dataset", "compute.threads")}
    assert all(str(KEYS[path].default) == str(value) for path, value in defaults.items())


def test_its_commands_work_on_own_tables(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path, monkeypatch, "shop", payments__csv=PAYMENTS, accounts__csv=ACCOUNTS)
    lines = cgnn.ok("init", "-q").out.splitlines()
    assert lines[0] == "cgnn data import shop --edges payments.csv --labels accounts.csv"
    monkeypatch.setenv("CGNN_TRAIN_EPOCHS", "2")
    for line in lines:
        words = shlex.split(line.replace("--minutes 5", "--trials 2 --split 0"))
        cgnn.ok(*words[1:])
    assert len(Path("predictions.csv").read_text(encoding="utf-8").splitlines()) == 9


def test_without_labels_its_commands_work_too(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path, monkeypatch, "walks", links__tsv="from\tto\na\tb\nb\tc\nc\ta\na\tc\n")
    lines = cgnn.ok("init", "-q").out.splitlines()
    assert lines == ["cgnn data import walks --edges links.tsv", "cgnn diagnose", "cgnn run"]
    for line in lines:
        cgnn.ok(*shlex.split(line)[1:])


def test_without_tables_the_settings_are_for_the_demo_graph(cgnn: FrontDoor) -> None:
    result = cgnn.ok("init")
    assert "there is no table here" in result.err
    assert tomllib.loads(Path("cgnn.toml").read_text(encoding="utf-8")) == {
        "dataset": "demo",
        **{name: {} for name in ("graph", "rewire", "commute", "train", "compute")},
    }
    for line in result.out.splitlines():  # tune and a full run take a minute, and are the same as elsewhere
        assert cgnn(*shlex.split(line)[1:], "--help").code == 0
    assert cgnn.ok("run", "--epochs", 1, "--split", 0, "--json").json["summary"]


def test_a_file_that_is_there_stays(cgnn: FrontDoor) -> None:
    Path("cgnn.toml").write_text('dataset = "mine"\n', encoding="utf-8")
    assert "--force replaces it" in cgnn.fails(2, "init")
    assert Path("cgnn.toml").read_text(encoding="utf-8") == 'dataset = "mine"\n'
    cgnn.ok("init", "--force")
    assert 'dataset = "demo"' in Path("cgnn.toml").read_text(encoding="utf-8")


def test_a_doubt_is_written_in_all_its_readings(
    cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"t{row},{'abcd'[row % 4]},{'abcd'[(row * 3 + 1) % 4]},{row}\n" for row in range(8))
    in_folder(tmp_path, monkeypatch, "bare", bare__csv=rows)
    summary = summary_of(cgnn)
    assert summary["doubts"] == ["bare.csv: an edge may be 1 -> 2 or 2 -> 3"]
    assert summary["imports"] == [
        f"cgnn data import bare --edges bare.csv --source-column {one} --target-column {one + 1}" for one in (1, 2)
    ]
    assert not any("import" in line for line in summary["next"])
    text = Path("cgnn.toml").read_text(encoding="utf-8")
    assert all(f"#   {words}\n" in text for words in summary["imports"])
    for words in summary["imports"]:
        cgnn.ok(*shlex.split(words)[1:])


def test_a_header_in_doubt_has_both_readings(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path, monkeypatch, "owe", owe__csv="debitor,kreditor\nann,bob\nbob,cat\ncat,ann\n")
    assert summary_of(cgnn)["imports"] == [
        f"cgnn data import owe --edges owe.csv {flag}" for flag in ("--header", "--no-header")
    ]


def test_of_tables_without_titles_the_one_whose_ends_share_ids_has_the_edges(
    cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = gzip.compress(b"n1,x\nn2,y\nn3,x\nn4,y\n")
    in_folder(tmp_path, monkeypatch, "two", a__csv__gz=labels, b__csv="n1,n2\nn2,n3\nn3,n4\nn4,n1\n")
    assert summary_of(cgnn)["imports"] == ["cgnn data import two --edges b.csv --labels a.csv.gz"]


def test_features_splits_weights_and_what_is_left(
    cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = in_folder(
        tmp_path,
        monkeypatch,
        "all of it",
        payments__csv=PAYMENTS,
        accounts__csv=ACCOUNTS,
        parts__csv="id,first\n" + "".join(f"{n},{p}\n" for n, p in zip("abcdefgh", PARTS, strict=True)),
        notes__csv="id,remark\nx1,closed\nx2,open\n",
    )
    table = pa.table({"account": list("abcdefgh"), "age": range(8), "posts": [0.5] * 8})
    pq.write_table(table, folder / "ages.parquet")
    summary = summary_of(cgnn)
    files = "--edges payments.csv --labels accounts.csv --features ages.parquet --splits parts.csv"
    assert summary["imports"] == [f"cgnn data import all-of-it {files}"]
    text = Path("cgnn.toml").read_text(encoding="utf-8")
    assert "with amount as weights, add: --weight-column amount" in text
    assert "not used: notes.csv: no id in column 1 (id)" in text
    cgnn.ok(*shlex.split(summary["imports"][0])[1:])


def test_numbers_beside_labels_are_offered_as_features(
    cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = "id,label,country,age\n" + "".join(f"{n},{'xy'[i % 2]},DE,{20 + i}\n" for i, n in enumerate("abcdefgh"))
    in_folder(tmp_path, monkeypatch, "p", edges__csv="source,target\na,b\nb,c\nc,a\n", people__csv=people)
    words = summary_of(cgnn)["imports"][0]
    found = re.search(r"with age as features, add: (.*)", Path("cgnn.toml").read_text(encoding="utf-8"))
    assert found
    assert cgnn.ok(*shlex.split(f"{words} {found[1]}")[1:], "--json").json["summary"]["features"] == 1


def test_a_rare_class_is_told(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{row}" for row in range(20)]
    edges = "source,target\n" + "".join(f"{a},{b}\n" for a, b in zip(names, names[1:] + names[:1], strict=True))
    labels = "id,label\n" + "".join(f"{name},{'fraud' if name == 'n3' else 'fine'}\n" for name in names)
    in_folder(tmp_path, monkeypatch, "rare", e__csv=edges, l__csv=labels)
    cgnn.ok("init")
    assert '# "fraud" is 1 of 20 labelled nodes' in Path("cgnn.toml").read_text(encoding="utf-8")


def test_faults_of_tables_are_said(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path, monkeypatch, "x", torn__csv="source,target\na,b\nb\nc,a\n", one__csv="a\nb\n")
    result = cgnn.ok("init")
    assert "no table here can be taken for edges" in result.err and "torn.csv, line 3: 1 field(s)" in result.err
    Path("torn.csv").write_text("source,target\na,b\n,c\n", encoding="utf-8")
    assert "torn.csv, line 3" in cgnn.fails(3, "init", "--force")
    assert json.loads(cgnn.ok("data", "list", "--json").out)["summary"]["datasets"]


def test_names_that_no_dataset_can_have(cgnn: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name in (("demo", "mine"), ("my shop!", "my-shop")):
        in_folder(tmp_path, monkeypatch, folder, e__csv="source,target\na,b\nb,a\n")
        assert summary_of(cgnn)["dataset"] == name
