"""`cgnn export`: the content of an artifact for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cgnn_cli.commands import options
from cgnn_cli.commands.output import check_output, said_of, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.solver_table import missing_parts
from cgnn_cli.store.lineage import open_artifact
from cgnn_cli.store.outputs import write_output


def register(app: typer.Typer) -> None:
    text = "Write an artifact as .csv, .parquet or .npz, with the user's own node ids."
    example = "cgnn export KEY --to csv --output commute.csv"
    command(
        app,
        "export",
        export,
        help=text,
        example=example,
        brief="An artifact as .csv, .parquet or .npz, with your own ids.",
        panel="Look inside",
        extra=options.MEMORY_LIMIT,
    )


def export(
    session: Session,
    artifact: options.Artifact,
    to: Annotated[Literal["npz", "csv", "parquet"], options.option("--to", "Format of the file.")],
    output: Annotated[Path, options.option("--output -o", "File to write.")],
) -> Outcome:
    """Write the content of an artifact for other programs."""
    from cgnn_cli.artifact_tables import export_artifact

    check_output(session, output)
    path, content = open_artifact(session.store, artifact)
    data, header = export_artifact(session.store, content, to), content.header
    if header.stage == "commute" and (note := missing_parts(header.config["solver"], header.summary, content.elements)):
        session.talker.note(note)
    write_output(output, data)
    summary = {"bytes": len(data), **standin_mark(header)}
    return Outcome.of(said_of(output), summary, artifact=output, key=header.key, source=str(path))
