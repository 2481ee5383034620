"""Tables as data, and as Markdown and LaTeX. report/page.py puts them into HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PROSE_WIDTH = 0.35
PAGE_ROWS = 45
DASH = "\u2013"  # what stands where there is nothing
TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "\u2212": "$-$",
    "\u2013": "--",
    "†": r"$\dagger$",
    "≤": r"$\le$",
    "…": r"\dots{}",
}


@dataclass(frozen=True)
class Entry:
    """What stands in a cell: `best` is shown bold, `second` underlined, `missing` faint. `note` is small print."""

    text: str
    emphasis: str = ""
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption. The first `heads` columns of a row name it; the rest are aligned right as numbers.

    `words` are columns of single words among the rest, `prose` those of longer text. A cell is an Entry, or a string
    for one without emphasis.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry | str]]
    heads: int = 1
    words: frozenset[int] = frozenset()
    prose: frozenset[int] = frozenset()

    def entries(self) -> list[list[Entry]]:
        return [[cell if isinstance(cell, Entry) else Entry(cell) for cell in row] for row in self.rows]

    def is_text(self, column: int) -> bool:
        return column < self.heads or column in self.words | self.prose


def counted(count: int, word: str) -> str:
    """A number of things in words: 1 run, 2 runs."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def to_markdown(table: Table) -> str:
    """A pipe table below its caption."""
    ruled = ["---" if table.is_text(place) else "---:" for place in range(len(table.columns))]
    lines = [_markdown_row(table.columns), "|" + "|".join(ruled) + "|"]
    lines += [_markdown_row([_markdown_entry(entry) for entry in row], escaped=True) for row in table.entries()]
    return f"{escape_markdown(table.caption)}\n\n" + "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str], *, escaped: bool = False) -> str:
    return "| " + " | ".join(cell if escaped else escape_markdown(cell) for cell in cells) + " |"


def _markdown_entry(entry: Entry) -> str:
    text = escape_markdown(entry.text)
    shown = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(entry.emphasis, text)
    return f"{shown} ({escape_markdown(entry.note)})" if entry.note else shown


def escape_markdown(text: str) -> str:
    """Plain text that no renderer of Markdown takes for markup."""
    for character in "\\`*_[]|#~":
        text = text.replace(character, "\\" + character)
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())


def to_latex(table: Table, label: str = "") -> str:
    """A table of the packages booktabs and array; one that is longer than a page, of longtable."""
    columns = "".join(_latex_column(table, place) for place in range(len(table.columns)))
    rows = ["    " + " & ".join(_latex_entry(entry) for entry in row) + r" \\" for row in table.entries()]
    named = f"  \\caption{{{escape_latex(table.caption)}}}" + (f"\n  \\label{{tab:{label}}}" if label else "")
    head = ["    " + " & ".join(escape_latex(name) for name in table.columns) + r" \\", r"    \midrule"]
    if len(rows) > PAGE_ROWS:
        begin = [r"{\scriptsize\setlength{\tabcolsep}{3pt}", rf"\begin{{longtable}}{{{columns}}}", named + r" \\"]
        head = [r"    \toprule", *head, r"    \endhead", r"    \bottomrule", r"    \endfoot"]
        return "\n".join([*begin, *head, *rows, r"\end{longtable}}", ""])
    begin = [r"\begin{table}[!htbp]", r"  \centering", named]
    begin += [
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"  \\begin{{tabular}}{{{columns}}}",
    ]
    end = [r"    \bottomrule", r"  \end{tabular}}", r"\end{table}", ""]
    return "\n".join([*begin, r"    \toprule", *head, *rows, *end])


def _latex_column(table: Table, place: int) -> str:
    """Longer text is broken into lines: the table would be shrunk to the width of the longest note."""
    if place in table.prose:
        return rf">{{\raggedright\arraybackslash}}p{{{PROSE_WIDTH}\linewidth}}"
    return "l" if table.is_text(place) else "r"


def _latex_entry(entry: Entry) -> str:
    text = escape_latex(entry.text)
    shown = {"best": f"\\textbf{{{text}}}", "second": f"\\underline{{{text}}}"}.get(entry.emphasis, text)
    return f"{shown} {{\\scriptsize ({escape_latex(entry.note)})}}" if entry.note else shown


def escape_latex(text: str) -> str:
    """Plain text for LaTeX."""
    return "".join(TEX.get(character, character) for character in " ".join(text.split()))
