"""Tables as data, and words of others as plain text in Markdown and LaTeX. Templates lay them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DASH = "\u2013"  # what stands where there is nothing
TEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
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


def formatted(value: float | None, form: str) -> str:
    """A figure in a format, or a dash where there is none."""
    return DASH if value is None else format(value, form)


def score_text(mean: float, std: float | None = None, unit: float = 100) -> str:
    """A share in per cent with its deviation, where there is one: a single split has none."""
    return f"{unit * mean:.2f}" + ("" if std is None else f" ± {unit * std:.2f}")


def spread_text(values: Mapping[str, Any] | None, unit: float = 100) -> str:
    """Such a text from the mean, deviation and number of splits of a summary; a dash where nothing is known."""
    if not values or values["mean"] is None:
        return DASH
    return score_text(values["mean"], values["std"] if values["runs"] > 1 else None, unit)


def capital(text: str) -> str:
    """With a capital letter first."""
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in a sentence, the first of many: `a, b and 2 more`."""
    told = [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


def counted(count: int, word: str) -> str:
    """A number of things in words: 1 run, 2 runs."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def escape_markdown(text: str) -> str:
    """Plain text that no renderer of Markdown takes for markup."""
    for character in "\\`*_[]|#~":
        text = text.replace(character, "\\" + character)
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())


def escape_latex(text: str) -> str:
    """Plain text for LaTeX."""
    return "".join(TEX.get(character, character) for character in " ".join(text.split()))
