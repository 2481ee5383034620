"""A page in HTML (one file, escaped, accessible, without outside resources), Markdown and LaTeX."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from cgnn_cli.report.page import Details, Page, Section, slug, to_html, to_latex, to_markdown
from cgnn_cli.report.style import Picture
from cgnn_cli.report.table import Entry, Table
from tests.report.samples import page_with

HOSTILE = "<script>alert(1)</script>\"'&"
PICTURE = Picture("1-figure", HOSTILE, HOSTILE, b"", b"", '<svg viewBox="0 0 1 1"></svg>')
TABLE = Table(HOSTILE, (HOSTILE, "b"), [[Entry(HOSTILE, note=HOSTILE), Entry(HOSTILE, "best", HOSTILE)]])
TRICKY = "a|b <script>x</script> & 50 % $x_1$ \\end{table} [l](http://x) `c` ~^#{}\nnew"
WORDS = Table(
    "A caption", ("model", "a", "b"), [["m", Entry("1.00", "best", "5"), "-"], [TRICKY, Entry("0.50", "second"), ""]]
)
ROWS_ON_A_PAGE = 45  # of LaTeX
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
    markdown, latex = to_markdown(PAGE), to_latex(PAGE)
    assert markdown.count("\n## ") == 2 and markdown.count("\n### ") == 1
    assert "(figures/1-figure.svg)" in markdown and "<script" not in markdown
    assert latex.count(r"\begin{table}[!htbp]") == latex.count(r"\end{table}") == 2
    assert r"\includegraphics[width=\linewidth]{figures/1-figure.pdf}" in latex
    assert r"\usepackage{array,booktabs,graphicx,longtable}" in latex


def test_labels_of_tables_are_told_apart() -> None:
    sections = [Section("One", [TABLE, Details("more", [TABLE, TABLE])]), Section("Two", [TABLE])]
    latex = to_latex(Page("Title", "Lead", sections, "Made by a test."))
    labels = re.findall(r"\\label\{tab:(.*)\}", latex)
    assert labels == ["one", "one:2", "one:3", "two"]


def test_names_of_files_are_plain() -> None:
    assert slug("Cora-ML, undirected/../x") == "cora-ml-undirected-x"
    assert slug("???") == "part"


def test_figures_to_open_with_are_a_list_where_there_are_no_tiles() -> None:
    page = Page(
        "Title", "The highest of each:", [], "Made by a test.", [("60.00 %", "a_b, 1 split: mlp"), ("7 %", "c")]
    )
    assert "The highest of each:\n\n- 60.00 % (a\\_b, 1 split: mlp)\n- 7 % (c)\n\nMade" in to_markdown(page)
    latex = to_latex(page)
    assert latex.count(r"\item ") == 2 and r"60.00 \% (a\_b, 1 split: mlp)" in latex and r"\end{itemize}" in latex


def test_what_can_be_scrolled_has_a_shade_at_the_edge_behind_which_there_is_more() -> None:
    """In both themes; its cover moves with the content, and paper has neither."""
    style = re.sub(r"\s+", " ", to_html(PAGE))
    (rule,) = re.findall(r"\.scroll, \.drawing \{ background: (linear[^;]*);", style)
    assert rule.count("no-repeat local") == 2 and rule.count("var(--shade)") == 2
    assert style.count("--shade: rgb(") == 2
    assert ".scroll, .drawing { background: none; }" in style[style.index("@media print") :]


def test_markdown_has_one_line_a_row_and_no_markup_of_others() -> None:
    lines = to_markdown(page_with(WORDS)).splitlines()[6:]
    assert lines[0] == "A caption"
    assert lines[2:5] == ["| model | a | b |", "|---|---:|---:|", "| m | **1.00** (5) | - |"]
    assert "<u>0.50</u>" in lines[5] and "<script>" not in lines[5] and "[l](" not in lines[5]
    assert len(re.findall(r"(?<!\\)\|", lines[5])) == 4


def test_latex_uses_booktabs_and_escapes_everything() -> None:
    text = to_latex(page_with(WORDS))
    for command in (
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\textbf{1.00}",
        r"\underline{0.50}",
        r"\label{tab:scores}",
    ):
        assert command in text
    assert text.count(r"\end{table}") == 1 and r"\begin{tabular}{lrr}" in text
    table = text[text.index(r"\begin{table}") : text.index(r"\end{table}")]
    assert len(table.splitlines()) == 13
    row = next(line for line in table.splitlines() if "script" in line)
    assert row.count(" & ") == 2 and not re.search(r"(?<!\\)[%$#_]", row.replace(r"\scriptsize", ""))


def test_longer_text_is_broken_into_lines_in_latex() -> None:
    table = Table("A caption", ("model", "a", "why", "notes"), [["m", "1", "yes", "long " * 50]], 1, frozenset({2}))
    assert r"\begin{tabular}{lrlr}" in to_latex(page_with(table))
    told = dataclasses.replace(table, prose=frozenset({3}))
    assert r"\begin{tabular}{lrl>{\raggedright\arraybackslash}p{0.35\linewidth}}" in to_latex(page_with(told))


def test_a_table_longer_than_a_page_goes_on_over_the_next_in_latex() -> None:
    table = Table("A caption", ("name", "figure"), [[f"row {number}", "1"] for number in range(ROWS_ON_A_PAGE + 1)])
    text = to_latex(page_with(table))
    assert r"\begin{longtable}{lr}" in text and r"\end{longtable}}" in text and r"\begin{table}" not in text
    assert text.count(r" \\") == ROWS_ON_A_PAGE + 3  # with the caption and the head, which \endhead repeats
    assert text.index(r"\endhead") < text.index("row 0") and r"\label{tab:scores}" in text
    assert r"\begin{table}[!htbp]" in to_latex(page_with(Table("A caption", ("name",), [["row"]] * ROWS_ON_A_PAGE)))
