"""`cgnn init`: a commented cgnn.toml for the tables in the working folder, and the commands to type next."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgnn_cli.commands.options import MEMORY_LIMIT, option
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import option_name
from cgnn_cli.datasets.generated import DEMO
from cgnn_cli.datasets.registry import check_import_name
from cgnn_cli.errors import UsageError
from cgnn_cli.printable import printable
from cgnn_cli.settings import DEFAULT_FILE, KEYS
from cgnn_cli.store.outputs import check_output, write_output

if TYPE_CHECKING:
    from cgnn_cli.datasets.files.folder import Look, Way

RARE = 0.2  # of the labelled nodes: a class with less than so many is looked for with other metrics
# What the file shows, with an example where the default is no value.
SHOWN: dict[str, Any] = {
    "store": None,
    "graph.undirected": None,
    "rewire.method": None,
    "commute.solver": None,
    "commute.proximity": None,
    "train.model": None,
    "train.layers": None,
    "train.hidden": None,
    "train.dropout": None,
    "train.lr": None,
    "train.epochs": None,
    "train.metric": None,
    "train.class_weights": None,
    "compute.device": None,
    "compute.threads": 0,
    "compute.jobs": None,
    "compute.memory_limit": None,
}
OWN_HELP = {"store": "Folder of cached artifacts."}
HEAD = """\
# Settings of cgnn for this folder. An option of the command line stands above a line here; `cgnn config show` prints
# what is in force. A line such as `# hidden = 64` shows a default: take its # away to change it.
"""


def register(app: typer.Typer) -> None:
    command(
        app,
        "init",
        init,
        help="Write a commented cgnn.toml for the tables in this folder, and print the commands to type next.",
        brief="A cgnn.toml for the tables in this folder, and what to type next.",
        example="cgnn init",
        panel="From a graph to scores",
        common="--force --json",
        extra=MEMORY_LIMIT,
    )


def init(
    session: Session,
    force: Annotated[bool, option("--force", "Replace a cgnn.toml that is there.")] = False,
) -> Outcome:
    """Look at the tables as an import would, write what they lead to, and import nothing."""
    path = Path(DEFAULT_FILE)
    check_output(path)
    if path.exists() and not force:
        raise UsageError(f"there is a {path} already", "--force replaces it")
    from cgnn_cli.datasets.files.folder import look_at

    session.talker.begins("looking at the tables in this folder")
    look = look_at(Path())
    name = _dataset_name(Path.cwd().name) if look.ways else DEMO
    ways = [["cgnn", "data", "import", name, *_words(way.options)] for way in look.ways]
    for message in _said(look):
        session.talker.note(message)
    following = [*([shlex.join(ways[0])] if len(ways) == 1 else []), *_following(name, look)]
    write_output(path, _file(name, look, ways, following).encode())
    session.talker.say(f"{path} is written; type next:")
    if len(ways) > 1:
        session.talker.say(f"one of the {len(ways)} imports that stand in {path}, then")
    summary = {
        "dataset": name,
        "tables": [str(table) for table in look.tables],
        "imports": [shlex.join(way) for way in ways],
        "doubts": look.doubts,
        "next": following,
    }
    return Outcome.of("\n".join(following), summary, artifact=path, cache=None)


def _dataset_name(folder: str) -> str:
    """The name of the folder, as far as a dataset can have it."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-._")[:100]
    try:
        check_import_name(name)
    except UsageError:
        return "mine"
    return name


def _words(options: dict[str, Any]) -> list[str]:
    """Options of an import as words of a command."""
    words: list[str] = []
    for name, value in options.items():
        flag = option_name(name)
        words += [flag if value else f"--no-{flag[2:]}"] if isinstance(value, bool) else [flag, str(value)]
    return words


def _said(look: Look) -> list[str]:
    """What a person should know who does not open the file."""
    if not look.tables:
        return ["there is no table here (.csv, .tsv, .parquet): the settings are for the demo graph"]
    if not look.ways:
        faults = [*look.faults.values()] or look.doubts
        return ["no table here can be taken for edges: the settings are for the demo graph", *faults]
    if len(look.ways) == 1:
        return look.ways[0].notes
    return look.doubts


def _following(name: str, look: Look) -> list[str]:
    """What to type after the import."""
    if name != DEMO and not any(way.classes for way in look.ways):
        return ["cgnn diagnose", "cgnn run"]
    return ["cgnn diagnose", "cgnn tune --minutes 5", "cgnn run --preset auto", "cgnn predict --output predictions.csv"]


def _file(name: str, look: Look, ways: list[list[str]], following: list[str]) -> str:
    """The text of the file."""
    lines = [*HEAD.splitlines(), ""]
    if len(ways) > 1:
        lines += ["# The tables can be taken in more than one way:", *(f"# - {doubt}" for doubt in look.doubts)]
        lines += ["# Type one of these, then the commands below:"]
    for way, words in zip(look.ways, ways, strict=True):
        lines += _told(way, words, alone=len(ways) == 1)
    lines += ["# Type next:", *(f"#   {line}" for line in following), ""]
    lines += ["# Name of the dataset that is taken where --dataset is not given.", f"dataset = {json.dumps(name)}"]
    section = ""
    for path, example in SHOWN.items():
        key = KEYS[path]
        if key.section not in ("", section):
            section = key.section
            lines += ["", f"[{section}]"]
        if path == "train.class_weights" and look.ways and (rare := _rare(look.ways[0])):
            lines += [f"# {rare}"]
        help_text = OWN_HELP.get(path) or key.metadata["help"]
        value = key.default if example is None else example
        lines += [f"# {' '.join(help_text.split())}", f"# {key.name} = {json.dumps(value)}"]
    return "\n".join(printable(line) for line in lines) + "\n"


def _told(way: Way, words: list[str], *, alone: bool) -> list[str]:
    """One way to take the tables, as comments."""
    lines = ["# The tables here, as an import takes them:"] if alone else [f"#   {shlex.join(words)}"]
    indent = "# " if alone else "#     "
    lines += [f"{indent}- {note}" for note in way.notes]
    lines += [f"{indent}- not used: {reason}" for reason in way.unused.values()]
    for what, options in way.further:
        lines += [f"{indent}- {what}, add: {shlex.join(_words(options))}"]
    return lines


def _rare(way: Way) -> str:
    """The rarest class, where accuracy says little about it."""
    total = sum(way.classes.values())
    if len(way.classes) < 2:
        return ""
    name, count = min(way.classes.items(), key=lambda item: item[1])
    if count >= RARE * total:
        return ""
    return (
        f"{json.dumps(name)} is {count:,} of {total:,} labelled nodes: accuracy says little of it; "
        'metric = "average-precision" looks at each class, and class_weights = "balanced" counts them alike.'
    )
