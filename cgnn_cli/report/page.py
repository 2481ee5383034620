"""A report as data, sections of text, tables and figures, and as one HTML page, Markdown or LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Table, escape_latex, escape_markdown

if TYPE_CHECKING:
    from jinja2 import Environment

LATEX_MARKS = {  # of the template, since LaTeX is full of braces
    "block_start_string": "<%",
    "block_end_string": "%>",
    "variable_start_string": "<<",
    "variable_end_string": ">>",
    "comment_start_string": "<#",
    "comment_end_string": "#>",
}


@dataclass(frozen=True)
class Details:
    """Something that is opened by those who want it."""

    title: str
    blocks: Sequence[str | Table]


Block = str | Table | Picture | Details


@dataclass(frozen=True)
class Section:
    """A heading, blocks below it, and sections below them. A string is a paragraph."""

    title: str
    blocks: Sequence[Block] = ()
    parts: Sequence[Section] = ()

    @property
    def anchor(self) -> str:
        return slug(self.title)


@dataclass(frozen=True)
class Page:
    """A report: title, an opening paragraph, sections, a last line that says what made it, and figures to open with."""

    title: str
    lead: str
    sections: Sequence[Section]
    made_by: str
    tiles: Sequence[tuple[str, str]] = ()

    @cached_property
    def pictures(self) -> list[Picture]:
        """All figures, in the order of the page."""
        return [block for section, _ in self.walk() for block in section.blocks if isinstance(block, Picture)]

    def walk(self) -> Iterator[tuple[Section, int]]:
        """All sections in the order of the page, each with the level of its heading; the title's is 1."""
        waiting = [(section, 2) for section in reversed(self.sections)]
        while waiting:
            section, depth = waiting.pop()
            yield section, depth
            waiting += [(part, depth + 1) for part in reversed(section.parts)]


def slug(text: str) -> str:
    """Letters, digits and dashes, for names of files and places."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def to_html(page: Page) -> str:
    """One file that needs no other: style and figures are inside, and every word of the user's is escaped."""
    return _render("page.html", page, autoescape=True)


def to_markdown(page: Page) -> str:
    """The same in Markdown; figures are files beside it."""
    return _render("page.md", page, keep_trailing_newline=True)


def to_latex(page: Page) -> str:
    """A document of class article, with its tables (booktabs) and figures."""
    return _render("page.tex", page, keep_trailing_newline=True, **LATEX_MARKS)


def template(name: str, filters: dict[str, Any]) -> Any:
    """A template of this folder, which escapes all that it is given."""
    environment = _environment(autoescape=True)
    environment.filters.update(filters)
    return environment.get_template(name)


def _environment(**syntax: Any) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("cgnn_cli", "report")
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **syntax)


def _render(name: str, page: Page, **syntax: Any) -> str:
    from markupsafe import Markup

    environment = _environment(**syntax)
    environment.tests.update(
        paragraph=lambda block: isinstance(block, str),
        table=lambda block: isinstance(block, Table),
        picture=lambda block: isinstance(block, Picture),
    )
    environment.filters.update(md=escape_markdown, tex=escape_latex, drawn=lambda picture: Markup(picture.inline))
    taken: Counter[str] = Counter()

    def label(name: str) -> str:
        """A label for a table: the name, and `name:2` for the second of that name."""
        taken[name] += 1
        return name if taken[name] == 1 else f"{name}:{taken[name]}"

    return environment.get_template(name).render(page=page, label=label)
