"""`cgnn models`: the table of models."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import option_name
from cgnn_cli.models.table import MODELS, Model
from cgnn_cli.operators.table import uses_weights
from cgnn_cli.presets.table import PRESETS, rows_of


def register(app: typer.Typer) -> None:
    command(app, "models", help="The models that --model takes.", rich_help_panel="Look inside")(models)


def known_presets(model: str) -> dict[str, list[str]]:
    """The datasets that each preset has a row of settings for."""
    return {name: [dataset for dataset, known in rows_of(name) if known == model] for name in PRESETS}


def _presets_line(known: dict[str, list[str]]) -> str:
    """All presets with their datasets; the paper's have the same for all models."""
    found = (f"{name}: {', '.join(datasets)}" for name, datasets in known.items() if datasets and name != "paper")
    return "; ".join(["paper", *found])


def _described(name: str, model: Model, presets: dict[str, list[str]]) -> Text:
    """A paragraph: what the model is and where it comes from, and what it takes."""
    lines = {
        "paper": model.paper,
        "directions": ", ".join(model.directions) + " (the first is its own)" if model.directions else "none",
        "options": " ".join(option_name(option) for option in model.options),
        "presets": _presets_line(presets),
    }
    title = f"{model.title}; reads commute weights" if uses_weights(name) else model.title
    text = Text(title)
    for label, line in lines.items():
        if line:
            text.append(f"\n{label}: ", "dim").append(line)
    return text


def models(session: Session) -> Outcome:
    presets = {name: known_presets(name) for name in MODELS}
    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0))
    for name, model in MODELS.items():
        table.add_row(Text(name, "bold"), _described(name, model, presets[name]))
    rows = [
        {
            "name": name,
            "title": model.title,
            "uses_weights": uses_weights(name),
            "operator": model.operator,
            "directions": list(model.directions),
            "paper": model.paper,
            "options": list(model.options),
            "presets": presets[name],
        }
        for name, model in MODELS.items()
    ]
    return Outcome(table, {"artifact": None, "key": None, "cache": "hit", "summary": {"models": rows}})
