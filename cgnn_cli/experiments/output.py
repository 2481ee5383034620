"""Writes what an experiment found: a page in HTML, Markdown and LaTeX, its records as CSV and JSON, and its figures."""

from __future__ import annotations

import json

from cgnn_cli import __version__
from cgnn_cli.experiments.findings import Findings
from cgnn_cli.experiments.lab import Asked
from cgnn_cli.experiments.table import Experiment
from cgnn_cli.report.page import Page, page_to_latex, page_to_markdown, to_html
from cgnn_cli.report.records import to_csv

QUICK = "This was a quick run, with few epochs of a narrow network: its figures only show that everything works."
UNTRAINED = "This was a quick run: it takes the demonstration graph, unless other datasets are named."
MARKS = "A cell with fewer runs than the protocol has says so (2 of 10); failed cells and those not run say that."


def page_of(experiment: Experiment, findings: Findings, asked: Asked) -> Page:
    """The page of an experiment."""
    counts = ", ".join(f"{count} {status}" for status, count in findings.counts().items())
    quick = (QUICK if experiment.trains else UNTRAINED) if asked.quick else ""
    lead = filter(None, (f"{experiment.where}.", f"Cells: {counts or 'none'}.", MARKS, quick))
    return Page(experiment.title, " ".join(lead), findings.sections, f"Made by cgnn {__version__}.")


def files_of(name: str, experiment: Experiment, findings: Findings, asked: Asked) -> dict[str, bytes]:
    """The files by their names within a folder."""
    page = page_of(experiment, findings, asked)
    values = {"experiment": name, "title": experiment.title, "where": experiment.where, "quick": asked.quick}
    texts = {
        "page.html": to_html(page),
        "page.md": page_to_markdown(page),
        "page.tex": page_to_latex(page),
        "results.csv": to_csv(findings.records),
        "results.json": json.dumps({**values, "results": findings.records}, ensure_ascii=False, indent=1) + "\n",
    }
    pictures = {f"figures/{picture.name}.svg": picture.svg for picture in page.pictures}
    pictures |= {f"figures/{picture.name}.png": picture.png for picture in page.pictures}
    return {file: text.encode("utf-8") for file, text in texts.items()} | pictures
