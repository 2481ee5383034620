"""Help: one screen of what most people need, everything with --help-all, and what to type first."""

import re
from typing import Any

import pytest

from cgnn_cli.commands.help_page import PAGES, rows_of
from cgnn_cli.errors import EXIT_CODES
from cgnn_cli.models.model_table import MODELS
from tests.cli.test_usage import heavy_imports
from tests.docs.test_docs import COMMANDS
from tests.front_door import FrontDoor, run_process

LINES = {80: 45, 100: 42}  # of a screen, by its columns
SHORT = [name for name, page in PAGES.items() if page.common is not None]
ROW = re.compile(r"^  (--[\w-]+)", re.MULTILINE)


@pytest.fixture
def shown(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> Any:
    def text_of(name: str, flag: str = "--help", width: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        result = cgnn.ok(*name.split()[1:], flag)
        assert result.err == ""
        return result.out

    return text_of


def declared(name: str) -> list[Any]:
    """The options that a command takes, without those for help."""
    return [each for each in COMMANDS[name].params if each.opts[0].startswith("-") and each.name != "help_all"]


def has(text: str, flag: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def test_every_command_has_a_page() -> None:
    assert set(PAGES) == set(COMMANDS)


@pytest.mark.parametrize("name", PAGES)
def test_help_fits_on_a_screen(name: str, shown: Any) -> None:
    for width, most in LINES.items():
        text = shown(name, width=width)
        lines = text.splitlines()
        assert len(lines) <= most and max(map(len, lines)) <= width, (width, len(lines))
        assert lines[0].startswith(f"Usage: {name}") and "\x1b" not in text


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_and_no_choice_is_broken(name: str, shown: Any) -> None:
    for flag, width in [("--help", 80), ("--help", 100), ("--help-all", 80), ("--help-all", 100), ("--help-all", 44)]:
        text = shown(name, flag, width)
        assert not [part for part in ("…", "<", "(no)", "[default: (", "[default: no]") if part in text]
        joined, listed = re.sub(r"\|\n +", "|", text), ROW.findall(text)
        for words, _ in rows_of(PAGES[name].parameters):
            if "|" in words and words.split()[0] in listed:
                assert f"  {words}" in joined


@pytest.mark.parametrize("name", PAGES)
def test_help_all_names_every_option_and_says_more_only_where_there_is_more(name: str, shown: Any) -> None:
    text = shown(name, "--help-all")
    for each in declared(name):
        assert all(has(text, flag) for flag in (*each.opts, *each.secondary_opts)), each.name
        assert len([row for row in ROW.findall(text) if row in each.opts]) <= 1, each.name
    assert name in SHORT or text == shown(name)


@pytest.mark.parametrize("name", SHORT)
def test_the_last_line_counts_the_other_options(name: str, shown: Any) -> None:
    text = shown(name)
    listed = ROW.findall(text)
    last = [line for line in text.splitlines() if line][-1]
    assert last == f"--help-all shows the other {len(declared(name)) - len(listed)} options."
    needed = [each.opts[0] for each in declared(name) if each.required]
    assert listed[: len(needed)] == needed


@pytest.mark.parametrize("name", SHORT)
def test_every_option_shown_is_taken(name: str, shown: Any, cgnn: FrontDoor) -> None:
    words = []
    for flag, takes in re.findall(r"^  (--[\w-]+)(?:/--[\w-]+)?(?:, -\w)?( \S+)?", shown(name), re.MULTILINE):
        words += [flag, *["x"] * bool(takes)]
    assert cgnn(*name.split()[1:], *words, "--help").code == 0  # an option that is not known comes first
    assert cgnn(*name.split()[1:], *words, "--no-such-option", "--help").code == 2


@pytest.mark.parametrize(("name", "first"), [("predict", "--output"), ("review", "--class"), ("tune", "--dataset")])
def test_what_comes_first(name: str, first: str, shown: Any) -> None:
    assert ROW.findall(shown(f"cgnn {name}"))[0] == first


def test_what_cannot_be_left_out_is_in_the_first_line(shown: Any) -> None:
    assert shown("cgnn review").startswith("Usage: cgnn review --class NAME [OPTIONS]\n")
    line = "Usage: cgnn export ARTIFACT --to npz|csv|parquet|state-dict|torch-export --output PATH [OPTIONS] "
    assert " ".join(shown("cgnn export").split()).startswith(line)
    assert shown("cgnn show").startswith("Usage: cgnn show ARTIFACT [OTHER] [OPTIONS]\n")


def test_flags_and_defaults_are_shown_as_they_are_typed(shown: Any) -> None:
    assert "  --hidden INTEGER    Width of the hidden layers. [default: 64]\n" in shown("cgnn train")
    short, whole = shown("cgnn data show"), shown("cgnn data show", "--help-all")
    assert "--undirected " in short and "--no-undirected" not in short
    assert "--undirected/--no-undirected\n" in whole and whole.count("--no-undirected") == 1
    assert "--tail/--no-tail" in shown("cgnn commute", "--help-all")
    assert "[default: yes]" in shown("cgnn commute", "--help-all")


def test_options_of_models_stand_under_their_models(shown: Any) -> None:
    panels = re.split(r"^(\S.*):$", shown("cgnn train", "--help-all", 100), flags=re.MULTILINE)
    found = {
        option: title for title, rows in zip(panels[1::2], panels[2::2], strict=True) for option in ROW.findall(rows)
    }
    assert found["--lr"] == found["--walk-direction"] == "Stage train" and found["--layers"] == "Most models"
    assert found["--pacing"] == "Model digcl" and found["--charge"] == "Model magnet"
    assert found["--alpha"] == "Models cgnn, dirgnn"


def test_models_explains_the_options_of_one(cgnn: FrontDoor) -> None:
    out = cgnn.ok("models", "dirgnn").out
    rows = ROW.findall(out)
    assert rows and {row[2:].replace("-", "_") for row in rows} == set(MODELS["dirgnn"].own_options())
    assert "Which layer is made directional. [default: sage]" in out and "Rossi et al." in out
    assert [row["name"] for row in cgnn.ok("models", "dirgnn", "--json").json["summary"]["models"]] == ["dirgnn"]
    assert "known: cgnn, dirgnn" in cgnn.fails(2, "models", "dirgn")


def test_cgnn_alone_says_what_to_type_first(cgnn: FrontDoor) -> None:
    result = cgnn()
    lines = result.out.splitlines()
    assert result.code == 2 and result.err == "" and len(lines) <= 12 and max(map(len, lines)) <= 80
    commands = [line.split("  ")[1].split() for line in lines if line.startswith("  cgnn ")]
    assert [words[1] for words in commands] == ["run", "init", "run"]
    for words in commands:
        cgnn.ok(*words[1:], "--help")


def test_the_help_of_cgnn_names_the_first_step_and_every_exit_code(shown: Any) -> None:
    text = shown("cgnn")
    assert "Type first: cgnn run --dataset demo\n" in text
    told = " ".join(text.partition("Exit codes: ")[2].split())
    assert {int(code) for code in re.findall(r"\b(\d+) ", told.partition(".")[0])} == set(EXIT_CODES) - {1}


def test_wrong_options_are_told_of_those_that_help_leaves_out(cgnn: FrontDoor) -> None:
    assert "--pretrain-epochs" in cgnn.fails(2, "train", "--pretrain-epoch", 3)
    assert "--pretrain-epochs" not in cgnn.ok("train", "--help").out


@pytest.mark.parametrize("before", ["", "--help-all "])
def test_the_shell_is_offered_every_option(before: str) -> None:
    line = f"cgnn train {before}--mask"
    asked = {"_CGNN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert run_process(fresh=True, **asked).stdout.split() == ["--mask-first", "--mask-second"]


def test_help_imports_nothing_heavy() -> None:
    assert heavy_imports("train", "--help") == heavy_imports("train", "--help-all") == set()


def test_colours_are_for_terminals(cgnn: FrontDoor, shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = shown("cgnn eval", "--help-all")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = shown("cgnn eval", "--help-all")
    assert "\x1b[1m" in coloured and re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
