"""What the generators of pages have in common: each writes its page, or checks that it is current."""

import sys
from collections.abc import Callable
from pathlib import Path


def write_or_check(page: Path, filled: Callable[[str], str], generator: str) -> int:
    """Write a page, which is made from what it was before; with --check only say whether it is out of date."""
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    text = filled(before)
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
    elif before != text:
        sys.stderr.write(f"docs/{page.name} is out of date: run `python docs/{generator}`\n")
        return 1
    return 0
