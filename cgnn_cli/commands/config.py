"""`cgnn config`: the settings in force, and where each comes from."""

from __future__ import annotations

import typer
from rich import box
from rich.table import Table

from cgnn_cli.commands.options import DATASET_SECTIONS, DatasetOption, config_parameters
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import SECTIONS
from cgnn_cli.pipeline import COMMANDS


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Settings: show what is in force.")
    command(
        group,
        "show",
        group="config",
        extra=config_parameters("compute", *COMMANDS, *DATASET_SECTIONS),
        help="Every setting with its value and its origin: flag, --set, environment, file, preset or default.",
        epilog="Example: cgnn config show --set train.lr=0.005",
    )(show)
    app.add_typer(group, name="config", rich_help_panel="Look inside", short_help="Settings and where they come from.")


def show(session: Session, dataset: DatasetOption = None) -> Outcome:
    """All settings, checked as a stage would check them."""
    settings = session.settings
    for section in SECTIONS:
        settings.config(section)
    table = Table("setting", "value", "origin", box=box.SIMPLE_HEAD)
    for path, resolved in settings.values.items():
        table.add_row(path, "-" if resolved.value is None else str(resolved.value), resolved.origin)
    rows = {path: {"value": resolved.value, "origin": resolved.origin} for path, resolved in settings.values.items()}
    return Outcome(table, {"artifact": None, "key": None, "cache": "hit", "summary": {"settings": rows}})
