"""Fills docs/where-it-helps.md with what `cgnn reproduce where` found, from the page in docs/results/where.

python docs/make_where.py           writes the page
python docs/make_where.py --check   exits with 1 if the page is out of date
"""

import re
import sys
from pathlib import Path

from generated_page import write_or_check

PAGE = Path(__file__).with_name("where-it-helps.md")
RESULTS = Path(__file__).parent / "results" / "where" / "page.md"
FOUND = re.compile(r"(?<=<!-- found -->\n).*?(?=<!-- end -->)", flags=re.DOTALL)
SECTION = re.compile(r"^## Where it helps\n(.*?)^## ", flags=re.DOTALL | re.MULTILINE)


def filled(page: str, results: str) -> str:
    """The page with the first section of the results, whose figure lies beside them."""
    found = SECTION.search(results)
    assert found is not None, f"{RESULTS} has no section on where it helps"
    section = found[1].replace("](figures/", "](results/where/figures/")
    return FOUND.sub(lambda _: section, page)


def main() -> int:
    """Write the page, or check that it is current."""
    return write_or_check(PAGE, lambda page: filled(page, RESULTS.read_text(encoding="utf-8")), Path(__file__).name)


if __name__ == "__main__":
    sys.exit(main())
