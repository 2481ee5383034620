"""`cgnn data`: datasets, cgnn's own or imported: what there is, and what is in them."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Column, Table

from cgnn_cli.commands.console import make_table
from cgnn_cli.commands.data_fetch import fetch_datasets, verify_datasets
from cgnn_cli.commands.data_names import remove_dataset, rename_dataset
from cgnn_cli.commands.options import (
    DATASET_SECTIONS,
    MEMORY_LIMIT,
    argument,
    complete_dataset,
    config_parameters,
    import_parameters,
    option,
)
from cgnn_cli.commands.session import Outcome, Session, command, command_group
from cgnn_cli.configs import option_name
from cgnn_cli.datasets.catalogue import BENCHMARKS, Benchmark
from cgnn_cli.datasets.files.import_options import FILES, ImportOptions
from cgnn_cli.datasets.generated import TITLES
from cgnn_cli.datasets.registry import Datasets, check_import_name, graph_step, is_imported, remember
from cgnn_cli.datasets.upstream.locating import find_files, mirror_folder
from cgnn_cli.errors import UsageError
from cgnn_cli.pipeline import Step
from cgnn_cli.redaction import redacted

if TYPE_CHECKING:
    from cgnn_cli.datasets.files.queried import Queries

FORM_OPTIONS = "--undirected --protocol --featureless --data --mirror --offline --json"
FETCH_OPTIONS = "--all --force --data --mirror --accept-standin --timeout --retries"
COLUMN_OPTIONS = (
    "--source-column --target-column --weight-column --id-column --label-column --feature-columns --time-column"
)
IMPORT_OPTIONS = f"--edges --labels --features --splits --sql {COLUMN_OPTIONS} --header --drop-invalid --unknown-label"
UPDATE_OPTIONS = f"--edges --labels --features --sql {COLUMN_OPTIONS} --header --drop-invalid --combine"
LISTED = ("nodes", "edges", "classes", "splits")
TABLES = ("edges", "features", "labels", "splits")
SQL_HELP = (
    "Read a database of SQLAlchemy: --edges and the other files are queries then. ${NAME} in it is a variable of the "
    "environment."
)
SqlOption = Annotated[str | None, option("--sql", SQL_HELP, FILES, metavar="URL")]


def register(app: typer.Typer) -> None:
    about = "Datasets: list, describe, fetch and verify them, import your own."
    brief = "Datasets: list, show, fetch, verify, import, update, rm, rename."
    data = command_group(
        app, "data", help=about, brief=brief, example="cgnn data fetch squirrel", panel="From a graph to scores"
    )
    source, form = config_parameters("source"), config_parameters(*DATASET_SECTIONS)
    shown = "Statistics of a dataset, beside those expected and those the paper prints."
    fetched = "Download benchmark graphs into the data folder, and verify them."
    verified = "Check the files of benchmark graphs that are on disk: their checksums and their content."
    for name, function, text, example, common, extra in (
        ("list", list_datasets, "The datasets that --dataset takes, and what is on disk.", "", None, source),
        ("show", show_dataset, shown, "cgnn data show demo", FORM_OPTIONS, [*form, *MEMORY_LIMIT]),
        ("fetch", fetch_datasets, fetched, "cgnn data fetch squirrel", FETCH_OPTIONS, [*source, *MEMORY_LIMIT]),
        ("verify", verify_datasets, verified, "cgnn data verify squirrel", None, [*source, *MEMORY_LIMIT]),
    ):
        command(data, name, function, group="data", help=text, example=example, common=common, extra=extra)
    made, example = "Make a dataset from your own files.", "cgnn data import mine --edges edges.csv --labels labels.csv"
    fields = import_parameters()
    register_own = functools.partial(command, data, group="data", extra=MEMORY_LIMIT)
    register_own("import", import_dataset, help=made, example=example, fields=fields, common=IMPORT_OPTIONS)
    more, example = "Add edges and labels to a dataset of your own.", "cgnn data update mine --edges more.csv"
    fields = [field.replace(default=None) if field.name == "edges" else field for field in fields]
    register_own("update", update_dataset, help=more, example=example, fields=fields, common=UPDATE_OPTIONS)
    removed = "Remove a dataset of your own, and its graph where nothing else needs it."
    renamed = "Give a dataset of your own another name."
    command(data, "rm", remove_dataset, group="data", help=removed, example="cgnn data rm mine")
    command(data, "rename", rename_dataset, group="data", help=renamed, example="cgnn data rename mine payments")


def list_datasets(session: Session) -> Outcome:
    datasets = session.workspace.datasets()
    try:
        mirror_folder(datasets.source)
    except UsageError as error:
        session.talker.warn(error.message)
        datasets.source = dataclasses.replace(datasets.source, mirror=None)
    table = make_table("name", *LISTED, "paper", "on disk", "what it is")
    rows = [_listed(datasets, name) for name in datasets.names()]
    for row in rows:
        counts = [f"{row[figure]:,}" if figure in row else "" for figure in LISTED]
        table.add_row(row["name"], *counts, "yes" if row["in_paper"] else "", ", ".join(row["on_disk"]), row["title"])
    return Outcome.of(table, {"datasets": rows})


def _listed(datasets: Datasets, name: str) -> dict[str, Any]:
    """One dataset: the figures of its graph in the store, or else the expected ones, and all that the catalogue has."""
    record = datasets.store.dataset(name)
    header = datasets.store.find("graph", record["key"]) if record else None
    standin = datasets.store.dataset(f"{name}+standin")
    on_disk = ["store"] if header else []
    if standin and datasets.store.find("graph", standin["key"]):
        on_disk.append("stand-in")
    own = is_imported(datasets.store, name)
    title = "imported" if own else TITLES.get(name, "imported")
    row: dict[str, Any] = {"name": name, "title": title, "in_paper": False}
    if name in BENCHMARKS and not own:
        benchmark = BENCHMARKS[name]
        found = find_files(benchmark, datasets.source)
        if len(found) == len(benchmark.files):
            on_disk.append("files")
        row |= {
            "title": benchmark.title,
            "in_paper": benchmark.in_paper,
            **benchmark.expected,
            **_terms(benchmark),
            "files": [
                {"name": file.name, "folder": benchmark.folder, "address": file.address or None, "drive": file.drive}
                | {"sha256": file.sha256, "path": str(found[file.name]) if file.name in found else None}
                for file in benchmark.files
            ],
        }
    return {**row, **(header.summary if header else {}), "on_disk": on_disk, "in_store": header is not None}


def show_dataset(
    session: Session, name: Annotated[str, argument("NAME", "Name of a dataset.", complete_dataset)]
) -> Outcome:
    from cgnn_cli.datasets.graph_statistics import graph_statistics

    runner, datasets, config = session.workspace.runner, session.workspace.datasets(), session.graph_config()
    step = datasets.step(name, config)
    header, hit = runner.obtain(step)
    read = datasets.record(name, config, step)
    statistics = {**graph_statistics(runner.data(step)), "repeats": read.get("repeats", 0)}
    for note in (*read.get("notes", ()), *read.get("warnings", ())):
        session.talker.note(note)
    parts = ("protocol", "undirected", "featureless", "verified", "standin")
    origin = {part: value for part, value in header.summary.items() if part in parts}
    expected, paper, about = {}, {}, None
    if name in BENCHMARKS and not is_imported(session.store, name):
        benchmark = BENCHMARKS[name]
        expected, paper = {} if config.undirected else benchmark.expected, benchmark.paper
        if config.featureless:
            expected = {figure: value for figure, value in expected.items() if figure != "features"}
        origin |= {**_terms(benchmark), "remarks": list(benchmark.remarks)}
        about = _about(benchmark, header.summary)
    summary = {**statistics, **origin, "expected": expected, "paper": paper}
    outcome = Outcome.of_artifact(session.store.path("graph", header.key), header, hit=hit, summary=summary)
    outcome.text, outcome.table = _statistics_table(name, statistics, expected, paper), about
    return outcome


def import_dataset(
    session: Session,
    name: Annotated[str, argument("NAME", "Name for the dataset.")],
    sql: SqlOption = None,
    **values: Any,
) -> Outcome:
    """Read the files, and publish the graph under a name."""
    check_import_name(name)
    return _publish(session, name, _given(values), sql)


def update_dataset(
    session: Session,
    name: Annotated[str, argument("NAME", "Name of an imported dataset.", complete_dataset)],
    sql: SqlOption = None,
    **values: Any,
) -> Outcome:
    """Read the files, and publish the graph so far with what they add; the graph so far stays as NAME@1, NAME@2, ..."""
    from cgnn_cli.datasets.naming import check_no_version, check_own

    check_own(session.store, name)
    check_no_version(name)
    given = _given(values)
    if not given.keys() & {"edges", "labels", "features"}:
        raise UsageError("there is nothing to add", "give --edges, --labels or --features")
    step = session.workspace.datasets().step(name)
    session.workspace.runner.obtain(step)
    return _publish(session, name, {"edges": None, **given}, sql, step)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    given = {field: value for field, value in values.items() if value is not None}
    if given.keys() & {"split_count", "split_seed"} and ("labels" not in given or "splits" in given):
        raise UsageError(
            "--split-count and --split-seed are for splits that are drawn from the labels",
            "leave them out with --splits or without --labels",
        )
    return given


def _queries(sql: str | None, given: dict[str, Any]) -> tuple[Queries | None, dict[str, Any]]:
    """What an import reads, and what its record says of it. In `given` a path takes the place of each text.

    A query is called by its option; the same one in two options is one table.
    """
    texts = {role: given[role] for role in TABLES if given.get(role)}
    if sql is None:
        given |= {role: Path(text) for role, text in texts.items()}
        return None, texts
    from cgnn_cli.databases.connection import Database
    from cgnn_cli.databases.queries import check_query
    from cgnn_cli.datasets.files.queried import Queries

    database, paths = Database(sql), dict[str, Path]()
    for role, text in texts.items():
        check_query(option_name(role), text)
        given[role] = paths.setdefault(text, Path(f"the query of {option_name(role)}"))
    told = {"database": str(database), **{role: redacted(text) for role, text in texts.items()}}
    return Queries(database, {path: text for text, path in paths.items()}), {"sql": told}


def _publish(
    session: Session, name: str, given: dict[str, Any], sql: str | None, before: Step | None = None
) -> Outcome:
    """Import the tables, add them to a graph so far if there is one, and let the name stand for the result."""
    queries, source = _queries(sql, given)
    places = [str(queries.database)] if queries else dict.fromkeys(source.values())
    session.talker.begins(f"reading {', '.join(places)}")
    from cgnn_cli.datasets.files.importing import import_graph
    from cgnn_cli.datasets.files.split_rule import NAMES, SplitRule
    from cgnn_cli.datasets.files.updating import ASKED, as_imported, asked_of
    from cgnn_cli.datasets.naming import keep_version

    earlier = None
    if before is not None:  # with what was noted at its import, which its file does not have
        noted = session.store.dataset(name).get("summary", {})
        earlier = dataclasses.replace(session.workspace.runner.data(before), summary=noted)
        given, kept = as_imported(given, noted)
        if given.keys() & {"split_count", "split_seed"} and (rule := SplitRule.kept(earlier)):
            given = {"split_count": rule.split_count, "split_seed": rule.split_seed, **given}
        if kept:
            session.talker.note(f"as at the import: {kept} (give an option to change it)")
    graph = import_graph(
        ImportOptions(**given),
        earlier,
        keep_parts=not given.keys() & {*NAMES, "splits"},
        tell=session.talker.progress,
        queries=queries,
    )
    if asked := asked_of(given, {} if earlier is None else earlier.summary):
        graph.summary[ASKED] = asked
    step = graph_step(graph)
    session.store.check_writable("graph", "datasets")
    with session.store.pinned([("graph", each.key) for each in (step, before) if each]):
        found, hit = session.workspace.runner.obtain(step)
        if before is None:
            remember(session.store, name, step, source, graph.summary)
        elif before.key == step.key:
            graph.summary["notes"].append("nothing has changed")
        else:
            with session.store.lock("graph", before.key):  # two updates of one graph: the later one sees the first
                version = keep_version(session.store, name, before.key)
                source["previous"] = graph.summary["previous"] = before.key
                graph.summary["notes"].append(f"the graph so far is {version}, with the key {before.key[:12]}")
                remember(session.store, name, step, source, graph.summary)
    for note in graph.summary.get("notes", ()):
        session.talker.note(note)
    for warning in graph.summary.get("warnings", ()):
        session.talker.warn(warning)
    told = {figure: value for figure, value in graph.summary.items() if figure not in ("notes", "warnings")}
    session.talker.say(
        f"{name}: {graph.node_count:,} nodes, {graph.adjacency.nnz:,} edges, {graph.class_count} classes, "
        f"{graph.split_count} split{'' if graph.split_count == 1 else 's'}"
    )
    return Outcome.of_artifact(
        session.store.path("graph", found.key), found, hit=hit, summary={**found.summary, **told}
    )


def _terms(benchmark: Benchmark) -> dict[str, Any]:
    """How a benchmark graph is used, and what its authors ask for."""
    return {
        "protocols": list(benchmark.protocols),
        "paper_settings": benchmark.settings,
        "citation": benchmark.citation,
        "licence": benchmark.licence,
    }


def _about(benchmark: Benchmark, summary: dict[str, Any]) -> Table:
    """What belongs beside the figures of a benchmark graph, for people."""
    table = Table(Column(style="bold", no_wrap=True), Column(overflow="fold"))
    table.show_header, table.box, table.pad_edge = False, None, False
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
    return f"{value:z.4f}" if isinstance(value, float) else f"{value:,}"
