"""Text files of any form: read as documented, or refused with the line; and files that cannot be read."""

import gzip
from pathlib import Path

import pytest

from tests.faults.imports import RING, refused
from tests.front_door import FrontDoor
from tests.unprivileged import run_unprivileged


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", " is empty"),
        (b"\n\n", " holds no rows"),
        (b"# only a comment\n", " holds no rows"),
        (b"a\nb\n", " has one column"),
        (b"a,b\nc\n", " has one column"),
        (b"a,b\nc,\xff\n", ", line 2: the file is not UTF-8"),
        ("a,b\n".encode("utf-16"), " is UTF-16 text"),
        (b"a,b\n,c\n", ", line 2: the node id in column 1 is empty"),
    ],
)
def test_case_41_bad_text(cgnn: FrontDoor, content: bytes, said: str) -> None:
    Path("edges.csv").write_bytes(content)
    assert f"edges.csv{said}" in refused(cgnn, "--edges", "edges.csv")


def test_case_41_files_that_are_not_there_or_folders(cgnn: FrontDoor) -> None:
    Path("folder").mkdir()
    for name in ("missing.csv", "folder"):
        assert name in refused(cgnn, "--edges", name)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\nb,c\nc,a\n",
        b"\xef\xbb\xbfsource,target\r\na,b\r\n\r\nb,c\r\nc,a",
        b"# title\n\n a\tb \n b\tc\nc\ta\n   \n",
        b'from;to\ra;"b"\r"b";c\r"c" ; "a"\r',
        gzip.compress(b"% title\na b\nb  c\nc a", mtime=0),
    ],
    ids=["plain", "mark and line ends", "tabs and spaces", "quotes and semicolons", "gzip"],
)
def test_case_41_text_of_any_form_is_the_same_graph_and_comes_back(cgnn: FrontDoor, content: bytes) -> None:
    Path("edges.csv").write_bytes(content)
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json
    Path("plain.csv").write_text("b,c\nc,a\na,b\n")
    assert cgnn.ok("data", "import", "plain", "--edges", "plain.csv", "--json").json["key"] == made["key"]
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "out.csv")
    assert cgnn.ok("data", "import", "back", "--edges", "out.csv", "--json").json["key"] == made["key"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b\n\n# c,d\nd,e,f\n", 4),
        (b"a,b\r\n\r\nc,\xff\r\n", 3),
        (b'a,b\n\n"c,d\n', 3),
        (b"# x\na,b\n\0,c\n", 3),
    ],
)
def test_case_41_the_message_names_the_line(cgnn: FrontDoor, content: bytes, line: int) -> None:
    Path("edges.csv").write_bytes(content)
    assert f"edges.csv, line {line}: " in refused(cgnn, "--edges", "edges.csv")


SIGNED = "source,target\n#a,#b\n#b,c\nc,#a\n"


def test_f02_rows_that_start_with_a_sign_are_kept_and_come_back(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text(SIGNED)
    Path("labels.csv").write_text("id,label\n#a,%x\n#b,%x\nc,%x\n%d,y\n%e,y\n")
    Path("splits.csv").write_text("id,s\n#a,train\n#b,val\nc,test\n%d,train\n")
    files = ("--labels", "labels.csv", "--splits", "splits.csv", "--json")
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", *files).json
    figures = made["summary"]
    assert (figures["nodes"], figures["edges"], figures["unlabelled"], figures["comment_lines"]) == (5, 3, 0, 0)
    assert sum("start with # or % are rows" in note for note in made["warnings"]) == 3
    cgnn.ok("export", made["artifact"], "--to", "csv", "--output", "out.csv")
    assert cgnn.ok("data", "import", "back", "--edges", "out.csv", *files).json["key"] == made["key"]
    Path("pairs.csv").write_text("#a,%d\n#b,c\n")
    line = cgnn.fails(3, "commute", "--dataset", "mine", "--pairs", "pairs.csv")
    assert "pairs.csv holds no rows" in line or "may be a row" in line
    Path("pairs.csv").write_text('"#a",%d\n#b,c\n')
    pairs = cgnn.ok("commute", "--dataset", "mine", "--pairs", "pairs.csv").out
    assert pairs.splitlines()[1].startswith('"#a","%d",') and pairs.count("\n") == 3


def test_f02_what_is_skipped_is_counted_and_said(cgnn: FrontDoor) -> None:
    Path("edges.csv").write_text("# made by x\n% 3 3\n" + SIGNED)
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--json").json
    assert made["summary"]["comment_lines"] == 2 and made["summary"]["edges"] == 3
    assert any("2 comment line(s) skipped, the first is line 1" in note for note in made["warnings"])
    Path("edges.csv").write_text("# made by x\nsource,target\na,b\n #b,c\nc,a\n")
    made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--comment", "#", "--json").json
    assert (made["summary"]["comment_lines"], made["summary"]["edges"]) == (2, 2)
    Path("edges.csv").write_text("#a,b\nb,c\nc,b\n")
    line = cgnn.fails(3, "data", "import", "mine", "--edges", "edges.csv")
    assert "edges.csv, line 1" in line and "--comment none" in line
    counts = []
    for sign in ("none", "#"):
        made = cgnn.ok("data", "import", "mine", "--edges", "edges.csv", "--comment", sign, "--json").json
        counts.append(made["summary"]["nodes"])
    assert counts == [3, 2]
    for sign in ("##", "", " ", ",", '"'):
        cgnn.fails(2, "data", "import", "mine", "--edges", "edges.csv", "--comment", sign)


def reading(name: str) -> dict[tuple[str, ...], int]:
    """Commands that read a file, one for each option that takes one, and the exit code when it cannot be read."""
    edges = ("data", "import", "mine", "--edges")
    labelled = (*edges, "edges.csv", "--labels")
    commands = [(*edges, name), (*edges, "edges.csv", "--features", name), (*labelled, name)]
    commands += [(*labelled, "labels.csv", "--splits", name), ("commute", "--dataset", "demo", "--pairs", name)]
    artifacts = [("rewire", "--input", name), ("cache", "unpack", name)]
    configurations = [("rewire", "--dataset", "demo", "--config", name), ("sweep", name, "--dataset", "demo")]
    refused = 4 if name in ("missing", "folder") else 7
    return dict.fromkeys(commands, 3) | dict.fromkeys(artifacts, refused) | dict.fromkeys(configurations, 2)


@pytest.mark.parametrize("name", ["missing", "folder", "/proc/self/mem"])
def test_f25_files_that_cannot_be_read_have_their_documented_code(cgnn: FrontDoor, ring: None, name: str) -> None:
    Path("folder").mkdir()
    for command, code in reading(name).items():
        assert name in cgnn.fails(code, *command)


def test_f25_files_without_permission_have_their_documented_code(ring: None) -> None:
    Path("locked").write_text(RING)
    Path("locked").chmod(0)
    commands = reading("locked")
    for (command, code), found in zip(commands.items(), run_unprivileged(*commands), strict=True):
        assert found.code == code and not found.out, (command, found)
        (line,) = (line for line in found.err.splitlines() if line.startswith("error: "))
        assert "locked" in line and "Permission denied" in line
