"""A report as files: the page in several formats, its figures, and the values behind it as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Sequence
from typing import Any

from cgnn_cli.report.content import Report
from cgnn_cli.report.page import Page, to_html, to_latex, to_markdown

PAGES = {"html": to_html, "md": to_markdown, "tex": to_latex}


def page_files(page: Page, name: str, formats: Collection[str] = tuple(PAGES)) -> dict[str, bytes]:
    """A page in these formats, by the names of the files."""
    return {f"{name}.{kind}": _encoded(write(page)) for kind, write in PAGES.items() if kind in formats}


def figure_files(page: Page, formats: Collection[str] = tuple(PAGES)) -> dict[str, bytes]:
    """The figures of a page, each as .svg and .png, where it is LaTeX too also as .pdf; by the names of the files."""
    files: dict[str, bytes] = {}
    for picture in page.pictures:
        kinds = {"svg": picture.svg, "png": picture.png, **({"pdf": picture.pdf()} if "tex" in formats else {})}
        files |= {f"figures/{picture.name}.{kind}": content for kind, content in kinds.items()}
    return files


def report_files(report: Report, page: Page, formats: Collection[str]) -> dict[str, bytes]:
    """A report in these formats by the names of the files within a folder, its figures not among them."""
    files = page_files(page, "report", formats)
    values = report.to_json() if {"csv", "json"} & set(formats) else {}
    if "csv" in formats:
        files |= {name: _encoded(to_csv(records)) for name, records in _records(values).items()}
    if "json" in formats:
        files["report.json"] = to_json(values)
    return files


def _records(values: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """scores.csv: one row a run; splits.csv: one row a run and split; comparisons.csv: one row a pair of runs."""
    left_out = ("splits", "test_accuracy_per_split", "made_from", "options")
    scores, splits = [], []
    for row in values["scores"]:
        options = json.dumps(row["options"], ensure_ascii=False, sort_keys=True)
        scores.append({**_flat({name: row[name] for name in row if name not in left_out}), "options": options})
        named = {name: row[name] for name in ("key", "dataset", "model")}
        for split, accuracy in zip(row["splits"], row["test_accuracy_per_split"], strict=True):
            splits.append({**named, "split": split, "test_accuracy": accuracy})
    return {
        "scores.csv": scores,
        "splits.csv": splits,
        "comparisons.csv": [_flat(row) for row in values["comparisons"]],
    }


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Nested figures as columns: {"paper": {"value": 1}} is paper_value."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}_{part}": inner for part, inner in _flat(value).items()}
        else:
            flat[name] = "; ".join(map(str, value)) if isinstance(value, list) else value
    return flat


def _encoded(text: str) -> bytes:
    """UTF-8, also of names that are not: they stand as escapes, which JSON understands."""
    return text.encode(errors="backslashreplace")


def to_json(values: Any) -> bytes:
    """Values as a file of JSON that can be read."""
    return _encoded(json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Records as rows; nested values as JSON in a cell."""
    text = io.StringIO()
    columns = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for record in records:
        nested = {name: value for name, value in record.items() if isinstance(value, list | dict)}
        writer.writerow(record | {name: json.dumps(value, ensure_ascii=False) for name, value in nested.items()})
    return text.getvalue()
