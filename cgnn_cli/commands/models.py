"""`cgnn models`: the table of models, or one of them with its options."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from cgnn_cli.commands.console import styled
from cgnn_cli.commands.help_page import joined, listed, rows_of, terminal_width
from cgnn_cli.commands.options import argument, completion, config_parameters
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import option_name
from cgnn_cli.errors import UsageError
from cgnn_cli.presets.lookup import describe_models
from cgnn_cli.settings import KEYS


def register(app: typer.Typer) -> None:
    text = "The models that --model takes; with a NAME, that one, and what its options mean."
    command(app, "models", models, help=text, example="cgnn models dirgnn", panel="Look inside")


def models(
    session: Session,
    name: Annotated[
        str | None, argument("NAME", "One of them.", completion(lambda: KEYS["train.model"].choices))
    ] = None,
) -> Outcome:
    rows = describe_models()
    if name is not None:
        if name not in (known := [row["name"] for row in rows]):
            raise UsageError(f"unknown model {name}", f"known: {', '.join(known)}")
        rows = [row for row in rows if row["name"] == name]
        explained = [each for each in config_parameters("train") if each.name in rows[0]["options"]]
        options = joined(listed(rows_of(explained), terminal_width()))
        described = _table([row | {"options": []} for row in rows])
        return Outcome.of(Group(described, options), {"models": rows})
    return Outcome.of(_table(rows), {"models": rows})


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0))
    for row in rows:
        table.add_row(styled(row["name"], "bold"), _described(row))
    return table


def _described(row: dict[str, Any]) -> Text:
    """A paragraph: what the model is and where it comes from, and what it takes."""
    known = {name: places for name, places in row["presets"].items() if places and name != "paper"}
    lines = {
        "paper": row["paper"],
        "directions": ", ".join(row["directions"]) + " (the first is its own)" if row["directions"] else "none",
        "options": " ".join(option_name(option) for option in row["options"]),
        # The paper's have the same datasets for all models.
        "presets": "; ".join(["paper", *(f"{name}: {', '.join(places)}" for name, places in known.items())]),
    }
    text = styled(f"{row['title']}; reads commute weights" if row["uses_weights"] else row["title"])
    for label, line in lines.items():
        if line:
            text.append(f"\n{label}: ", "dim").append_text(styled(line))
    return text
