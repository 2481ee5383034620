"""What reaches the terminal: text of the user's is shown as text, whatever stands in it, on streams in any state."""

import ast
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cgnn_cli.commands
from cgnn_cli.pipeline import COMMANDS
from cgnn_cli.printable import UNPRINTABLE, printable
from tests.faults.processes import on_a_terminal
from tests.front_door import FrontDoor

COMMAND_FILES = sorted(Path(str(cgnn_cli.commands.__file__)).parent.glob("*.py"))
MARKUP = ("[/red]", "[bold]x", ":smile:")
TITLE, CLEAR, COLOUR, TURN = "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e"
HOSTILE = (f"a{TITLE}", f"b{CLEAR}", f"c{COLOUR}", f"d{TURN}")
TINY = ("--epochs", 1, "--hidden", 2, "--split", 0)


def import_ring(cgnn: FrontDoor, nodes: tuple[str, ...], classes: tuple[str, ...], *more: object) -> str:
    """Import a two-way ring of these nodes, and of the same with an x, under the name `mine`."""
    every = (*nodes, *(f"{node}x" for node in nodes))
    ring = list(zip(every, (*every[1:], every[0]), strict=True))
    edges = [*ring, *((target, source) for source, target in ring)]
    Path("edges.csv").write_text("source,target\n" + "".join(f"{one},{two}\n" for one, two in edges))
    rows = [f"{node},{classes[place % len(classes)]}\n" for place, node in enumerate(every)]
    Path("labels.csv").write_text("id,label\n" + "".join(rows))
    split = "".join(f"{node},{('train', 'train', 'val', 'test')[place // 2 % 4]}\n" for place, node in enumerate(every))
    Path("splits.csv").write_text("id,split\n" + split)
    files = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv")
    return cgnn.ok("data", "import", "mine", *files, *more).err


# --- markup ----------------------------------------------------------------------------------------------------------


def test_f04_markup_in_labels_ids_and_recorded_commands_is_shown_as_it_is(cgnn: FrontDoor) -> None:
    import_ring(cgnn, ("[red]a", "[/]b", ":sun:c", "d"), MARKUP[:2])
    shown = cgnn.ok("data", "show", "mine").out
    assert all(name in shown for name in MARKUP[:2])
    made = cgnn.ok("commute", "--dataset", "mine", "--solver", "exact", "--top", 8)
    assert "[red]a" in made.err and "[/]b" in made.err and ":sun:c" in made.err
    explained = cgnn.ok("explain", "[/]b").out
    assert "[/]b, label [bold]x" in explained and "[red]a" in explained
    moved = cgnn.ok("rewire", "--dataset", "demo", "--store", "[/red] :smile:").path
    shown = cgnn.ok("show", moved).out
    assert "[/red] :smile:" in shown and "--store '[/red] :smile:'" in shown
    Path("cgnn.toml").write_text('data = "[bold]there"\n')
    assert "[bold]there" in cgnn.ok("config", "show").out


@pytest.mark.parametrize("path", COMMAND_FILES, ids=lambda path: path.name)
def test_f04_only_one_place_makes_consoles_and_styled_text(path: Path) -> None:
    """A new table is safe because its strings go through the one console; a Text of rich's own would go past it."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    names = {ast.unparse(call.func) for call in calls}
    assert path.name == "console.py" or not names & {"Text", "Console", "Text.from_markup", "rich.print"}


# --- control characters ----------------------------------------------------------------------------------------------


def test_f11_no_control_sequence_of_the_users_reaches_the_terminal(cgnn: FrontDoor) -> None:
    said = import_ring(cgnn, HOSTILE, (f"x{CLEAR}", f"y{TITLE}"))
    Path("edges.csv").rename(f"edges{CLEAR}.csv")
    said += cgnn.ok("data", "import", "again", "--edges", f"edges{CLEAR}.csv", "--no-header").err
    shown = cgnn.ok("data", "show", "mine").out
    commute = cgnn.ok("commute", "--dataset", "mine", "--solver", "exact", "--top", 8)
    explained = cgnn.ok("explain", HOSTILE[0])
    refused = cgnn.fails(3, "explain", f"none{TITLE}") + cgnn.fails(2, "rewire", "--dataset", TITLE)
    cgnn.ok("rewire", "--dataset", "demo", "--store", f"s{TITLE}", "--json")
    listed = cgnn.ok("show", next(Path(f"s{TITLE}").glob("rewire/*.h5"))).out
    for text in (said, shown, commute.err, explained.out, refused, listed):
        assert not UNPRINTABLE.search(text.replace("\n", "")), text
    assert r"edges\x1b[2J.csv" in said and r"x\x1b[2J" in shown and r"a\x1b]0;owned\x07" in explained.out
    assert r"c\x9b31m" in commute.err and r"d\u202e" in commute.err


def test_f11_json_and_pipes_keep_the_meaning(cgnn: FrontDoor) -> None:
    import_ring(cgnn, HOSTILE, ("x", "y"))
    cgnn.ok("commute", "--dataset", "mine", "--solver", "exact")
    result = cgnn.ok("explain", HOSTILE[2], "--json")
    assert not UNPRINTABLE.search(result.out.removesuffix("\n")) and result.json["summary"]["node"] == HOSTILE[2]
    Path("pairs.csv").write_text(f"source,target\n{HOSTILE[0]},{HOSTILE[3]}\n")
    (row,) = csv.reader(cgnn.ok("commute", "--dataset", "mine", "--pairs", "pairs.csv").out.split("\n")[1:2])
    assert tuple(row[:2]) == (HOSTILE[0], HOSTILE[3])


def test_f11_on_a_real_terminal(cgnn: FrontDoor) -> None:
    import_ring(cgnn, HOSTILE, MARKUP)
    cgnn.ok("commute", "--dataset", "mine", "--solver", "exact")
    seen = on_a_terminal("explain", HOSTILE[0])
    assert r"a\x1b]0;owned\x07" in seen and not any(part in seen for part in (TITLE, CLEAR, COLOUR, TURN))
    Path("pairs.csv").write_text(f"source,target\n{HOSTILE[0]},{HOSTILE[3]}\n")
    seen = on_a_terminal("commute", "--dataset", "mine", "--pairs", "pairs.csv")
    assert r'"a\x1b]0;owned\x07",d\u202e,' in seen and TITLE not in seen and TURN not in seen


def test_f11_what_is_escaped() -> None:
    assert printable("plain, ünïcödé, 目录, 🦉, שלום") == "plain, ünïcödé, 目录, 🦉, שלום"
    assert printable("\n\r\t\x00\x7f\x85\u2028\u2066") == r"\n\r\t\x00\x7f\x85\u2028\u2066"
    assert printable(os.fsdecode(b"\xff\xc3.csv") + "\ud800") == r"\xff\xc3.csv\ud800"


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "\n", "a\u2028b"])
def test_f12_a_name_with_a_line_break_is_an_error_of_one_line(cgnn: FrontDoor, name: str) -> None:
    for arguments in (("rewire", "--dataset", name), ("data", "show", name), ("data", "import", name, "--edges", "e")):
        result = cgnn(*arguments)
        assert result.code == 2 and len(result.err.splitlines()) == 1, result
        assert "data import a" not in result.err


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_f27_a_hit_gives_the_keys_of_a_miss_in_the_same_order(cgnn: FrontDoor) -> None:
    import_ring(cgnn, ("a", "b", "c", "d"), ("x", "y"))
    imported = ("data", "import", "two", "--edges", "edges.csv", "--json")
    assert json.dumps(cgnn.ok(*imported).json["summary"]) == json.dumps(cgnn.ok(*imported).json["summary"])
    for stage in COMMANDS:
        command = (stage, "--dataset", "mine", *(TINY if stage in ("train", "eval") else ()), "--json")
        miss, hit = cgnn.ok(*command).json, cgnn.ok(*command).json
        assert (miss["cache"], hit["cache"]) == ("miss", "hit")
        assert json.dumps(miss["summary"]) == json.dumps(hit["summary"])


# --- streams that are closed or full ---------------------------------------------------------------------------------


def in_a_shell(arguments: str, redirection: str, *, buffered: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    script = f'"{sys.executable}" -m cgnn_cli {arguments} {redirection}'
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment | ({} if buffered else {"PYTHONUNBUFFERED": "1"}),
    )


@pytest.mark.parametrize("buffered", [True, False])
def test_case_04_a_full_disk_behind_standard_output(buffered: bool) -> None:
    """Python writes what it still holds once more at exit, and would end with 120."""
    for arguments in ("data list", "rewire --dataset demo --json", "--help"):
        result = in_a_shell(arguments, "> /dev/full", buffered=buffered)
        assert result.returncode == 7, result
        assert result.stderr.splitlines()[-1].startswith("error: no room to write: No space left on device")


def test_f25_a_full_standard_error_changes_nothing() -> None:
    made = in_a_shell("rewire --dataset demo", "2> /dev/full")
    assert made.returncode == 0 and Path(made.stdout.strip()).exists()
    assert in_a_shell("rewire --dataset nothing", "2> /dev/full").returncode == 2
    assert in_a_shell("rewire --dataset nothing", "2> >(exec true)").returncode == 2  # a reader that has gone


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_case_45_closed_streams(redirection: str) -> None:
    made = in_a_shell("rewire --dataset demo", redirection)
    assert made.returncode == 0, made
    (path,) = Path(".cgnn/rewire").glob("*.h5")
    assert made.stdout == ("" if ">&-" in redirection.replace("2>&-", "") else f"{path.absolute()}\n")
    assert in_a_shell("rewire --dataset nothing", redirection).returncode == 2
