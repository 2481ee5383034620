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
