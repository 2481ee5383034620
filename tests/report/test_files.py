"""A page and its values as files."""

import csv
import json

from cgnn_cli.report.files import PAGES, figure_files, page_files, to_csv, to_json
from cgnn_cli.report.style import Picture
from tests.report.samples import page_with

PICTURE = Picture("one", "caption", "words", b"<svg>", b"png", "<svg></svg>", lambda: b"%PDF")
PAGE = page_with("Grüße", PICTURE)


def test_a_page_is_a_file_in_each_format_and_its_figures_with_it() -> None:
    files = page_files(PAGE, "page")
    assert list(files) == ["page.html", "page.md", "page.tex"]
    assert all("Grüße" in content.decode() for content in files.values())
    assert list(page_files(PAGE, "report", ["tex", "csv"])) == ["report.tex"] and set(PAGES) == {"html", "md", "tex"}
    drawn = {"figures/one.svg": b"<svg>", "figures/one.png": b"png"}
    assert figure_files(PAGE) == {**drawn, "figures/one.pdf": b"%PDF"}
    assert figure_files(PAGE, ["html", "md"]) == drawn, "only LaTeX takes PDF"


def test_records_have_all_columns_and_nested_values_as_json() -> None:
    text = to_csv([{"a": 1, "b": [1, "ü"]}, {"a": None, "c": {"d": 2}}])
    assert list(csv.DictReader(text.splitlines())) == [
        {"a": "1", "b": '[1, "ü"]', "c": ""},
        {"a": "", "b": "", "c": '{"d": 2}'},
    ]
    assert to_csv([]) == "\n"


def test_json_keeps_letters_and_ends_with_a_line() -> None:
    assert json.loads(to_json({"a": "ü"})) == {"a": "ü"} and "ü".encode() in to_json({"a": "ü"})
    assert to_json([]).endswith(b"\n")
