"""Fills the last column of the table in docs/reliability.md with the tests of each case, as they are found in tests/.

python docs/make_reliability.py           writes the page
python docs/make_reliability.py --check   exits with 1 if the page is out of date

A test belongs to case 5 if its name begins with `test_case_05_`.
"""

import ast
import re
import sys
from pathlib import Path

from generated_page import write_or_check

PAGE = Path(__file__).with_name("reliability.md")
TESTS = Path(__file__).parents[1] / "tests"
ROW = re.compile(r"^\| (\d\d?) \| ([^|\n]+) \| ([^|\n]+) \| ([^|\n]*?) ?\|$", flags=re.MULTILINE)


def tests_named(prefix: str) -> dict[int, list[str]]:
    """The tests whose names begin with a prefix and two digits, by this number."""
    found: dict[int, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = re.match(rf"test_{prefix}(\d\d)_", node.name) if isinstance(node, ast.FunctionDef) else None
            if named:
                place = f"{path.relative_to(TESTS).as_posix()}::{node.name}"  # type: ignore[attr-defined]
                found.setdefault(int(named[1]), []).append(place)
    return found


def filled(page: str) -> str:
    """The page with the tests that there are now."""
    tests = tests_named("case_")

    def row(found: re.Match[str]) -> str:
        number, happens, does, _ = found.groups()
        named = "<br>".join(f"`{test}`" for test in tests.get(int(number), ()))
        return f"| {number} | {happens} | {does} | {named} |"

    return ROW.sub(row, page)


def main() -> int:
    """Write the page, or check that it is current."""
    return write_or_check(PAGE, filled, Path(__file__).name)


if __name__ == "__main__":
    sys.exit(main())
