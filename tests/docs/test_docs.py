"""The pages of docs/ are true: their examples run, and their tables hold what the tool has, no more and no less."""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import h5py
import numpy as np
import pytest
from scipy.stats import spearmanr
from typer.main import get_command

import cgnn_cli
from cgnn_cli.commands.main import app
from cgnn_cli.configs import CONFIGS, CommuteConfig, option_name
from cgnn_cli.configs import SECTIONS as SETTING_SECTIONS
from cgnn_cli.errors import EXIT_CODES
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.paper.experiment_table import EXPERIMENTS
from cgnn_cli.pipeline import COMMANDS as STAGE_COMMANDS
from cgnn_cli.pipeline import STAGES
from cgnn_cli.settings import KEYS, OUTSIDE
from cgnn_cli.solver_table import SOLVERS
from cgnn_cli.store import artifact as files
from cgnn_cli.store import elements as encodings
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.store import Store
from tests.docs.generators import generator_of
from tests.front_door import FrontDoor
from tests.graphs import toy_arrays
from tests.payments import Size, make_payments, write_files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
LATER = ("fits/<split>/temperature", "fits/<split>/threshold")  # what is decided on trained models
TINY = ("--epochs", 1, "--hidden", 2)
METHOD = ("method.md", "commute-times.md", "training.md")  # the equations, in the order of the stages

EXECUTED = {
    "quickstart.md": 8,
    "own-data.md": 14,
    "table-files.md": 12,
    "splits.md": 4,
    "updates.md": 4,
    "databases.md": 4,
    "encodings.md": 1,
    "models.md": 1,
    "datasets.md": 3,
    "pipeline.md": 12,
    "exit-codes.md": 12,
    "configuration.md": 4,
    "doctor.md": 1,
    "cache.md": 14,
    "explain.md": 4,
    "review.md": 4,
    "hitting.md": 7,
    "predict.md": 7,
    "beyond-the-paper.md": 2,
    "sweep.md": 7,
    "imbalance.md": 11,
    "tune.md": 2,
    "diagnose.md": 2,
    "report.md": 4,
    "reproduction.md": 2,
    "python-api.md": 0,
    "export.md": 3,
    "pyg.md": 0,
}

GIVEN = {"splits.md": "own-data.md", "updates.md": "own-data.md"}  # pages that go on with the files of another

ELSEWHERE = {  # pages whose examples this file's readers do not follow, and what runs them
    "batch-jobs.md": "tests/docs/test_batch_jobs.py, under a batch system of one machine",
    "ranks.md": "tests/docs/test_batch_jobs.py its script, tests/ranks its commands, each two processes with torch",
    "where-it-helps.md": "tests/cli/test_reproduce.py: with --quick it still takes longer than any of these pages",
    "artifact-format.md": "test_documented_readers_verify_every_artifact",
}

WORDS = 2500
REFERENCES = {"cli.md", "artifact-format.md", "benchmarks.md"}  # looked up, not read: they may have more words

SECTIONS = {
    "configuration.md": ("A first file", "Sections and keys", "Slips"),
    "doctor.md": ("The checks", "Do devices agree?"),
    "batch-jobs.md": (
        "Many trainings",
        "Stores and disks",
        "Scripts",
        "Snakemake",
        "Nodes without internet",
        "GPU",
    ),
    "ranks.md": ("One walk in several processes", "One training in several processes"),
    "python-api.md": (
        "From data frames to a ranking",
        "What may be given",
        "Times",
        "Progress and Ctrl-C",
        "scikit-learn",
        "The stages",
        "Functions",
        "A workspace",
    ),
    "export.md": ("The loader", "The file", "A program of torch.export", "Which models"),
    "pyg.md": ("Example", "Directions", "AddCommuteTimes", "CGNNConv", "Conversions"),
    "cache.md": ("List, find, verify", "What cgnn touches", "Free space", "Carry artifacts to another machine"),
    "imbalance.md": (
        "What the scores say",
        "Weights of the classes",
        "What epochs and settings are chosen by",
        "A threshold for one class",
        "Probabilities that can be believed",
        "A graph of payments",
        "In a report",
    ),
    "sweep.md": ("Random search", "A sweep in a file", "Shards", "Presets"),
    "tune.md": (
        "What is compared",
        "How it is compared",
        "Budgets",
        "What commute times added",
        "The choice",
        "The JSON object",
    ),
    "explain.md": ("What a neighbour adds", "The columns", "A figure"),
    "review.md": ("The page", "Decisions as labels"),
    "databases.md": ("Tables as queries", "What is read is not changed", "Passwords", "Results as tables", "Errors"),
    "predict.md": ("The columns", "Which run is used", "Ranks", "Tomorrow's graph"),
    "hitting.md": ("Naming sets", "The columns", "How it is computed", "Kemeny's constant", "Resistance distance"),
    "diagnose.md": ("Which times", "The figures", "The verdict", "How far to trust it"),
    "report.md": ("Formats", "Scores", "Beside the paper", "Is it more than chance?", "Figures", "Provenance"),
    "where-it-helps.md": ("How to read it", "The graphs", "Make it again"),
    "reproduction.md": ("In short", "What is compared"),
    "reproduction-scores.md": (
        "datasets",
        "table1",
        "directed-undirected",
        "ppr",
        "sym",
        "efficiency",
        "sensitivity",
        "hyperparameters",
    ),
    "reproduction-times.md": (
        "rank",
        "rewiring-commute",
        "rewiring-density",
        "label-similarity",
        "solvers",
        "proximity",
        "weights",
        "ratios",
        "where",
    ),
    "tracking.md": ("What is logged", "When", "Other trackers"),
    "beyond-the-paper.md": (
        "Personalised PageRank",
        "Similar nodes",
        "A branch beside the graph layers",
        "A walk to the classes, as input",
        "Mini-batches",
        "Precision",
        "Logs",
    ),
    "pipeline.md": (
        "Stages",
        "Where a stage starts",
        "Splits",
        "Stopping and going on",
        "Keys and the cache",
        "Look inside",
        "The contract",
        "Environment variables",
    ),
    "datasets.md": (
        "The benchmark graphs",
        "Where the files come from",
        "What is checked",
        "Stand-ins",
        "Splits",
        "Twins",
        "Memory",
    ),
    "own-data.md": ("Edges", "Features", "Labels", "Errors", "Predict and export"),
    "table-files.md": (
        "Text files",
        "Parquet",
        "GraphML",
        "Folders, and tables larger than memory",
        "Large files",
    ),
    "splits.md": ("By chance, by number or from a file", "Before and after a date"),
    "updates.md": ("What holds", "Splits stay"),
    "exit-codes.md": (
        "Exit codes",
        "Signals",
        "Standard output and standard error",
        "Files that you name",
        "The JSON object",
    ),
    "method.md": (
        "rewire",
        "dilap",
        "Where the paper contradicts itself",
        "What to know about the weights",
    ),
    "commute-times.md": (
        "The paper's scores",
        "The first steps of the walk",
        "True times",
        "The control",
        "How far the times are off",
        "Pairs of nodes",
        "What a commute time is made of",
        "Proximity",
    ),
    "training.md": ("Layers", "Network", "Training", "Scores"),
    "artifact-format.md": ("Root attributes", "Header", "Elements", "Artifact types", "NPZ", "The store", "Versions"),
}


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after its fence, and its lines."""

    info: list[str]
    lines: list[str]


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page if page == "README.md" else DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [Block(info.split(), body.splitlines()) for info, body in found]


def prose_of(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def shell_of(page: str) -> list[str]:
    """The scripts of a page: `sh` blocks, and commands that are indented."""
    text = (ROOT / page if page == "README.md" else DOCS / page).read_text(encoding="utf-8")
    scripts = ["\n".join(block.lines) for block in blocks_of(page) if block.info[:1] == ["sh"]]
    indented = re.findall(r"(?:^    .+\n)+", prose_of(text), flags=re.MULTILINE)
    return scripts + [found for found in indented if re.search(r"^ +(cgnn|pip|torchrun) ", found, flags=re.MULTILINE)]


def section_of(text: str, heading: str) -> str:
    """The text below a heading, up to the next of its rank or above."""
    start = text.index(f"\n{heading}\n") + 1
    rank = heading.count("#")
    end = re.search(rf"^#{{1,{rank}}} ", text[start + len(heading) :], flags=re.MULTILINE)
    return text[start : start + len(heading) + end.start()] if end else text[start:]


def tables_of(text: str) -> list[list[list[str]]]:
    """The Markdown tables of a text as rows of cells, the header first."""
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    rows = [
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()] for table in tables
    ]
    return [[[cell.strip("| ") for cell in row] for row in table if set("".join(row)) - set("-|")] for table in rows]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# --- the command line ------------------------------------------------------------------------------------------------


def commands_of(command: Any, path: str = "cgnn") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands_of(sub, f"{path} {name}")


def options_of(command: Any) -> set[str]:
    flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    return {flag for flag in flags if flag.startswith("-")} | {"--help"}


COMMANDS = dict(commands_of(get_command(app)))
BASIC_OPTIONS = {"--help", "--help-all", "--install-completion", "--show-completion", "--version"}


def mentions(text: str, flag: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def test_reference_is_current() -> None:
    assert text_of("cli.md") == generator_of("make_reference").reference(), "run `python docs/make_reference.py`"


def test_reference_check_tells_an_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = generator_of("make_reference")
    monkeypatch.setattr(generator, "PAGE", tmp_path / "cli.md")
    monkeypatch.setattr("sys.argv", ["make_reference.py", "--check"])
    assert generator.main() == 1
    monkeypatch.setattr("sys.argv", ["make_reference.py"])
    assert generator.main() == 0
    monkeypatch.setattr("sys.argv", ["make_reference.py", "--check"])
    assert generator.main() == 0


def test_reference_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = generator_of("make_reference").reference()
    assert text == text_of("cli.md")
    assert "\x1b" not in text and max(map(len, text.partition("```")[2].splitlines())) <= 100


@pytest.mark.parametrize(
    "path", [path for path, command in COMMANDS.items() if path == "cgnn" or not getattr(command, "commands", None)]
)
def test_reference_has_every_command_and_option(path: str) -> None:
    section = section_of(text_of("cli.md"), f"## {path}")
    for flag in options_of(COMMANDS[path]):
        assert mentions(section, flag), f"{path} {flag}"


def test_every_stage_option_and_choice_is_in_the_method() -> None:
    method = "".join(map(text_of, METHOD))
    for key in KEYS.values():
        text = method
        if key.section == "train":
            text += text_of("models.md") + text_of("beyond-the-paper.md") + text_of("encodings.md")
        if key.section in CONFIGS:
            assert mentions(text, option_name(key.name)), key.name
            choices = [choice for choice in get_args(key.kind) if isinstance(choice, str)]
            assert all(mentions(text, choice) for choice in choices), key.name


def test_every_import_option_is_in_the_pages_of_own_data() -> None:
    text = "".join(map(text_of, ("own-data.md", "table-files.md", "splits.md", "databases.md")))
    for flag in options_of(COMMANDS["cgnn data import"]) - options_of(COMMANDS["cgnn data show"]):
        assert mentions(text, flag), flag


def test_every_other_option_is_explained() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES if path.name != "cli.md")
    long = {flag for command in COMMANDS.values() for flag in options_of(command) if flag.startswith("--")}
    for flag in long - BASIC_OPTIONS - {"--no-l2-norm"}:
        assert mentions(text, flag), flag
    for flag in ("--dataset", "--input", "--split", "--force", "--dry-run", "--format", "--device", "--threads"):
        assert mentions(text_of("pipeline.md"), flag), flag


def test_every_environment_variable_is_in_the_pipeline_page() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(cgnn_cli.__file__).parent.rglob("*.py"))
    (table,) = tables_of(section_of(text_of("pipeline.md"), "## Environment variables"))
    documented = {name for row in table[1:] for name in names_in(row[0])}
    outside = {key.variable for key in KEYS.values() if key.section in OUTSIDE}
    assert documented == {*re.findall(r"\bCGNN_[A-Z_]+\b", sources), *outside, "NO_COLOR", "FORCE_COLOR", "TERM"}


def test_stages_are_those_of_the_tool() -> None:
    (table,) = tables_of(section_of(text_of("pipeline.md"), "## Stages"))
    documented = {row[0].strip("`"): (names_in(row[2])[0], "`" in row[0]) for row in table[1:]}
    assert documented == {name: (stage.makes, name in STAGE_COMMANDS) for name, stage in STAGES.items()}


def test_every_option_of_the_transform_is_in_its_page() -> None:
    section = section_of(text_of("pyg.md"), "## AddCommuteTimes")
    for stage in ("rewire", "dilap", "commute"):
        assert {field.name for field in fields(CONFIGS[stage])} <= set(names_in(section)), stage


@pytest.mark.parametrize(("config", "field"), [(CommuteConfig, "proximity"), (CgnnConfig, "aggregation")])
def test_tables_of_choices_are_complete(config: type, field: str) -> None:
    tables = [table for page in METHOD for table in tables_of(text_of(page))]
    table = next(table for table in tables if table[0][0] == f"`{option_name(field)}`")
    assert tuple(names_in(row[0])[0] for row in table[1:]) == get_args(get_type_hints(config)[field])


def test_the_table_of_solvers_is_complete() -> None:
    table = next(table for table in tables_of(text_of("commute-times.md")) if table[0][0] == "`--solver`")
    assert {names_in(row[0])[0] for row in table[1:]} == set(SOLVERS)


# --- the pages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", SECTIONS)
def test_sections(page: str) -> None:
    assert tuple(re.findall(r"^## (.*)$", prose_of(text_of(page)), flags=re.MULTILINE)) == SECTIONS[page]


def test_every_experiment_has_its_section() -> None:
    found = (*SECTIONS["reproduction-scores.md"], *SECTIONS["reproduction-times.md"])
    assert sorted(found) == sorted(EXPERIMENTS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_can_be_read_in_one_go(path: Path) -> None:
    words = len(path.read_text(encoding="utf-8").split())
    assert words <= WORDS or path.name in REFERENCES, f"{words} words answer more than one question: make it two pages"


def anchors_of(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose_of(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=lambda path: path.name)
def test_links_resolve(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", prose_of(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        linked = path.parent / target if target else path
        assert linked.exists(), target
        assert not anchor or anchor in anchors_of(linked.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_index_has_every_page() -> None:
    linked = re.findall(r"^- \[([\w.-]+)\]\(\1\): \S", text_of("index.md"), flags=re.MULTILINE)
    notebooks = [path.name for path in DOCS.glob("*.ipynb")]
    assert sorted([*linked, "index.md"]) == sorted([*(path.name for path in PAGES), *notebooks])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_names_a_path_of_some_machine(path: Path) -> None:
    folders = "work|root|tmp|home|usr|var|opt|mnt|media|srv|data|Users"
    assert not re.findall(rf"(?<![\w.~/<])/(?:{folders})\b[^\s]*", path.read_text(encoding="utf-8"))


# --- examples --------------------------------------------------------------------------------------------------------


def as_pattern(line: str) -> str:
    """An example's line as a pattern: `...`, KEY, keys and seconds stand for anything of their kind."""
    text = re.escape(re.sub(r"\s+", " ", line.strip())).replace(r"\ ", r"\s+")
    text = text.replace(r"\.\.\.", ".*").replace("KEY", "[0-9a-f]{32}")
    text = re.sub(r"(?<![0-9a-f])[0-9a-f]{12}(?![0-9a-f])", "[0-9a-f]{12}", text)
    return re.sub(r"\d+\\\.\d\d\\s\+s$", r"\\d+\\.\\d\\d\\s+s", text)


def plain_lines(output: str) -> list[str]:
    """Printed lines without the frames of tables."""
    return [re.sub(r"[\u2500-\u257f]", " ", line).strip() for line in output.splitlines()]


class Reader:
    """Does what a reader of a page does: saves its files, types its commands, compares what is shown."""

    def __init__(self, cgnn: FrontDoor) -> None:
        self.cgnn, self.code, self.commands = cgnn, 0, 0

    def follow(self, block: Block) -> None:
        if block.info[:1] == ["console"]:
            text = "\n".join(block.lines)
            for example in re.findall(r"^\$ .*(?:\n(?!\$ ).*)*", text, flags=re.MULTILINE):
                command, *shown = example.splitlines()
                self.type(command.removeprefix("$ "), shown)
        elif block.info[:1] == ["python"]:
            exec("\n".join(block.lines), {})
        elif len(block.info) == 2:
            Path(block.info[1]).write_text("\n".join(block.lines) + "\n", encoding="utf-8")

    def type(self, command: str, shown: list[str]) -> None:
        self.commands += 1
        if command == "echo $?":
            assert shown == [str(self.code)]
            return
        inner = re.sub(r"\$\((cgnn [^()]*)\)", lambda match: self.cgnn.ok(*shlex.split(match[1])[1:]).path, command)
        name, *arguments = shlex.split(inner)
        assert name == "cgnn", command
        result = self.cgnn(*arguments)
        self.code = result.code
        assert (result.code != 0) == any(line.startswith("error: ") for line in shown), (command, result)
        printed = plain_lines(result.out + result.err)
        for line in shown:
            assert any(re.fullmatch(as_pattern(line), found) for found in printed), (command, line, printed)


@pytest.mark.parametrize(("page", "least"), EXECUTED.items())
def test_examples_run(page: str, least: int, cgnn: FrontDoor) -> None:
    reader = Reader(cgnn)
    for block in blocks_of(GIVEN[page]) if page in GIVEN else []:
        if len(block.info) == 2:
            reader.follow(block)
    for block in blocks_of(page):
        reader.follow(block)
    assert reader.commands >= least


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_page_with_examples_has_its_reader(path: Path) -> None:
    examples = [block for block in blocks_of(path.name) if block.info[:1] in (["console"], ["python"])]
    assert not examples or path.name in EXECUTED or path.name in ELSEWHERE


SCRIPTED = [path.name for path in PAGES if shell_of(path.name)] + ["README.md"]


@pytest.mark.parametrize("page", SCRIPTED)
def test_shell_scripts_are_valid_and_name_real_commands(page: str) -> None:
    """What takes hours, downloads, or needs a cluster or a server is not run: `sh` blocks and indented commands."""
    for script in shell_of(page):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        for line in re.findall(r"\bcgnn ([a-z](?:[^)|>#\"\\\n]|\\\n|\"[^\"]*\")*)", script):
            words = line.replace("\\\n", " ").split()
            name = next(name for name in (f"cgnn {' '.join(words[:2])}", f"cgnn {words[0]}") if name in COMMANDS)
            assert {word for word in words if word.startswith("--")} <= options_of(COMMANDS[name]), line


def test_the_readme_goes_from_data_frames_to_a_ranking_in_eight_lines(
    cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On small tables of the payments test, with a short search."""
    size = Size(accounts=400, payments=2400, merchants=10, in_rings=40, labelled=200)
    made = make_payments(size, 0)
    write_files(made, Path(), np.random.default_rng(0))
    (block,) = [block for block in blocks_of("README.md") if block.info == ["python"]]
    assert len(block.lines) <= 8
    monkeypatch.setenv("CGNN_TRAIN_EPOCHS", "5")
    scope: dict[str, Any] = {}
    exec("\n".join(block.lines).replace("trials=12", "trials=2"), scope)
    assert "p_fraud" in capsys.readouterr().out
    ranked = scope["model"].ranked("fraud", 100)
    assert len(ranked) == 100 and ranked["p_fraud"].is_monotonic_decreasing
    assert not set(ranked["id"]) & set(made.ids[made.labelled])
    listed = cgnn.ok("predict", "--class", "fraud", "--top", 100, "--json").json["summary"]["ranked"]
    assert [row["id"] for row in listed] == ranked["id"].tolist()


def test_the_python_page_has_every_public_name() -> None:
    from cgnn_cli import api

    text = text_of("python-api.md")
    for name in (*api.__all__, *cgnn_cli.__all__):
        assert mentions(text, name), name


def test_the_settings_page_has_every_section_and_compute_key() -> None:
    (table,) = tables_of(section_of(text_of("configuration.md"), "## Sections and keys"))
    documented = {name: names_in(row[1]) for row in table[1:] for name in names_in(row[0]) or [""]}
    stages = {section for section, config in SETTING_SECTIONS.items() if fields(config)} - set(OUTSIDE)
    assert set(documented) == {"", *stages}
    assert set(documented["compute"]) == {field.name for field in fields(SETTING_SECTIONS["compute"])}
    assert set(documented[""]) == {key.name for key in KEYS.values() if key.section in OUTSIDE}


def test_the_notation_page_names_real_attributes() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(cgnn_cli.__file__).parent.rglob("*.py"))
    (table,) = tables_of(text_of("notation.md"))
    assert len(table) > 15
    for row in table[1:]:
        for name in names_in(row[1]):
            assert mentions(sources, name.split(".")[-1]), name


def test_dry_run_writes_nothing(cgnn: FrontDoor, tmp_path: Path) -> None:
    cgnn.ok("train", "--dataset", "demo", "--dry-run")
    assert not list(tmp_path.iterdir())


# --- exit codes and JSON ---------------------------------------------------------------------------------------------


def test_exit_codes_are_those_of_the_tool() -> None:
    table = next(table for table in tables_of(text_of("exit-codes.md")) if table[0][0] == "code")
    assert {int(code): meaning for code, meaning, _ in table[1:]} == EXIT_CODES
    assert all(advice for _, _, advice in table[1:])


def test_json_fields(cgnn: FrontDoor) -> None:
    table = next(table for table in tables_of(text_of("exit-codes.md")) if table[0][0] == "field")
    documented = {names_in(row[0])[0]: row[1] for row in table[1:]}
    common = {name for name, commands in documented.items() if commands == "all"}
    rewire = cgnn.ok("rewire", "--dataset", "demo", "-q").path
    calls: dict[str, list[tuple[str, ...]]] = {
        "stages": [("rewire", "--dataset", "demo"), ("rewire", "--dataset", "demo", "--dry-run")],
        "header elements": [("show", rewire)],
        "source": [("export", rewire, "--to", "csv", "--output", "edges.csv")],
        "": [("models",), ("data", "list"), ("data", "show", "demo"), ("show", rewire, rewire)],
    }
    for own, commands in calls.items():
        for arguments in commands:
            assert set(cgnn.ok(*arguments, "--json", "-q").json) == common | set(own.split()), arguments
    assert set(documented) == common | set(" ".join(calls).split())


# --- the artifact format ---------------------------------------------------------------------------------------------

FORMAT = "artifact-format.md"


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for the demo graph; the first test that asks for an artifact computes it."""
    return tmp_path_factory.mktemp("store")


def write_standin(mirror: Path) -> None:
    """A small graph in place of a benchmark's."""
    folder = mirror / "roman_empire"
    folder.mkdir(parents=True)
    arrays: dict[str, Any] = dict(toy_arrays())
    np.savez(folder / "roman_empire_directed.npz", **arrays)


DATED = [*zip("abccdd", "bcadae", strict=True)]


def artifacts_of_every_kind(cgnn: FrontDoor, shared_store: Path) -> dict[str, list[Artifact]]:
    """Artifacts of all stages: of the demo graph, and of a small one with node ids, dense features and no rewiring."""
    Path("edges.csv").write_text("a,b\nb,c\nc,a\nc,d\nd,a\nd,e\n")
    Path("labels.csv").write_text("a,x\nb,y\nc,x\nd,y\ne,x\n")
    Path("splits.csv").write_text("a,train\nb,train\nc,val\nd,val\ne,test\n")
    files_given = ("--edges", "edges.csv", "--labels", "labels.csv", "--splits", "splits.csv")
    own = Path("own").absolute()
    cgnn.ok("data", "import", "own", *files_given, "--no-header", "--store", own, "-q")
    cgnn.ok(
        "run",
        "--dataset",
        "own",
        "--method",
        "none",
        "--solver",
        "exact",
        "--self-share",
        0,
        *("--metric", "auc", "--metric-class", "x", "--calibrate", "--target-recall", 0.5),
        *TINY,
        "--store",
        own,
        "-q",
    )
    Path("dated.csv").write_text("payer,payee,day\n" + "".join(f"{a},{b},{day}\n" for day, (a, b) in enumerate(DATED)))
    Path("ages.csv").write_text("id,age\n" + "".join(f"{node},{place}\n" for place, node in enumerate("abcde")))
    dates = ("--time-column", "day", "--train-before", 3)
    tables = ("--edges", "dated.csv", "--labels", "labels.csv", "--features", "ages.csv")
    dated = cgnn.ok("data", "import", "dated", *tables, *dates, "--store", "dated", "-q").path
    cgnn.ok("run", "--no-compare", "--split", 0, *TINY, "--store", shared_store, "-q")
    write_standin(Path("mirror"))
    other = Path("other").absolute()
    source = ("--dataset", "roman-empire", "--mirror", "mirror", "--accept-standin", "--undirected", "--store", other)
    cgnn.ok(
        "run",
        *source,
        "--featureless",
        "--method",
        "teleport",
        "--solver",
        "sketch",
        "--verify",
        5,
        *TINY,
        "--split",
        0,
        "-q",
    )
    chosen = Path("chosen").absolute()
    source = (*source[:-1], chosen)
    cgnn.ok(
        "run",
        *source,
        "--solver",
        "series",
        "--tolerance",
        0.1,
        "--proximity",
        "affinity",
        "--method",
        "none",
        *TINY,
        "--split",
        0,
        "-q",
    )
    cgnn.ok("rewire", "--dataset", "own", "--method", "escape", "--store", own, "-q")
    found: dict[str, list[Artifact]] = {}
    for stage in STAGES:
        for root in (own, shared_store, other, chosen):
            header = Store(root).latest(stage)
            assert header is not None
            found.setdefault(stage, []).append(files.read(Store(root).path(stage, header.key)))
    found["graph"].append(files.read(Path(dated)))
    return found


def written(elements: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Documented name and type of each element of an artifact."""
    for name, element in elements.items():
        path = re.sub(r"\.\d+\.", ".<k>.", prefix + name)
        path = re.sub(r"^matrices/.*", "matrices/<name>", path)
        if isinstance(element, Mapping):
            yield from written(element, path + "/")
        elif encodings.is_csr(element):
            yield path, f"CSR {element.dtype}"
        else:
            yield path, "strings" if element.dtype.kind == "S" else str(element.dtype)


def test_every_element_is_documented_and_exists(cgnn: FrontDoor, shared_store: Path) -> None:
    found = artifacts_of_every_kind(cgnn, shared_store)
    documented = {}
    for stage in STAGES:
        section = section_of(text_of(FORMAT), f"### {stage}: `{files.FILE_TYPES[stage]}`")
        elements, summary = tables_of(section)
        assert elements[0] == ["element", "dtype", "shape", "meaning"] and summary[0] == ["summary field", "meaning"]
        documented[stage] = {names_in(row[0])[0]: row for row in elements[1:]}
        fields_written = {field for artifact in found[stage] for field in artifact.header.summary}
        assert "standin" in fields_written
        fields_written -= set() if stage == "graph" else {"standin"}
        assert fields_written == {name for row in summary[1:] for name in names_in(row[0])}, stage
        for role in {role.split("-")[0] for artifact in found[stage] for role in artifact.header.inputs}:
            named = rf"^Inputs:.*(\n.*)?`{role}(-<split>|-<kind>)?`"
            assert re.search(named, section, flags=re.MULTILINE), (stage, role)
    for stage, rows in documented.items():
        for artifact in found[stage]:
            if stage == "train":
                assert set(rows) == {"fits/<split>", *LATER} and set(artifact.elements) == {"fits"}
                for fit in artifact.elements["fits"].values():
                    known = {*documented["fit"], *(name.removeprefix("fits/<split>/") for name in LATER)}
                    assert {name for name, _ in written(fit)} <= known
                continue
            kinds = dict(written(artifact.elements))
            assert set(kinds) <= set(rows), stage
            assert set(rows) - set(kinds) <= {name for name, row in rows.items() if row[3].startswith("optional")}
            for name, kind in kinds.items():
                assert all(word in rows[name][1] for word in kind.split()), (stage, name, kind)
        everything = {name for artifact in found[stage] for name, _ in written(artifact.elements)}
        assert stage == "train" or everything == set(rows), stage


def test_header_and_encodings_are_documented(cgnn: FrontDoor, shared_store: Path) -> None:
    path = cgnn.ok("rewire", "--dataset", "demo", "--store", shared_store, "-q").path
    (attributes,) = tables_of(section_of(text_of(FORMAT), "## Root attributes"))
    header, provenance = tables_of(section_of(text_of(FORMAT), "## Header"))
    with h5py.File(path) as file:
        assert {names_in(row[0])[0] for row in attributes[1:]} == set(file.attrs)
    assert [names_in(row[0])[0] for row in header[1:]] == [field.name for field in fields(Header)]
    always = {"ranks"} ^ {names_in(row[0])[0] for row in provenance[1:]}  # all but what torchrun adds
    assert always == set(files.read(Path(path)).header.provenance)
    (table,) = tables_of(section_of(text_of(FORMAT), "## Elements"))
    assert {tuple(names_in(row[2]) + names_in(row[3])) for row in table[1:]} == {
        encodings.ARRAY,
        encodings.STRINGS,
        encodings.CSR,
        encodings.DICT,
        encodings.PACKED,
    }
    assert f"# Artifact format, version {files.FORMAT_VERSION}\n" in text_of(FORMAT)


def test_documented_readers_verify_every_artifact(cgnn: FrontDoor, shared_store: Path) -> None:
    cgnn.ok("run", "--no-compare", "--split", 0, *TINY, "--store", shared_store, "-q")
    scope: dict[str, Any] = {}
    for block in blocks_of(FORMAT):
        if block.info == ["python"]:
            exec("\n".join(block.lines), scope)
    paths = list(shared_store.glob("*/*.h5"))
    assert {path.parent.name for path in paths} == set(STAGES)
    for path in paths:
        scope["verify"](path)
    summary, adjacency, names = scope["read_graph"](next(shared_store.glob("graph/*.h5")))
    assert adjacency.shape == (summary["nodes"],) * 2 and len(names) == summary["classes"]


def test_npz_layout_and_store_layout(cgnn: FrontDoor) -> None:
    path = Path(cgnn.ok("rewire", "--dataset", "demo", "--format", "npz", "-q").path)
    section = section_of(text_of(FORMAT), "## NPZ")
    with np.load(path, allow_pickle=False) as archive:
        parts = {"adjacency/data", "adjacency/indices", "adjacency/indptr", "adjacency/shape", "nodes", "order"}
        assert set(archive.files) == {files.NPZ_HEADER, *parts}
        header = archive[files.NPZ_HEADER].tobytes().decode()
    assert f"`{files.NPZ_HEADER}`" in section
    assert all(f'"{name}": ' in section for name in files.json.loads(header))
    (table,) = tables_of(section_of(text_of(FORMAT), "## The store"))
    patterns = {name for row in table[1:] for name in names_in(row[0])}
    for found in path.parents[1].glob("*/*"):
        name = str(found.relative_to(path.parents[1])).replace(found.stem.split("-")[-1], "<key>")
        name = re.sub(rf"\b({'|'.join(STAGES)})\b", "<stage>", name)
        layouts = {"datasets/<key>.json": "datasets/<name>.json", "latest/<key>.json": "latest/<stage>.json"}
        name = layouts.get(name, name)
        assert name in patterns or found.suffix in patterns, name
    record = files.json.loads(path.with_suffix(".json").read_text())
    row = next(row for row in table if row[0] == "`<stage>/<key>.json`")
    assert set(names_in(row[1])) == set(record)


def test_columns_of_exported_files(cgnn: FrontDoor, shared_store: Path) -> None:
    cgnn.ok("run", "--no-compare", "--split", 0, *TINY, "--store", shared_store, "-q")
    (table,) = tables_of(section_of(text_of("pipeline.md"), "## Look inside"))
    documented = {stage: row[1].replace(" ", "") for row in table[1:] for stage in row[0].split(", ")}
    written_columns = {}
    for stage in STAGES:
        path = next((shared_store / stage).glob("*.h5"))
        cgnn.ok("export", path, "--to", "csv", "--output", "table.csv", "--store", shared_store, "-q")
        written_columns[stage] = Path("table.csv").read_text(encoding="utf-8").splitlines()[0]
    assert written_columns == documented


# --- figures ---------------------------------------------------------------------------------------------------------


def test_figures_of_the_method_page(cgnn: FrontDoor, shared_store: Path) -> None:
    section = section_of(text_of("method.md"), "## What to know about the weights")
    (table,) = tables_of(section)
    times = {}
    for solver, median, effective, neighbours in table[1:]:
        given = ("--dataset", "demo", "--solver", solver, "--store", shared_store, "-q", "--json")
        result = cgnn.ok("commute", *given).json
        summary = result["summary"]
        assert float(median) == pytest.approx(summary["commute"]["median"], rel=0.05)
        assert float(effective) == pytest.approx(summary["effective_neighbours_out"]["mean"], abs=0.02)
        assert float(neighbours) == pytest.approx(summary["effective_neighbours_out"]["neighbours"], abs=0.005)
        times[solver] = files.read(Path(result["artifact"])).elements["commute"]
    assert set(times) == {"svd", "exact", "pi-only"}
    correlation = re.search(r"rank correlation of the two is (0\.\d+)", section)
    assert correlation is not None
    assert float(correlation[1]) == pytest.approx(spearmanr(times["exact"], times["pi-only"])[0], abs=0.0005)
