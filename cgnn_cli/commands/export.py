"""`cgnn export`: the content of an artifact for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cgnn_cli.commands import options
from cgnn_cli.commands.output import check_output, said_of, standin_mark
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.errors import UsageError
from cgnn_cli.execution.given import given_step
from cgnn_cli.pipeline import Step
from cgnn_cli.solver_table import missing_parts
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.lineage import open_artifact
from cgnn_cli.store.outputs import write_output

if TYPE_CHECKING:
    from cgnn_cli.analysis.network_file import NetworkKind

NETWORKS: dict[str, NetworkKind] = {"state-dict": "state-dict", "torch-export": "torch-export"}
Formats = Literal["npz", "csv", "parquet", "state-dict", "torch-export"]
SPLIT_HELP = "Of a trained network: the split whose model is written. Default: the first."


def register(app: typer.Typer) -> None:
    text = (
        "Write an artifact as .csv, .parquet or .npz, with the user's own node ids; or the network of a run for "
        "programs without cgnn: its weights (state-dict), or a program of torch.export."
    )
    example = "cgnn export KEY --to csv --output commute.csv"
    command(
        app,
        "export",
        export,
        help=text,
        example=example,
        brief="An artifact as a table, or a trained network for torch alone.",
        panel="Look inside",
        extra=options.MEMORY_LIMIT,
    )


def export(
    session: Session,
    artifact: options.Artifact,
    to: Annotated[Formats, options.option("--to", "Format of the file.")],
    output: Annotated[Path, options.option("--output -o", "File to write.")],
    split: Annotated[int | None, options.option("--split", SPLIT_HELP, min=0)] = None,
) -> Outcome:
    """Write the content of an artifact for other programs."""
    from cgnn_cli.artifact_tables import export_artifact

    check_output(session, output)
    path, content = open_artifact(session.store, artifact)
    header = content.header
    if (kind := NETWORKS.get(to)) is not None:
        data = session.workspace.network_file(_trained(session, header, path), kind, split)
    elif split is not None:
        raise UsageError(f"--split is for {' and '.join(NETWORKS)}; --to {to} has all splits", "leave it out")
    else:
        data = export_artifact(session.store, content, to)
    if header.stage == "commute" and (note := missing_parts(header.config["solver"], header.summary, content.elements)):
        session.talker.note(note)
    write_output(output, data)
    summary = {"bytes": len(data), **standin_mark(header)}
    return Outcome.of(said_of(output), summary, artifact=output, key=header.key, source=str(path))


def _trained(session: Session, header: Header, path: Path) -> Step:
    """The trainings of an artifact: themselves, or those that were scored."""
    found = given_step(session.store, header, {header.key: path}).find("train")
    if found is None:
        raise UsageError(
            f"{header.stage} {header.key[:12]} has no trained network", "name what `cgnn train` or `cgnn run` printed"
        )
    return found
