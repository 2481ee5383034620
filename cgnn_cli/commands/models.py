"""`cgnn models`: the table of models."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from cgnn_cli.commands.console import styled
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import option_name
from cgnn_cli.presets.lookup import describe_models


def register(app: typer.Typer) -> None:
    command(app, "models", models, help="The models that --model takes.", panel="Look inside")


def models(session: Session) -> Outcome:
    rows = describe_models()
    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0))
    for row in rows:
        table.add_row(styled(row["name"], "bold"), _described(row))
    return Outcome.of(table, {"models": rows})


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
