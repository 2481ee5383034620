"""Tables in Markdown and LaTeX, with hostile words in them."""

import dataclasses
import re

from cgnn_cli.report.table import PAGE_ROWS, Entry, Table, escape_latex, escape_markdown, to_latex, to_markdown

HOSTILE = "a|b <script>x</script> & 50 % $x_1$ \\end{table} [l](http://x) `c` ~^#{}\nnew"
TABLE = Table(
    "A caption", ("model", "a", "b"), [["m", Entry("1.00", "best", "5"), "-"], [HOSTILE, Entry("0.50", "second"), ""]]
)


def test_markdown_has_one_line_a_row_and_no_markup_of_others() -> None:
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == "A caption"
    assert lines[2:5] == ["| model | a | b |", "|---|---:|---:|", "| m | **1.00** (5) | - |"]
    assert "<u>0.50</u>" in lines[5] and "<script>" not in lines[5] and "[l](" not in lines[5]
    assert len(re.findall(r"(?<!\\)\|", lines[5])) == 4


def test_latex_uses_booktabs_and_escapes_everything() -> None:
    text = to_latex(TABLE, "scores")
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
    assert len(text.splitlines()) == 14
    row = next(line for line in text.splitlines() if "script" in line)
    assert row.count(" & ") == 2 and not re.search(r"(?<!\\)[%$#_]", row.replace(r"\scriptsize", ""))


def test_escapes_keep_plain_words() -> None:
    assert escape_markdown("chameleon, 3 splits: 60.89 ± 0.90") == "chameleon, 3 splits: 60.89 ± 0.90"
    assert escape_latex("60.89 ± 0.90 %") == r"60.89 $\pm$ 0.90 \%"


def test_longer_text_is_broken_into_lines_in_latex() -> None:
    table = Table("A caption", ("model", "a", "why", "notes"), [["m", "1", "yes", "long " * 50]], 1, frozenset({2}))
    assert r"\begin{tabular}{lrlr}" in to_latex(table)
    told = dataclasses.replace(table, prose=frozenset({3}))
    assert r"\begin{tabular}{lrl>{\raggedright\arraybackslash}p{0.35\linewidth}}" in to_latex(told)


def test_a_table_longer_than_a_page_goes_on_over_the_next_in_latex() -> None:
    table = Table("A caption", ("name", "figure"), [[f"row {number}", "1"] for number in range(PAGE_ROWS + 1)])
    text = to_latex(table, "long")
    assert r"\begin{longtable}{lr}" in text and r"\end{longtable}}" in text and r"\begin{table}" not in text
    assert text.count(r" \\") == PAGE_ROWS + 3  # with the caption and the head, which \endhead repeats
    assert text.index(r"\endhead") < text.index("row 0") and r"\label{tab:long}" in text
    assert r"\begin{table}[!htbp]" in to_latex(Table("A caption", ("name",), [["row"]] * PAGE_ROWS))
