"""`data`: datasets are listed, shown, and replaced under their name."""

from pathlib import Path

import pytest

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
