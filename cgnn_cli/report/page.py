"""A report as data, sections of text, tables and figures, and as one HTML page, Markdown or LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Table, escape_latex, escape_markdown, to_latex, to_markdown


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
        return [block for section in _walk(self.sections) for block in section.blocks if isinstance(block, Picture)]


def _walk(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _walk(section.parts)


def slug(text: str) -> str:
    """Letters, digits and dashes, for names of files and places."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def to_html(page: Page) -> str:
    """One file that needs no other: style and figures are inside, and every word of the user's is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("cgnn_cli", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests.update(
        paragraph=lambda block: isinstance(block, str),
        table=lambda block: isinstance(block, Table),
        picture=lambda block: isinstance(block, Picture),
    )
    environment.filters["drawn"] = lambda picture: Markup(picture.inline)
    return environment.get_template("page.html").render(page=page)


def page_to_markdown(page: Page) -> str:
    """The same in Markdown; figures are files beside it."""
    parts = [f"# {escape_markdown(page.title)}", escape_markdown(page.lead)]
    if page.tiles:
        parts.append("\n".join(f"- {escape_markdown(f'{figure} ({words})')}" for figure, words in page.tiles))
    for section, depth in _with_depth(page.sections, 2):
        parts.append(f"{'#' * depth} {escape_markdown(section.title)}")
        parts += [_block_to_markdown(block) for block in section.blocks]
    parts.append(escape_markdown(page.made_by))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _with_depth(sections: Sequence[Section], depth: int) -> Iterator[tuple[Section, int]]:
    for section in sections:
        yield section, depth
        yield from _with_depth(section.parts, depth + 1)


def _block_to_markdown(block: Block) -> str:
    if isinstance(block, Table):
        return to_markdown(block)
    if isinstance(block, Picture):
        return f"![{escape_markdown(block.alternative)}](figures/{block.name}.svg)\n\n{escape_markdown(block.caption)}"
    if isinstance(block, Details):
        inner = "\n\n".join(_block_to_markdown(part) for part in block.blocks)
        return f"**{escape_markdown(block.title)}**\n\n{inner}"
    return escape_markdown(block)


def page_to_latex(page: Page) -> str:
    """A document of class article, with its tables (booktabs) and figures; \\input what you need of it."""
    parts = [
        r"\documentclass{article}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\usepackage{array,booktabs,graphicx,longtable}",
        f"\\title{{{escape_latex(page.title)}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
        escape_latex(page.lead),
        *([_tiles_to_latex(page)] if page.tiles else []),
    ]
    taken: Counter[str] = Counter()
    commands = {2: "section", 3: "subsection", 4: "subsubsection"}
    for section, depth in _with_depth(page.sections, 2):
        parts.append(f"\\{commands[min(depth, 4)]}{{{escape_latex(section.title)}}}")
        parts += [_block_to_latex(block, section, taken) for block in section.blocks]
    return "\n\n".join([*parts, escape_latex(page.made_by), r"\end{document}"]) + "\n"


def _tiles_to_latex(page: Page) -> str:
    items = [f"  \\item {{}}{escape_latex(f'{figure} ({words})')}" for figure, words in page.tiles]
    return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])


def _block_to_latex(block: Block, section: Section, taken: Counter[str]) -> str:
    """A block; `taken` counts the labels of tables, of which the second of a name is `name:2`."""
    if isinstance(block, Table):
        taken[section.anchor] += 1
        count = taken[section.anchor]
        return to_latex(block, section.anchor if count == 1 else f"{section.anchor}:{count}")
    if isinstance(block, Picture):
        return (
            "\\begin{figure}[!htbp]\n  \\centering\n"
            f"  \\includegraphics[width=\\linewidth]{{figures/{block.name}.png}}\n"
            f"  \\caption{{{escape_latex(block.caption)}}}\n\\end{{figure}}"
        )
    if isinstance(block, Details):
        inner = "\n\n".join(_block_to_latex(part, section, taken) for part in block.blocks)
        return f"\\paragraph{{{escape_latex(block.title)}}}\n{inner}"
    return escape_latex(block)
