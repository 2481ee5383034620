"""`show` and `export`: what an artifact holds, where it came from, and its content in other formats."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from cgnn_cli.commands.options import complete_artifact
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.errors import UpstreamError, UsageError
from cgnn_cli.runner import differences
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import ROOT_TYPES, Artifact, Header
from cgnn_cli.store.disk import write_atomically
from cgnn_cli.store.store import Store

PANEL = "Look inside"
ArtifactArgument = Annotated[
    str, typer.Argument(metavar="ARTIFACT", help="A file, or the beginning of a key.", autocompletion=complete_artifact)
]


def register(app: typer.Typer) -> None:
    command(
        app,
        "show",
        help="What an artifact holds and where it came from; with two, why their keys differ.",
        epilog="Example: cgnn show .cgnn/commute/KEY.h5",
        rich_help_panel=PANEL,
    )(show)
    command(
        app,
        "export",
        help="Write an artifact as .csv, .parquet or .npz, with the user's own node ids.",
        epilog="Example: cgnn export KEY --to csv --output commute.csv",
        rich_help_panel=PANEL,
    )(export)


def open_artifact(store: Store, name: str) -> tuple[Path, Artifact]:
    """An artifact named by its file or by the beginning of its key."""
    path = Path(name)
    with contextlib.suppress(OSError):
        if path.exists():
            return path, files.read(path)
    if "/" in name or name.endswith((".h5", ".npz")):
        raise UpstreamError(f"there is no file {name}")
    path = store.path(*store.resolve(name))
    return path, files.read(path)


def show(
    session: Session,
    artifact: ArtifactArgument,
    other: Annotated[str | None, typer.Argument(metavar="OTHER", help="A second one to compare with.")] = None,
) -> Outcome:
    """Describe one artifact, or explain the difference between two."""
    path, first = open_artifact(session.store, artifact)
    if other is None:
        return _describe(path, first)
    _, second = open_artifact(session.store, other)
    return _explain(session.store, first.header, second.header)


def _describe(path: Path, artifact: Artifact) -> Outcome:
    from cgnn_cli.store.elements import flatten

    header = artifact.header
    elements = {name: f"{array.dtype} {list(array.shape)}" for name, array in flatten(artifact.elements).items()}
    table = Table(title=f"{ROOT_TYPES[header.stage]} {header.key}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("file", str(path))
    for title, values in (
        ("config", header.config),
        ("inputs", header.inputs),
        ("summary", header.summary),
        ("elements", elements),
        ("provenance", header.provenance),
    ):
        table.add_section()
        for name, value in values.items():
            table.add_row(f"{title}: {name}", _readable(value))
    table.add_section()
    table.add_row("payload sha256", header.payload)
    values = {
        "artifact": str(path),
        "key": header.key,
        "cache": "hit",
        "summary": header.summary,
        "header": header.to_json(),
        "elements": elements,
    }
    return Outcome(table, values)


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(part)}" for name, part in value.items())
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _explain(store: Store, a: Header, b: Header) -> Outcome:
    """Why two keys differ, followed into the inputs that differ."""
    rows = _chain_differences(store, a, b, {})
    text: Any
    if a.key == b.key:
        same = a.payload == b.payload
        text = f"both are {a.stage} {a.key}, with {'the same' if same else 'DIFFERENT'} content"
    elif a.stage != b.stage:
        text = f"{a.key[:12]} is a {a.stage} artifact, {b.key[:12]} is a {b.stage} artifact"
    else:
        text = Table("stage", "what", a.key[:12], b.key[:12], title="What differs")
        for stage, what, left, right in rows:
            text.add_row(stage, what, _readable(left), _readable(right))
    different = [{"stage": stage, "what": what, "first": left, "second": right} for stage, what, left, right in rows]
    return Outcome(
        text,
        {
            "artifact": None,
            "key": a.key,
            "cache": "hit",
            "summary": {"same_key": a.key == b.key, "differences": different},
        },
    )


def _chain_differences(store: Store, a: Header, b: Header, seen: dict[str, bool]) -> list[tuple[str, str, Any, Any]]:
    if a.stage != b.stage or a.key == b.key or seen.get(a.key):
        return []
    seen[a.key] = True
    rows = []
    for name, (left, right) in differences(a, b).items():
        role = name.removeprefix("input ")
        stage = role.split("-")[0]
        upstream = [store.find(stage, key) for key in (left, right) if key and name != role]
        rows.append((a.stage, name, _short(left, name != role), _short(right, name != role)))
        if len(upstream) == 2 and upstream[0] and upstream[1]:
            rows.extend(_chain_differences(store, upstream[0], upstream[1], seen))
    return rows


def _short(value: Any, is_key: bool) -> Any:
    return value[:12] if is_key and value else value


def export(
    session: Session,
    artifact: ArtifactArgument,
    to: Annotated[Literal["npz", "csv", "parquet"], typer.Option("--to", help="Format of the file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.", show_default=False)],
) -> Outcome:
    """Write the content of an artifact for other programs."""
    check_output(output)
    path, content = open_artifact(session.store, artifact)
    if to == "npz":
        buffer = io.BytesIO()
        files.write_npz(buffer, content)
        data = buffer.getvalue()
    else:
        from cgnn_cli.export import table_bytes

        data = table_bytes(content, _graph_of(session.store, content.header), to)
    write_output(output, data)
    values = {
        "artifact": str(output),
        "key": content.header.key,
        "cache": "hit",
        "summary": {"bytes": len(data), **standin_mark(content.header)},
        "source": str(path),
    }
    return Outcome(str(output), values)


def standin_mark(header: Header) -> dict[str, Any]:
    """The mark of a result that was made from a stand-in."""
    return {name: value for name, value in header.summary.items() if name == "standin"}


def check_output(path: Path | None) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path is None:
        return
    if not path.name or path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder", "name a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: no such folder, or no right to", "name a file in a writable folder")


def make_folder(path: Path) -> None:
    """Make the folder of an output that the user asked for."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path}: {error.strerror}", "name another --output") from error


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user asked for, whole or not at all."""
    try:
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "name a file in an existing, writable folder"
        ) from error


def _graph_of(store: Store, header: Header) -> Artifact:
    """The graph artifact that an artifact was made from."""
    current = header
    while current.stage != "graph":
        role = "graph" if "graph" in current.inputs else next(iter(current.inputs))
        found = store.find(role, current.inputs[role])
        if found is None:
            raise UpstreamError(
                f"{role} {current.inputs[role][:12]}, which has the node ids, is not in the store {store.root}",
                "name the store that has it with --store, or export to npz",
            )
        current = found
    return store.load("graph", current.key)
