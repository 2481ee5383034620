"""Tables as data, and words of others in Markdown and LaTeX."""

from cgnn_cli.report.table import Entry, Table, counted, escape_latex, escape_markdown, listed


def test_escapes_keep_plain_words() -> None:
    assert escape_markdown("chameleon, 3 splits: 60.89 ± 0.90") == "chameleon, 3 splits: 60.89 ± 0.90"
    assert escape_latex("60.89 ± 0.90 %") == r"60.89 $\pm$ 0.90 \%"


def test_escapes_leave_no_markup_and_one_line() -> None:
    hostile = "a|b <b>x</b> & $x_1$\n[l](u) `c` ~^#{}"
    assert escape_markdown(hostile) == r"a\|b &lt;b&gt;x&lt;/b&gt; &amp; $x\_1$ \[l\](u) \`c\` \~^\#{}"
    assert (
        escape_latex("\\end{t} ~^ \u2212 \u2013")
        == r"\textbackslash{}end\{t\} \textasciitilde{}\textasciicircum{} $-$ --"
    )


def test_strings_are_entries_and_columns_of_words_are_text() -> None:
    table = Table("", ("a", "b", "c", "d"), [["x", Entry("1", "best"), "y", "z"]], 1, frozenset({2}), frozenset({3}))
    assert table.entries() == [[Entry("x"), Entry("1", "best"), Entry("y"), Entry("z")]]
    assert [table.is_text(place) for place in range(4)] == [True, False, True, True]


def test_names_are_listed_and_many_counted() -> None:
    assert [listed("abcde"[:count]) for count in range(6)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and 1 more",
        "a, b, c and 2 more",
    ]


def test_things_are_counted_in_words() -> None:
    assert (counted(1, "run"), counted(2, "run"), counted(1234, "pair")) == ("1 run", "2 runs", "1,234 pairs")
