"""`cgnn models`: the table of models."""

from __future__ import annotations

import typer
from rich.table import Table

from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import option_name
from cgnn_cli.models.table import MODELS
from cgnn_cli.operators.table import uses_weights


def register(app: typer.Typer) -> None:
    command(app, "models", help="The models that --model takes.", rich_help_panel="Look inside")(models)


def models(session: Session) -> Outcome:
    table = Table("name", "what it is", "directions, its own first", "own options", "paper")
    for name, model in MODELS.items():
        options = ", ".join(option_name(option) for option in model.options)
        title = f"{model.title}; reads commute weights" if uses_weights(name) else model.title
        table.add_row(name, title, ", ".join(model.directions) or "none", options, model.paper)
    rows = [
        {
            "name": name,
            "title": model.title,
            "uses_weights": uses_weights(name),
            "operator": model.operator,
            "directions": list(model.directions),
            "paper": model.paper,
            "options": list(model.options),
        }
        for name, model in MODELS.items()
    ]
    return Outcome(table, {"artifact": None, "key": None, "cache": "hit", "summary": {"models": rows}})
