"""The page in headless Chromium: no overflow, no console error, no outside request, at desktop and phone width."""

from pathlib import Path

import pytest

from cgnn_cli.report.page import Details, Page, Section, to_html
from cgnn_cli.report.table import Table
from tests.browser import browser, open_page, printed_pages
from tests.front_door import FrontDoor

pytestmark = pytest.mark.skipif(browser() is None, reason="there is no Chromium on this machine")
SHORT = ("--epochs", 3, "--hidden", 4, "-q")
NARROW_AND_WIDE = (390, 1280)


@pytest.fixture
def report(cgnn: FrontDoor) -> Path:
    """A report of the demo graph with tables and figures of all kinds, and a title that is long and hostile."""
    cgnn.ok("run", "--compare", *SHORT)
    cgnn.ok("run", "--model", "mlp", "--no-compare", *SHORT)
    for solver in ("series", "exact"):
        for verify in (0, 8):
            cgnn.ok("commute", "--dataset", "demo", "--solver", solver, "--verify", verify, "-q")
    title = "A report whose title is long " + "verylongword" * 12 + " <img src='https://example.com/x.png'>"
    cgnn.ok("report", "--output", "out", "--title", title, "-q")
    return Path("out/report.html")


def test_no_overflow_no_error_no_request(report: Path, tmp_path: Path) -> None:
    for width in NARROW_AND_WIDE:
        seen = open_page(report, tmp_path, width)
        assert (seen.window, seen.page) == (width, width)
        assert seen.beyond == [] and seen.console == [] and seen.requests == []


def test_what_is_closed_on_the_screen_is_printed(tmp_path: Path) -> None:
    long = Table("A long table", ("name", "value"), [[f"row {number}", "1"] for number in range(200)])
    sheets = {}
    for name, blocks in {"short": [], "closed": [Details("more", [long])]}.items():
        page = tmp_path / f"{name}.html"
        page.write_text(to_html(Page("Title", "Lead", [Section("One", blocks)], "Made by a test.")), encoding="utf-8")
        sheets[name] = printed_pages(page, tmp_path)
    assert sheets["short"] == 1 and sheets["closed"] > 3


def test_the_check_sees_what_it_is_meant_to_see(tmp_path: Path) -> None:
    bad, page = tmp_path / "bad.html", to_html(Page("Title", "Lead", [], "Made by a test."))
    broken = '<p style="width: 3000px">wide</p><img src="https://example.com/x.png"><script>nonsense()</script></main>'
    bad.write_text(page.replace("</main>", broken), encoding="utf-8")
    seen = open_page(bad, tmp_path, 390)
    assert seen.page > 390 and any("wide" in element for element in seen.beyond)
    assert seen.requests == ["https://example.com/x.png"]
    assert any("nonsense is not defined" in line for line in seen.console)
