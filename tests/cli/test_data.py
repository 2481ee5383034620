"""`data`: datasets are listed, shown, and replaced under their name."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.graph import Graph
from cgnn_cli.store.store import Store
from tests.front_door import FrontDoor


def test_data_list_and_show(cgnn: FrontDoor) -> None:
    assert "demo" in cgnn.ok("data", "list").out
    figures = cgnn.ok("data", "show", "demo", "--json").json["summary"]
    assert figures["nodes"] == 1500 and len(figures["splits"]) == 5
    listed = cgnn.ok("data", "list", "--json").json["summary"]["datasets"]
    assert listed[0]["name"] == "demo" and listed[0]["nodes"] == 1500


def test_imported_dataset_is_listed_and_can_be_replaced(cgnn: FrontDoor) -> None:
    Path("a.txt").write_text("a b\nb c\nc a\n")
    Path("b.txt").write_text("a b\nb c\nc a\na c\n")
    first = cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["key"]
    assert cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["cache"] == "hit"
    second = cgnn.ok("data", "import", "mine", "--edges", "b.txt", "--json").json["key"]
    assert first != second
    assert cgnn.ok("data", "show", "mine", "--json").json["summary"]["edges"] == 4


@pytest.mark.parametrize("name", ["demo", "../up", "a/b", "", ".hidden", "ünder"])
def test_bad_dataset_names_are_refused(cgnn: FrontDoor, name: str) -> None:
    Path("a.txt").write_text("a b\nb a\n")
    cgnn.fails(2, "data", "import", name, "--edges", "a.txt")
    assert not Path(".cgnn").exists()


def test_a_name_is_removed_with_its_graph(cgnn: FrontDoor) -> None:
    Path("a.txt").write_text("a b\nb c\nc a\n")
    key = cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["key"]
    cgnn.ok("data", "import", "other", "--edges", "a.txt")
    graph = Path(f".cgnn/graph/{key}.h5")
    assert cgnn.ok("data", "rm", "mine", "--json").json["summary"]["graphs"] == [] and graph.exists()
    assert "unknown dataset 'mine'" in cgnn.fails(2, "data", "show", "mine")
    assert cgnn.ok("data", "rm", "other", "--json").json["summary"]["graphs"] == [key]
    assert not list(Path(".cgnn").rglob(f"*{key}*.h5")) and not list(Path(".cgnn/datasets").iterdir())
    for name in ("mine", "demo", "chameleon", "../datasets/x"):
        assert name in cgnn.fails(2, "data", "rm", name)


def test_what_was_made_from_a_graph_keeps_it(cgnn: FrontDoor) -> None:
    Path("a.txt").write_text("a b\nb c\nc a\n")
    key = cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["key"]
    cgnn.ok("rewire", "--dataset", "mine", "--undirected")
    assert "1 graph(s) stay" in cgnn.ok("data", "rm", "mine").err
    assert not list(Path(".cgnn/datasets").iterdir()), "forms go with their name"
    assert not Path(f".cgnn/graph/{key}.h5").exists() and len(list(Path(".cgnn/graph").glob("*.h5"))) == 1
    Path(".cgnn/datasets/notes.json").write_text('{"notes": 1}')
    cgnn.fails(2, "data", "rm", "notes")
    assert Path(".cgnn/datasets/notes.json").exists()


def test_a_name_is_changed(cgnn: FrontDoor) -> None:
    Path("a.txt").write_text("a b\nb c\nc a\n")
    key = cgnn.ok("data", "import", "mine", "--edges", "a.txt", "--json").json["key"]
    cgnn.ok("rewire", "--dataset", "mine", "--undirected")
    cgnn.ok("data", "import", "other", "--edges", "a.txt")
    assert "there is a dataset other already" in cgnn.fails(2, "data", "rename", "mine", "other")
    for old, new in (("mine", "demo"), ("mine", "a/b"), ("nobody", "x"), ("demo", "x")):
        cgnn.fails(2, "data", "rename", old, new)
    cgnn.ok("data", "rename", "mine", "yours")
    assert {path.stem for path in Path(".cgnn/datasets").iterdir()} == {"other", "yours", "yours+undirected"}
    assert cgnn.ok("rewire", "--dataset", "yours", "--undirected", "--json").json["cache"] == "hit"
    assert cgnn.ok("data", "show", "yours", "--json").json["key"] == key
    cgnn.fails(2, "data", "show", "mine")


def test_an_update_is_a_new_version_that_remembers_the_old_one(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("payer,payee,amount\na,b,1\nb,c,2\nc,a,3\n")
    Path("labels.csv").write_text("account,status\na,ok\nb,ok\nc,ok\ne,ok\n")
    Path("more.csv").write_text("amount,payee,payer\n4,a,d\n5,b,a\n")
    Path("new.csv").write_text("status,account\nfraud,d\nbad,c\n,a\n")
    weighted = ("--weight-column", "amount", "--json")
    first = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--labels", "labels.csv", *weighted).json
    cgnn.fails(2, "data", "update", "nobody", "--edges", "more.csv")
    cgnn.fails(2, "data", "update", "demo", "--edges", "more.csv")
    Path("bare.csv").write_text("payer,payee\nd,a\n")
    assert "--weight-column amount: bare.csv has no such" in cgnn.fails(
        2, "data", "update", "mine", "--edges", "bare.csv"
    )
    cgnn.fails(3, "data", "update", "mine", "--edges", "more.csv", "--labels", "more.csv", "--weight-column", "amount")
    assert {path.stem for path in Path(".cgnn/datasets").iterdir()} == {"mine"}
    second = cgnn.ok("data", "update", "mine", "--edges", "more.csv", "--labels", "new.csv", "--json").json
    assert any("as at the import: --weight-column amount (" in note for note in second["warnings"])
    assert second["summary"]["previous"] == first["key"] != second["key"]
    assert any("1 node(s) have another label than before" in note for note in second["warnings"])
    Path("all.csv").write_text("payer,payee,amount\na,b,6\nb,c,2\nc,a,3\nd,a,4\n")
    Path("all_labels.csv").write_text("account,status\na,ok\nb,ok\nc,bad\nd,fraud\ne,ok\n")
    Path("splits.csv").write_text("account,s\na,train\nb,val\nd,test\n")
    files = ("--splits", "splits.csv", *weighted)
    whole = cgnn.ok("data", "import", "whole", "--edges", "all.csv", "--labels", "all_labels.csv", *files).json
    cgnn.ok("data", "rename", "mine@1", "past")
    again = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--labels", "labels.csv", *weighted).json
    assert again["key"] == first["key"] == cgnn.ok("data", "show", "past", "--json").json["key"]
    added = ("data", "update", "mine", "--edges", "more.csv", "--labels", "new.csv", *files)
    assert cgnn.ok(*added).json["key"] == whole["key"]
    assert cgnn.ok("data", "show", "mine@1", "--json").json["key"] == first["key"]
    cgnn.ok("rewire", "--dataset", "mine@1")
    cgnn.ok("cache", "gc")
    cgnn.ok("data", "rm", "mine")
    assert {path.stem for path in Path(".cgnn/datasets").iterdir()} == {"past", "whole"}


def test_an_update_of_a_graph_with_features_or_numbers(cgnn: FrontDoor) -> None:
    Path("edges.txt").write_text("0 1\n1 2\n2 0\n")
    Path("x.csv").write_text("id,f,g\n0,1,2\n1,3,4\n2,5,6\n")
    Path("more.txt").write_text("2 1\n")
    Path("new.txt").write_text("2 3\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.txt", "--features", "x.csv")
    assert cgnn.ok("data", "update", "mine", "--edges", "more.txt", "--json").json["summary"]["edges"] == 4
    record = Path(".cgnn/datasets/mine.json").read_text()
    assert '"previous"' in record
    assert "nothing has changed" in cgnn.ok("data", "update", "mine", "--edges", "more.txt").err
    assert Path(".cgnn/datasets/mine.json").read_text() == record
    assert "1 node(s) are new" in cgnn.fails(2, "data", "update", "mine", "--edges", "new.txt")
    Path("y.csv").write_text("id,f,g\n3,7,8\n0,9,9\n")
    made = cgnn.ok("data", "update", "mine", "--edges", "new.txt", "--features", "y.csv", "--json").json
    Path("all.txt").write_text("0 1\n1 2\n2 0\n2 1\n2 3\n")
    Path("z.csv").write_text("id,f,g\n0,9,9\n1,3,4\n2,5,6\n3,7,8\n")
    whole = cgnn.ok("data", "import", "whole", "--edges", "all.txt", "--features", "z.csv", "--json").json
    assert made["key"] == whole["key"]


def parts_of(key: str) -> dict[str, list[int]]:
    graph = Graph.from_elements(Store(Path(".cgnn")).load("graph", key).elements, {})
    assert graph.splits is not None
    return dict(zip(graph.ids().tolist(), graph.splits.T.tolist(), strict=True))


def test_an_update_keeps_the_parts_of_the_splits(cgnn: FrontDoor) -> None:
    """By the options of the import, which its record remembers; options for splits make all anew."""
    Path("edges.csv").write_text("payer,payee\n" + "".join(f"n{k},n{(k + 1) % 40}\n" for k in range(40)))
    Path("labels.csv").write_text("id,label\n" + "".join(f"n{k},{'ab'[k % 2]}\n" for k in range(32)))
    Path("more.csv").write_text("payer,payee\nx,n3\n")
    Path("new.csv").write_text("id,label\n" + "".join(f"n{k},{'ab'[k % 2]}\n" for k in range(32, 40)) + "n0,b\n")
    drawn = ("--split-ratio", "50/25/25", "--split-count", 3, "--split-seed", 4, "-q")
    cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--labels", "labels.csv", *drawn)
    keys = [cgnn.ok("data", "show", "mine", "--json").json["key"]]
    for given in (("--edges", "more.csv"), ("--labels", "new.csv")):
        keys.append(cgnn.ok("data", "update", "mine", *given, "--json").json["key"])
    first, grown, labelled = map(parts_of, keys)
    assert all(len(parts) == 3 for parts in labelled.values())
    for name, parts in first.items():
        assert grown[name] == parts and (labelled[name] == parts or int(name[1:]) >= 32)
    fresh = np.array([labelled[f"n{k}"] for k in range(32, 40)])
    assert all(np.bincount(split, minlength=4).tolist() == [0, 4, 2, 2] for split in fresh.T)
    said = cgnn.ok("data", "update", "mine", "--labels", "new.csv", "--split-count", 10)
    assert "the splits are made anew" in said.err and "10 splits" in said.err


def test_an_update_draws_splits_anew_by_the_rule_of_the_import(cgnn: FrontDoor) -> None:
    Path("edges.txt").write_text("".join(f"{node} {(node + 1) % 60}\n" for node in range(60)))
    Path("labels.csv").write_text("".join(f"{node},{'ab'[node % 2]}\n" for node in range(60)))
    given = ("--edges", "edges.txt", "--labels", "labels.csv", "--split-ratio", "10/10/80")
    cgnn.ok("data", "import", "mine", *given, "--split-count", 3)
    said = cgnn.ok("data", "update", "mine", "--labels", "labels.csv", "--split-seed", 7)
    assert "made anew, by the rule of the import and as the options say" in said.err
    key = cgnn.ok("data", "show", "mine", "--json").json["key"]
    fresh = cgnn.ok("data", "import", "fresh", *given, "--split-count", 3, "--split-seed", 7, "--json").json
    assert fresh["key"] == key


def test_a_damaged_rule_of_splits_is_refused(cgnn: FrontDoor) -> None:
    Path("edges.txt").write_text("a b\nb c\nc a\n")
    Path("labels.csv").write_text("a,x\nb,x\nc,x\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.txt", "--labels", "labels.csv")
    path = Path(".cgnn/datasets/mine.json")
    record = json.loads(path.read_text())
    for rule in ([1], {"split_count": "3"}, {"per_class": 0}, {"split_ratio": 5}, {"train_before": "never"}):
        path.write_text(json.dumps({**record, "summary": {**record["summary"], "split_rule": rule}}))
        assert "rule of the splits" in cgnn.fails(5, "data", "update", "mine", "--labels", "labels.csv")


def test_versions_are_numbered_on_and_are_not_updated(cgnn: FrontDoor) -> None:
    Path("edges.txt").write_text("a b\nb c\nc a\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.txt")
    for number, node in enumerate("xyz"):
        Path("more.txt").write_text(f"a {node}\n")
        cgnn.ok("data", "update", "mine", "--edges", "more.txt")
        if number == 1:
            assert "rename mine@1 NEW" in cgnn.fails(2, "data", "update", "mine@1", "--edges", "edges.txt")
            cgnn.ok("data", "rm", "mine@1")
    assert {path.stem for path in Path(".cgnn/datasets").iterdir()} == {"mine", "mine@2", "mine@3"}


def test_an_update_does_not_undo_another_one(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("edges.txt").write_text("a b\nb c\nc a\n")
    Path("more.txt").write_text("a d\n")
    cgnn.ok("data", "import", "mine", "--edges", "edges.txt")
    cgnn.ok("data", "import", "other", "--edges", "more.txt")
    record, other = Path(".cgnn/datasets/mine.json"), Path(".cgnn/datasets/other.json").read_text()

    def changed_meanwhile(*given: Any, **more: Any) -> Any:
        record.write_text(other)
        return import_graph(*given, **more)

    monkeypatch.setattr("cgnn_cli.datasets.files.importing.import_graph", changed_meanwhile)
    assert "mine was changed meanwhile" in cgnn.fails(6, "data", "update", "mine", "--edges", "more.txt")
    assert record.read_text() == other
    assert {path.stem for path in Path(".cgnn/datasets").iterdir()} == {"mine", "other"}
