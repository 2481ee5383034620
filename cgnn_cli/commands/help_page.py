"""The help of commands: one screen of what most people need, and everything with `--help-all`.

Which options stand on that screen, and in which order, is the `common` of a command. docs/cli.md has the same text.
"""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from cgnn_cli.commands.console import stdout_console, styled
from cgnn_cli.commands.options import OUTPUT_PANEL, keyword, option

WIDEST = 100
ARGUMENT = type(typer.Argument())
NO_BREAK = "\u00a0"
HEADING, NAME, EXAMPLE = "bold", "bold cyan", "green"
METAVARS: dict[Any, str] = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}
HELP_ROW = [("--help, --help-all", "Show this message and exit.")]
HELP_ROWS = [("--help", "Show what most people need, and exit."), ("--help-all", "Show this message and exit.")]
Row = tuple[str, str]
Pieces = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """What the help of a command says, or of a group of commands.

    common: the options that `--help` shows, in their order; None: all of them. brief, panel: its line in the list of
    commands, and the heading above that. label: what stands before the example; last: what stands at the end.
    """

    name: str
    help: str
    parameters: Sequence[inspect.Parameter] = ()
    common: str | None = None
    example: str = ""
    label: str = "Example"
    brief: str | None = None
    panel: str = "Commands"
    last: str = ""

    def usage(self) -> str:
        """How it is called: with its arguments and the options that it cannot do without."""
        needed = [each for each in self.parameters if _is_argument(each) or _is_required(each)]
        words = [_flags(each)[0] + _takes(each) for each in needed]
        return " ".join(["Usage:", self.name, *words, "[OPTIONS]", *["COMMAND ..."] * bool(self._members())])

    def panels(self, *, everything: bool) -> dict[str, list[Row]]:
        """What is listed, by heading."""
        found: dict[str, list[Row]] = {}
        if arguments := rows_of(filter(_is_argument, self.parameters)):
            found["Arguments"] = arguments
        for page in self._members():
            text = page.brief or page.help.partition(";")[0].rstrip(".") + "."
            text += f"\n{page.example}" if everything and page.example else ""
            found.setdefault(page.panel, []).append((page.name.rpartition(" ")[2], text))
        if not (everything or self.common is None):
            return found | ({"Options": rows_of(self._shown(), negation=False)} if self.common else {})
        for each in self._options():
            found.setdefault(_info(each).rich_help_panel or "Options", []).extend(rows_of([each]))
        last = OUTPUT_PANEL if OUTPUT_PANEL in found else "Options"
        found.setdefault(last, []).extend(HELP_ROW if self.common is None else HELP_ROWS)
        return found

    def hidden(self) -> int:
        """How many options `--help` leaves out."""
        return len(self._options()) - len(self._shown())

    def _shown(self) -> list[inspect.Parameter]:
        by_flag = {_flags(each, negation=False)[0]: each for each in self._options()}
        return [by_flag[flag] for flag in (self.common or "").split()]

    def _options(self) -> list[inspect.Parameter]:
        return [each for each in self.parameters if not _is_argument(each)]

    def _members(self) -> list[Page]:
        return [page for page in PAGES.values() if page.name.rpartition(" ")[0] == self.name]


PAGES: dict[str, Page] = {}


def add_page(page: Page) -> None:
    PAGES[page.name] = page


def show_page(name: str, *, everything: bool) -> None:
    """Print a page as wide as the terminal, but no wider than is easily read."""
    text = joined(pieces(PAGES[name], terminal_width(), everything=everything))
    stdout_console().print(text, soft_wrap=True, end="")


def terminal_width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def joined(parts: Pieces) -> Text:
    """Pieces as one text."""
    text = styled("")
    for part, style in parts:
        text.append(part, style)
    return text


def pieces(page: Page, width: int, *, everything: bool) -> Pieces:
    """The text of a page, piece by piece with the style of each."""
    yield _filled(page.usage(), width) + "\n", ""
    yield _filled(page.help, width), ""
    if page.example:
        yield f"\n{page.label}: ", HEADING
        yield page.example + "\n", EXAMPLE
    panels = page.panels(everything=everything)
    column = _column([row for rows in panels.values() for row in rows], width)
    for title, rows in panels.items():
        yield f"\n{title}:\n", HEADING
        yield from listed(rows, width, column)
    if page.last:
        yield "\n" + _filled(page.last, width), ""
    if page.common is not None and not everything:
        yield "" if page.last else "\n", ""
        yield "--help-all", NAME
        yield f" shows the other {page.hidden()} options.\n", ""


def listed(rows: Sequence[Row], width: int, column: int | None = None) -> Pieces:
    """Names on the left, what they mean on the right; on the next line where a name is long."""
    column = column or _column(rows, width)
    indent = " " * column
    for name, text in rows:
        left = f"  {name}"
        if beside := len(left) + 2 <= column:
            yield left, NAME
        else:  # broken between choices alone
            parts = _wrapped(name.replace("|", "| "), width, "  ")
            yield "\n".join(parts).replace("| ", "|") + "\n", NAME
        lines = [line for part in text.split("\n") for line in _wrapped(part, width, indent)]
        yield "\n".join(lines)[len(left) if beside else 0 :] + "\n", ""


def _column(rows: Iterable[Row], width: int) -> int:
    """Where texts begin: beside most names, with two thirds of the width at least."""
    return max((len(name) + 4 for name, _ in rows if len(name) + 4 <= width // 3), default=width // 3)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a text; what stands in brackets or backticks stays on one."""
    whole = re.sub(r"`[^`]*`|\[[^]]*\]", lambda found: found[0].replace(" ", NO_BREAK), text)
    wrapper = textwrap.TextWrapper(width, indent, indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in wrapper.wrap(whole)]


def _filled(text: str, width: int) -> str:
    return "\n".join(_wrapped(text, width)) + "\n"


def _info(parameter: inspect.Parameter) -> Any:
    return parameter.annotation.__metadata__[0]


def _is_argument(parameter: inspect.Parameter) -> bool:
    return isinstance(_info(parameter), ARGUMENT)


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _flags(parameter: inspect.Parameter, *, negation: bool = True) -> list[str]:
    """The names of an option, inside Annotated the first where a default would lie; or that of an argument."""
    info = _info(parameter)
    if _is_argument(parameter):
        return [str(info.metavar) if _is_required(parameter) else f"[{info.metavar}]"]
    flags = [flag for flag in (info.default, *(info.param_decls or ())) if isinstance(flag, str)]
    return flags if negation else [flag.partition("/")[0] for flag in flags]


def _takes(parameter: inspect.Parameter) -> str:
    """What an option is followed by."""
    kind = typing.get_args(parameter.annotation)[0]
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    kind = next(item for item in kinds if item is not types.NoneType)
    kind = typing.get_args(kind)[0] if typing.get_origin(kind) is list else kind
    if kind is bool or _is_argument(parameter):
        return ""
    choices = "|".join(typing.get_args(kind)) if typing.get_origin(kind) is Literal else ""
    return f" {_info(parameter).metavar or choices or METAVARS[kind]}"


def rows_of(parameters: Iterable[inspect.Parameter], *, negation: bool = True) -> list[Row]:
    """The names of arguments or options with what they take, and what they mean.

    Without `negation`, `--no-x` is shown where it changes something: not of flags that are off unless they are given.
    """
    rows = []
    for each in parameters:
        flags = _flags(each, negation=negation or isinstance(_info(each).show_default, str))
        rows.append((", ".join(flags) + _takes(each), " ".join([str(_info(each).help), *_notes(each)])))
    return rows


def _notes(parameter: inspect.Parameter) -> Iterator[str]:
    """What is told of the value of an option, in brackets."""
    if _is_argument(parameter):
        return
    shown, default, least = _info(parameter).show_default, parameter.default, _info(parameter).min
    if least is not None:
        yield f"[at least {least}]"
    if _is_required(parameter):
        yield "[required]"
    elif isinstance(shown, str):
        yield f"[default: {shown}]"
    elif shown and default is not None and not isinstance(default, bool):
        yield f"[default: {default}]"


class HelpCommand(TyperCommand):
    """A command whose help is its page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        show_page(ctx.command_path, everything=False)


class HelpGroup(TyperGroup):
    """The same for a group of commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        show_page(ctx.command_path, everything=False)


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        show_page(context.command_path, everything=True)
        raise typer.Exit


HelpAllOption = Annotated[bool, option("--help-all", "", is_eager=True, callback=_show_all)]
HELP_ALL = keyword("help_all", False, HelpAllOption)
