"""`cgnn data`: datasets, cgnn's own or imported: what there is, and what is in them."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from cgnn_cli.commands.data_fetch import fetch_datasets, verify_datasets
from cgnn_cli.commands.data_import import import_dataset
from cgnn_cli.commands.options import DATASET_SECTIONS, complete_dataset, config_parameters
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.datasets.locating import find_files, mirror_folder
from cgnn_cli.datasets.registry import DEMO, DEMO_TITLE, Datasets
from cgnn_cli.errors import UsageError

LISTED = ("nodes", "edges", "classes", "splits")


def register(app: typer.Typer) -> None:
    data = typer.Typer(no_args_is_help=True, help="Datasets: list, describe, fetch and verify them, import your own.")
    source = config_parameters("source")
    command(data, "list", group="data", extra=source, help="The datasets that --dataset takes, and what is on disk.")(
        list_datasets
    )
    command(
        data,
        "show",
        group="data",
        extra=config_parameters(*DATASET_SECTIONS),
        help="Statistics of a dataset, beside those expected and those the paper prints.",
        epilog="Example: cgnn data show demo",
    )(show_dataset)
    command(
        data,
        "fetch",
        group="data",
        extra=source,
        help="Download benchmark graphs into the data folder, and verify them.",
        epilog="Example: cgnn data fetch squirrel cora-ml",
    )(fetch_datasets)
    command(
        data,
        "verify",
        group="data",
        extra=source,
        help="Check the files of benchmark graphs that are on disk: their checksums and their content.",
        epilog="Example: cgnn data verify squirrel",
    )(verify_datasets)
    command(
        data,
        "import",
        group="data",
        help="Make a dataset from your own files.",
        epilog="Example: cgnn data import mine --edges edges.csv --labels labels.csv",
    )(import_dataset)
    app.add_typer(
        data,
        name="data",
        rich_help_panel="Graphs",
        short_help="Datasets: list, show, fetch, verify, import. [green]cgnn data fetch squirrel[/green]",
    )


def list_datasets(session: Session) -> Outcome:
    datasets = session.datasets()
    try:
        mirror_folder(datasets.source)
    except UsageError as error:
        session.talker.warn(error.message)
        datasets.source = dataclasses.replace(datasets.source, mirror=None)
    table = Table("name", *LISTED, "on disk", "what it is", box=box.SIMPLE_HEAD)
    rows = [_listed(datasets, name) for name in datasets.names()]
    for row in rows:
        counts = [f"{row[figure]:,}" if figure in row else "" for figure in LISTED]
        table.add_row(row["name"], *counts, ", ".join(row["on_disk"]), row["title"])
    return Outcome(table, {"artifact": None, "key": None, "cache": "hit", "summary": {"datasets": rows}})


def _listed(datasets: Datasets, name: str) -> dict[str, Any]:
    """One dataset: the figures of its graph in the store, or else the expected ones, and all that the catalogue has."""
    record = datasets.store.dataset(name)
    header = datasets.store.find("graph", record["key"]) if record else None
    standin = datasets.store.dataset(f"{name}+standin")
    on_disk = ["store"] if header else []
    if standin and datasets.store.find("graph", standin["key"]):
        on_disk.append("stand-in")
    row: dict[str, Any] = {"name": name, "title": DEMO_TITLE if name == DEMO else "imported"}
    if name in BENCHMARKS:
        benchmark = BENCHMARKS[name]
        found = find_files(benchmark, datasets.source)
        if len(found) == len(benchmark.files):
            on_disk.append("files")
        row |= {
            "title": benchmark.title,
            **benchmark.expected,
            "protocols": list(benchmark.protocols),
            "paper_settings": benchmark.settings,
            "citation": benchmark.citation,
            "licence": benchmark.licence,
            "files": [
                {"name": file.name, "folder": benchmark.folder, "address": file.address or None, "drive": file.drive}
                | {"sha256": file.sha256, "path": str(found[file.name]) if file.name in found else None}
                for file in benchmark.files
            ],
        }
    return {**row, **(header.summary if header else {}), "on_disk": on_disk, "in_store": header is not None}


def show_dataset(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a dataset.", autocompletion=complete_dataset)],
) -> Outcome:
    from cgnn_cli.datasets.statistics import graph_statistics

    runner, datasets, config = session.runner(), session.datasets(), session.graph_config()
    step = datasets.step(name, config)
    header, hit = runner.obtain(step)
    read = datasets.record(name, config, step)
    statistics = {**graph_statistics(runner.data(step)), "repeats": read.get("repeats", 0)}
    for note in read.get("notes", ()):
        session.talker.note(note)
    expected, paper = {}, {}
    if name in BENCHMARKS:
        expected, paper = {} if config.undirected else BENCHMARKS[name].expected, BENCHMARKS[name].paper
    summary = {**statistics, **_origin(name, header.summary), "expected": expected, "paper": paper}
    outcome = Outcome.of_artifact(session.store.path("graph", header.key), header, hit=hit, summary=summary)
    outcome.text = _statistics_table(name, statistics, expected, paper)
    outcome.table = _about(name, header.summary)
    return outcome


def _origin(name: str, summary: dict[str, Any]) -> dict[str, Any]:
    """Where a graph comes from, and how it was verified."""
    known = {
        part: value for part, value in summary.items() if part in ("protocol", "undirected", "verified", "standin")
    }
    if name not in BENCHMARKS:
        return known
    benchmark = BENCHMARKS[name]
    return {
        **known,
        "protocols": list(benchmark.protocols),
        "paper_settings": benchmark.settings,
        "citation": benchmark.citation,
        "licence": benchmark.licence,
        "remarks": list(benchmark.remarks),
    }


def _about(name: str, summary: dict[str, Any]) -> Table | None:
    """What belongs beside the figures of a benchmark graph, for people."""
    if name not in BENCHMARKS:
        return None
    benchmark = BENCHMARKS[name]
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("what it is", benchmark.title)
    table.add_row("verified by", str(summary.get("verified") or "nothing: it is a stand-in"))
    table.add_row("splits", f"{summary.get('protocol')}, of {', '.join(benchmark.protocols)}")
    if benchmark.settings:
        options = " ".join(f"--{key.replace('_', '-')} {value:g}" for key, value in benchmark.settings.items())
        table.add_row("paper's settings", options)
    for remark in benchmark.remarks:
        table.add_row("remark", remark)
    table.add_row("cite", benchmark.citation)
    table.add_row("licence", benchmark.licence)
    return table


def _statistics_table(name: str, statistics: dict[str, Any], expected: dict[str, Any], paper: dict[str, Any]) -> Table:
    """The figures; beside them, where they are known, those expected and those that the paper prints."""
    compared = bool(expected or paper)
    table = Table(title=name, show_header=compared, box=box.SIMPLE_HEAD if compared else box.HEAVY_HEAD)
    table.add_column("", style="bold")
    table.add_column("here", overflow="fold")
    if compared:
        table.add_column("expected")
        table.add_column("paper")
    for figure, value in statistics.items():
        if figure == "splits":
            beside = [_beside(expected, figure, len(value)), ""] if compared else []
            table.add_row("splits", f"{len(value):,}", *beside)
            for number, parts in enumerate(value):
                counts = ", ".join(f"{part} {count:,}" for part, count in parts.items())
                table.add_row(f"split {number}", counts)
            continue
        beside = [_beside(expected, figure, value), _figure(paper.get(figure, ""))] if compared else []
        table.add_row(figure.replace("_", " "), _figure(value), *beside)
    return table


def _beside(expected: dict[str, Any], figure: str, value: Any) -> str:
    """An expected figure, marked where it is not met; shares are expected to three decimals."""
    if figure not in expected:
        return ""
    met = value == expected[figure] or (isinstance(value, float) and round(value, 3) == expected[figure])
    return _figure(expected[figure]) + ("" if met else "  differs")


def _figure(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{part} {count:,}" for part, count in value.items())
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
