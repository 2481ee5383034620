"""Writes docs/cli.md, the reference of the command line, from the options that the commands declare.

python docs/make_reference.py           writes the page
python docs/make_reference.py --check   exits with 1 if the page is out of date

The texts are those of `cgnn COMMAND --help`. They are laid out here, in plain text, so that the page depends on no
terminal and on no release of the libraries that draw the help.
"""

import inspect
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import typer
from typer.models import ArgumentInfo, OptionInfo

from cgnn_cli.commands.main import app

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 100
HELP_COLUMN = 30
INTRODUCTION = """\
# Command line

Every command and option of `cgnn`, as `--help` explains them. `python docs/make_reference.py` writes this page.

Examples are in [pipeline.md](pipeline.md) and [own-data.md](own-data.md); the equations behind the options are in
[method.md](method.md), the exit codes in [exit-codes.md](exit-codes.md).
"""
HELP_OPTION = ("--help", "Show this message and exit.")
COMPLETION_OPTIONS = (
    ("--install-completion", "Install completion for the current shell."),
    ("--show-completion", "Show completion for the current shell, to copy it or customize the installation."),
)
METAVARS: dict[Any, str] = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}
Rows = list[tuple[str, str]]


def reference() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(f"\n## {title}\n\n```text\n{body}```\n" for title, body in sections())


def sections() -> Iterator[tuple[str, str]]:
    """Title and text of the application and of each command, in the order of the help."""
    panels: dict[str, Rows] = {}
    for info in app.registered_commands:
        panels.setdefault(str(info.rich_help_panel), []).append((str(info.name), str(info.help)))
    for group in app.registered_groups:
        members = group.typer_instance.registered_commands if group.typer_instance else []
        rows = [(f"{group.name} {info.name}", str(info.help)) for info in members]
        panels.setdefault(str(group.rich_help_panel), []).extend(rows)
    callback = app.registered_callback.callback if app.registered_callback else None
    options = {"Options": [*_parameters(callback)["Options"], *COMPLETION_OPTIONS, HELP_OPTION]}
    usage = "Usage: cgnn [OPTIONS] COMMAND [ARGS]..."
    yield "cgnn", _text(usage, str(app.info.help), {**options, **panels}, str(app.info.epilog))
    yield from _commands(app, "cgnn")


def _commands(application: typer.Typer, prefix: str) -> Iterator[tuple[str, str]]:
    for info in application.registered_commands:
        panels = _parameters(info.callback)
        panels.setdefault("Output", []).append(HELP_OPTION)
        arguments = "".join(f" {flags}" for flags, _ in panels.get("Arguments", []))
        usage = f"Usage: {prefix} {info.name} [OPTIONS]{arguments}"
        yield f"{prefix} {info.name}", _text(usage, str(info.help), panels, info.epilog or "")
    for group in application.registered_groups:
        if group.typer_instance is not None:
            yield from _commands(group.typer_instance, f"{prefix} {group.name}")


def _text(usage: str, help_text: str, panels: dict[str, Rows], epilog: str) -> str:
    parts = [usage, textwrap.fill(help_text, WIDTH)]
    parts += [f"{title}:\n" + "\n".join(_row(*row) for row in rows) for title, rows in panels.items()]
    parts += [textwrap.fill(epilog, WIDTH)] if epilog else []
    return "\n\n".join(parts) + "\n"


def _row(flags: str, help_text: str) -> str:
    """Flags on the left, help on the right; on the next line where the flags are long."""
    indent = " " * HELP_COLUMN
    text = textwrap.fill(help_text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    left = f"  {flags}"
    return f"{left:<{HELP_COLUMN}}{text[HELP_COLUMN:]}" if len(left) < HELP_COLUMN - 1 else f"{left}\n{text}"


def _parameters(callback: Callable[..., Any] | None) -> dict[str, Rows]:
    """The arguments and options of a command by panel."""
    panels: dict[str, Rows] = {}
    if callback is None:
        return panels
    for parameter in inspect.signature(callback, eval_str=True).parameters.values():
        kind, info = typing.get_args(parameter.annotation)
        if isinstance(info, ArgumentInfo):
            name = str(info.metavar)
            shown = name if parameter.default is inspect.Parameter.empty else f"[{name}]"
            panels.setdefault("Arguments", []).append((shown, str(info.help)))
        else:
            title = info.rich_help_panel or "Options"
            panels.setdefault(str(title), []).append(_option(parameter, kind, info))
    return panels


def _option(parameter: inspect.Parameter, kind: Any, info: OptionInfo) -> tuple[str, str]:
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    kind = next(item for item in kinds if item is not type(None))
    repeated = typing.get_origin(kind) is list
    kind = typing.get_args(kind)[0] if repeated else kind
    choices = "|".join(typing.get_args(kind)) if typing.get_origin(kind) is Literal else ""
    metavar = "" if kind is bool else f" {info.metavar or choices or METAVARS[kind]}"
    # Inside Annotated the first flag lies where a default would.
    declared = [flag for flag in (info.default, *(info.param_decls or ())) if isinstance(flag, str)]
    flags = ", ".join(flag.replace("/", " / ") for flag in declared)
    notes = "".join(f" [{note}]" for note in _notes(parameter.default, info, repeated=repeated))
    return flags + metavar, f"{info.help}{notes}"


def _notes(default: Any, info: OptionInfo, *, repeated: bool) -> Iterator[str]:
    if repeated:
        yield "may be repeated"
    if info.min is not None:
        yield f"at least {info.min}"
    if default is inspect.Parameter.empty:
        yield "required"
    elif isinstance(info.show_default, str):
        yield f"default: {info.show_default}"
    elif info.show_default and default is not None and not isinstance(default, bool):
        yield f"default: {default}"


def main() -> int:
    """Write the page, or check that it is current."""
    text = reference()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/cli.md is out of date: run `python docs/make_reference.py`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
