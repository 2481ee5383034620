"""Differences as they are shown. What is escaped is tested with the terminal, tests/cli/test_terminal.py."""

import ast
from pathlib import Path

import pytest

import cgnn_cli
from cgnn_cli.printable import signed_text

SOURCES = sorted(Path(str(cgnn_cli.__file__)).parent.rglob("*.py"))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.426, "+0.43"), (-0.426, "-0.43"), (0.0, "0.00"), (-0.0, "0.00"), (-0.004, "0.00"), (12, "+12.00")],
)
def test_a_difference_has_its_sign_and_nothing_has_none(value: float, text: str) -> None:
    assert signed_text(value) == text


def test_the_number_of_digits_is_chosen() -> None:
    assert (signed_text(-0.04, 1), signed_text(-0.06, 1), signed_text(0.00004, 5)) == ("0.0", "-0.1", "+0.00004")


def signed_forms(text: str) -> list[str]:
    """Formats of a module that show a sign and may show that of nothing."""
    words = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return [word for word in words if isinstance(word, str) and word.startswith(("+.", "+,"))]


def test_no_other_format_shows_the_sign_of_nothing() -> None:
    found = {path.name: signed_forms(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: forms for name, forms in found.items() if forms} == {}


def test_the_guard_sees_such_formats() -> None:
    assert signed_forms("f'{gap:+.2f} {gap:+z.2f}'; formatted(gap, '+,.1f')") == ["+,.1f", "+.2f"]
