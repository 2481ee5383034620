"""`cgnn data import`: a dataset from the user's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cgnn_cli.commands.session import Outcome, Session
from cgnn_cli.datasets.registry import check_import_name, graph_step, remember
from cgnn_cli.errors import UsageError

FILES, COLUMNS, SPLITS = "Files", "Columns of the edge file", "Splits"


def import_dataset(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name for the dataset.")],
    edges: Annotated[
        Path,
        typer.Option(
            "--edges",
            help="CSV, TSV or whitespace text (also .gz), Parquet, .npy, or scipy .npz.",
            show_default=False,
            rich_help_panel=FILES,
        ),
    ],
    features: Annotated[
        Path | None,
        typer.Option(
            "--features",
            help="CSV or Parquet with an id column, .npy, or sparse .npz.",
            show_default=False,
            rich_help_panel=FILES,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            help="CSV or Parquet of id,label, or .npy with -1 for unknown.",
            show_default=False,
            rich_help_panel=FILES,
        ),
    ] = None,
    splits: Annotated[
        Path | None,
        typer.Option(
            "--splits",
            help="CSV or Parquet of id and one train/val/test column a split, or .npz masks.",
            show_default=False,
            rich_help_panel=FILES,
        ),
    ] = None,
    source_column: Annotated[
        str | None,
        typer.Option("--source-column", help="Name, or number from 1.", show_default="1", rich_help_panel=COLUMNS),
    ] = None,
    target_column: Annotated[
        str | None,
        typer.Option("--target-column", help="Name, or number from 1.", show_default="2", rich_help_panel=COLUMNS),
    ] = None,
    weight_column: Annotated[
        str | None,
        typer.Option(
            "--weight-column",
            help="Weights; repeated edges are summed. Without it repeats count once.",
            show_default=False,
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line names the columns.",
            show_default="detected",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    impute: Annotated[
        Literal["zero"] | None,
        typer.Option(
            "--impute",
            help="zero: NaN and infinite features become 0.",
            show_default=False,
            rich_help_panel=FILES,
        ),
    ] = None,
    relabel: Annotated[
        bool,
        typer.Option(
            "--relabel",
            help="Take the node numbers of .npy and .npz edges as ids, so that they need not be 0..N-1.",
            rich_help_panel=FILES,
        ),
    ] = False,
    split_ratio: Annotated[
        str | None,
        typer.Option(
            "--split-ratio",
            help="Shares of train/validation/test in each class.",
            show_default="48/32/20",
            rich_help_panel=SPLITS,
        ),
    ] = None,
    per_class: Annotated[
        int | None,
        typer.Option("--per-class", help="Training nodes of each class.", show_default=False, rich_help_panel=SPLITS),
    ] = None,
    val: Annotated[
        int | None,
        typer.Option("--val", help="Validation nodes, with --per-class.", show_default="500", rich_help_panel=SPLITS),
    ] = None,
    split_count: Annotated[
        int | None,
        typer.Option("--split-count", min=1, help="How many splits.", show_default="10", rich_help_panel=SPLITS),
    ] = None,
    split_seed: Annotated[
        int | None,
        typer.Option("--split-seed", min=0, help="Seed of the splits.", show_default="0", rich_help_panel=SPLITS),
    ] = None,
) -> Outcome:
    """Read the files, and publish the graph under a name."""
    from cgnn_cli.datasets.importing import ImportOptions, import_graph

    check_import_name(name)
    drawn = split_count is not None or split_seed is not None
    if drawn and (labels is None or splits is not None):
        raise UsageError(
            "--split-count and --split-seed are for splits that are drawn from the labels",
            "leave them out with --splits or without --labels",
        )
    options = ImportOptions(
        edges=edges,
        features=features,
        labels=labels,
        splits=splits,
        source_column=source_column,
        target_column=target_column,
        weight_column=weight_column,
        header=header,
        impute=impute,
        relabel=relabel,
        split_ratio=split_ratio,
        per_class=per_class,
        val=val,
        split_count=10 if split_count is None else split_count,
        split_seed=split_seed or 0,
    )
    graph = import_graph(options)
    step = graph_step(graph)
    runner = session.runner()
    found, hit = runner.obtain(step)
    source = {
        role: str(path)
        for role, path in (("edges", edges), ("features", features), ("labels", labels), ("splits", splits))
        if path
    }
    remember(session.store, name, step, source, graph.summary)
    for note in graph.summary.get("notes", ()):
        session.talker.note(note)
    summary = {**found.summary, **{figure: value for figure, value in graph.summary.items() if figure != "notes"}}
    session.talker.say(
        f"{name}: {graph.node_count:,} nodes, {graph.adjacency.nnz:,} edges, {graph.class_count} classes, "
        f"{graph.split_count} split{'' if graph.split_count == 1 else 's'}"
    )
    return Outcome.of_artifact(session.store.path("graph", found.key), found, hit=hit, summary=summary)
