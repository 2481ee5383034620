"""`cgnn show`: what an artifact holds and where it came from, or why two differ."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cgnn_cli.commands import options
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.store.artifact import FILE_TYPES, Artifact, Header
from cgnn_cli.store.lineage import lineage_differences, open_artifact
from cgnn_cli.store.provenance import shown
from cgnn_cli.store.store import Store

LISTED = 20


def register(app: typer.Typer) -> None:
    text = "What an artifact holds and where it came from; with two, why their keys differ."
    example = "cgnn show .cgnn/commute/KEY.h5"
    command(app, "show", show, help=text, example=example, panel="Look inside", extra=options.MEMORY_LIMIT)


def show(
    session: Session,
    artifact: options.Artifact,
    other: Annotated[str | None, options.argument("OTHER", "A second one to compare with.")] = None,
) -> Outcome:
    """Describe one artifact, or explain the difference between two."""
    path, first = open_artifact(session.store, artifact)
    if other is None:
        return _describe(path, first)
    _, second = open_artifact(session.store, other)
    return _explain(session.store, first.header, second.header)


def _describe(path: Path, artifact: Artifact) -> Outcome:
    from cgnn_cli.store.elements import flatten

    header = dataclasses.replace(artifact.header, provenance=shown(artifact.header.provenance))
    elements = {name: f"{array.dtype} {list(array.shape)}" for name, array in flatten(artifact.elements).items()}
    table = Table(title=f"{FILE_TYPES[header.stage]} {header.key}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("file", str(path))
    described = {"config": header.config, "inputs": header.inputs, "summary": header.summary, "elements": elements}
    for title, values in {**described, "provenance": header.provenance}.items():
        table.add_section()
        for name, value in values.items():
            table.add_row(f"{title}: {name}", _readable(value))
    table.add_section()
    table.add_row("payload sha256", header.payload)
    outcome = Outcome.of(table, header.summary, artifact=path, key=header.key)
    outcome.values |= {"header": header.to_json(), "elements": elements}
    return outcome


def _readable(value: Any) -> str:
    """A value on few lines; of a long list, such as the titles of features, how it begins (`--json` has all of it)."""
    if isinstance(value, list) and len(value) > LISTED:
        return f"{', '.join(map(_readable, value[:LISTED]))} and {len(value) - LISTED:,} more"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(part)}" for name, part in value.items())
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _explain(store: Store, a: Header, b: Header) -> Outcome:
    """Why two keys differ, followed into the inputs that differ."""
    rows = lineage_differences(store, a, b)
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
    summary = {"same_key": a.key == b.key, "differences": different}
    return Outcome.of(text, summary, key=a.key)
