"""`cgnn commute --pairs` and `--top`: times of chosen pairs, and the closest pairs among the edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cgnn_cli.commands.inspect import standin_mark
from cgnn_cli.commands.options import INPUT_PANEL, OUTPUT_PANEL, stage_configs
from cgnn_cli.commands.session import Outcome, Session
from cgnn_cli.errors import DataError, UpstreamError
from cgnn_cli.pipeline import Step, plan
from cgnn_cli.resources import thread_count
from cgnn_cli.runner import Runner

if TYPE_CHECKING:
    import numpy as np

    from cgnn_cli.graph import Graph

COLUMNS = ("source", "target", "hitting", "hitting_back", "commute")
PairsOption = Annotated[
    Path | None,
    typer.Option(
        "--pairs",
        metavar="FILE",
        help="Instead of the edges, exact times of the pairs in this file (source,target; your ids), as CSV.",
        show_default=False,
        rich_help_panel=INPUT_PANEL,
    ),
]
TopOption = Annotated[
    int | None,
    typer.Option(
        "--top",
        min=1,
        help="Also show so many edges with the shortest commute times.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
    ),
]


def walk_for_pairs(session: Session, start: Step) -> Step:
    """The dilap step of what is given, or the one that a dataset leads to."""
    walk = start.find("dilap") or plan("dilap", start, stage_configs(session.settings), ())
    if walk.find("graph") is None:
        raise UpstreamError(
            f"cannot tell which graph {walk.stage.name} {walk.key[:12]} was made from",
            "name the store that has its inputs with --store, or their files with more --input",
        )
    return walk


def times_of_pairs(session: Session, runner: Runner, walk_step: Step, file: Path) -> Outcome:
    """Exact times of the pairs in a file, one solve a distinct node."""
    header, hit = runner.obtain(walk_step)
    graph_step = walk_step.find("graph")
    assert graph_step is not None
    graph: Graph = runner.data(graph_step)
    dilap = runner.data(walk_step)

    import numpy as np

    from cgnn_cli.numerics.pairs import pair_times

    source, target = read_pairs(file, graph, session)
    state = dilap.state_of_nodes(graph.node_count)
    covered = (state[source] >= 0) & (state[target] >= 0)
    values = np.full((3, len(source)), np.nan)
    found = pair_times(
        dilap.walk(),
        dilap.perron,
        state[source[covered]],
        state[target[covered]],
        jobs=thread_count(runner.compute.threads, 0),
        progress=lambda done, total: session.talker.progress(done, total, "nodes solved"),
    )
    values[:, covered] = found.there, found.back, found.times
    if not covered.all():
        session.talker.note(f"{(~covered).sum():,} pairs are outside the walk and have no times")
    ids = graph.ids()
    rows = [
        {"source": str(ids[i]), "target": str(ids[j]), **dict(zip(COLUMNS[2:], _plain(times), strict=True))}
        for i, j, times in zip(source.tolist(), target.tolist(), values.T, strict=True)
    ]
    values_of = {
        "artifact": None,
        "key": header.key,
        "cache": "hit" if hit else "miss",
        "summary": {"pairs": rows, "residual": found.residual, **standin_mark(header)},
        "stages": session.talker.stages,
    }
    return Outcome(_csv(rows), values_of)


def read_pairs(file: Path, graph: Graph, session: Session) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of the pairs in a file of edges; a first row that names no node is its header."""
    import numpy as np

    from cgnn_cli.datasets.edges import EdgeColumns, read_edges

    edges = read_edges(file, EdgeColumns(), False, [])
    number = {node: position for position, node in enumerate(graph.ids().tolist())}
    named = [[str(node) for node in column] for column in (edges.source, edges.target)]
    if named[0] and not any(column[0] in number for column in named):
        session.talker.note(f"{file}: the first row is the header ({named[0][0]!r}, {named[1][0]!r})")
        named = [column[1:] for column in named]
    unknown = next((node for column in named for node in column if node not in number), None)
    if unknown is not None:
        raise DataError(f"{file}: {unknown!r} is no node of the graph", "write ids exactly as in your files")
    source, target = (np.array([number[node] for node in column], dtype=np.int64) for column in named)
    return source, target


def _plain(times: np.ndarray) -> list[float | None]:
    import math

    return [None if math.isnan(value) else float(value) for value in times]


def _csv(rows: list[dict[str, Any]]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def with_closest(runner: Runner, step: Step, outcome: Outcome, count: int) -> Outcome:
    """The outcome of a commute stage, with the edges of the shortest commute times."""
    import numpy as np
    from rich.table import Column, Table
    from rich.text import Text

    times, graph_step = runner.data(step), step.find("graph")
    assert graph_step is not None
    ids = runner.data(graph_step).ids()
    known = np.flatnonzero(~np.isnan(times.commute))
    order = known[np.argsort(times.commute[known], kind="stable")[:count]]
    rows: list[dict[str, Any]] = [
        {
            "source": str(ids[times.source[edge]]),
            "target": str(ids[times.target[edge]]),
            **{name: float(getattr(times, name)[edge]) for name in COLUMNS[2:]},
        }
        for edge in order.tolist()
    ]
    table = Table("source", "target", *(Column(name.replace("_", " "), justify="right") for name in COLUMNS[2:]))
    table.title = "edges with the shortest commute times"
    for row in rows:
        table.add_row(Text(row["source"]), Text(row["target"]), *(f"{row[name]:.6g}" for name in COLUMNS[2:]))
    outcome.table = table
    outcome.values["summary"] = {**outcome.values["summary"], "closest": rows}
    return outcome
