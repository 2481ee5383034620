"""The HTML page: one file, escaped, accessible, and without outside resources."""

import re
from html.parser import HTMLParser

import pytest

from cgnn_cli.report.page import Details, Page, Section, page_to_latex, page_to_markdown, slug, to_html
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table

HOSTILE = "<script>alert(1)</script>\"'&"
PICTURE = Picture("1-figure", HOSTILE, HOSTILE, b"", b"", '<svg viewBox="0 0 1 1"></svg>')
TABLE = Table(HOSTILE, (HOSTILE, "b"), [[Entry(HOSTILE, note=HOSTILE), Entry(HOSTILE, "best", HOSTILE)]])
PAGE = Page(
    HOSTILE,
    HOSTILE,
    [Section("One", [HOSTILE, TABLE]), Section("Two", [], [Section(HOSTILE, [PICTURE, Details(HOSTILE, [TABLE])])])],
    HOSTILE,
    [(HOSTILE, HOSTILE)],
)


class Elements(HTMLParser):
    """All elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def page() -> Elements:
    return Elements(to_html(PAGE))


def test_every_word_is_escaped(page: Elements) -> None:
    text = to_html(PAGE)
    assert page.of("script") == [] and "<script" not in text
    assert text.count("&lt;script&gt;") >= 15
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)


def test_nothing_comes_from_outside(page: Elements) -> None:
    addresses = [value for _, attributes in page.found for name, value in attributes.items() if name in ("src", "href")]
    assert addresses and all(str(address).startswith(("#", "data:")) for address in addresses)
    (policy,) = [meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert str(policy).startswith("default-src 'none'")


def test_headings_are_in_order_and_the_contents_lead_to_them(page: Elements) -> None:
    headings = [int(tag[1]) for tag, _ in page.found if tag in ("h1", "h2", "h3", "h4")]
    assert headings == [1, 2, 2, 3]
    places = {attributes["id"] for _, attributes in page.found if "id" in attributes}
    assert {str(link["href"])[1:] for link in page.of("a")} == places == {"s1", "s2", "s2-1"}


def test_tables_and_figures_are_described(page: Elements) -> None:
    assert page.of("html") == [{"lang": "en"}]
    assert len(page.of("caption")) == len(page.of("table")) == 2
    (drawing,) = [div for div in page.of("div") if div.get("role") == "img"]
    assert drawing["aria-label"] == HOSTILE
    scopes = [head.get("scope") for head in page.of("th")]
    assert set(scopes) == {"row", "col"}


def test_other_formats_have_all_parts() -> None:
    markdown, latex = page_to_markdown(PAGE), page_to_latex(PAGE)
    assert markdown.count("\n## ") == 2 and markdown.count("\n### ") == 1
    assert "(figures/1-figure.svg)" in markdown and "<script" not in markdown
    assert latex.count(r"\begin{table}[!htbp]") == latex.count(r"\end{table}") == 2
    assert r"\includegraphics[width=\linewidth]{figures/1-figure.png}" in latex
    assert r"\usepackage{array,booktabs,graphicx,longtable}" in latex


def test_labels_of_tables_are_told_apart() -> None:
    sections = [Section("One", [TABLE, Details("more", [TABLE, TABLE])]), Section("Two", [TABLE])]
    latex = page_to_latex(Page("Title", "Lead", sections, "Made by a test."))
    labels = re.findall(r"\\label\{tab:(.*)\}", latex)
    assert labels == ["one", "one:2", "one:3", "two"]


def test_names_of_files_are_plain() -> None:
    assert slug("Cora-ML, undirected/../x") == "cora-ml-undirected-x"
    assert slug("???") == "part"


def test_figures_to_open_with_are_a_list_where_there_are_no_tiles() -> None:
    page = Page(
        "Title", "The highest of each:", [], "Made by a test.", [("60.00 %", "a_b, 1 split: mlp"), ("7 %", "c")]
    )
    assert "The highest of each:\n\n- 60.00 % (a\\_b, 1 split: mlp)\n- 7 % (c)\n\nMade" in page_to_markdown(page)
    latex = page_to_latex(page)
    assert latex.count(r"\item ") == 2 and r"60.00 \% (a\_b, 1 split: mlp)" in latex and r"\end{itemize}" in latex


def test_what_can_be_scrolled_has_a_shade_at_the_edge_behind_which_there_is_more() -> None:
    """In both themes; its cover moves with the content, and paper has neither."""
    style = re.sub(r"\s+", " ", to_html(PAGE))
    (rule,) = re.findall(r"\.scroll, \.drawing \{ background: (linear[^;]*);", style)
    assert rule.count("no-repeat local") == 2 and rule.count("var(--shade)") == 2
    assert style.count("--shade: rgb(") == 2
    assert ".scroll, .drawing { background: none; }" in style[style.index("@media print") :]
