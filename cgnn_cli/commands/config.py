"""`cgnn config`: the settings in force, and where each comes from."""

from __future__ import annotations

from pathlib import Path

import typer

from cgnn_cli.commands.console import make_table
from cgnn_cli.commands.options import DATASET_SECTIONS, Dataset, config_parameters
from cgnn_cli.commands.session import Outcome, Session, command, command_group
from cgnn_cli.configs import SECTIONS
from cgnn_cli.pipeline import COMMANDS
from cgnn_cli.redaction import redacted_address


def register(app: typer.Typer) -> None:
    brief = "Settings and where they come from."
    group = command_group(app, "config", help="Settings: show what is in force.", brief=brief, panel="Look inside")
    command(
        group,
        "show",
        show,
        group="config",
        help="Every setting with its value and its origin: flag, --set, environment, file, preset or default.",
        example="cgnn config show --set train.lr=0.005",
        common="--dataset --preset --set --config --store --json",
        extra=config_parameters("compute", *COMMANDS, *DATASET_SECTIONS),
    )


def show(session: Session, dataset: Dataset = None) -> Outcome:
    """All settings, checked as a stage would check them; of `auto`, what it stands for where that is known."""
    facts = session.settings.facts()
    checked = {section: session.settings.config(section).resolved(facts) for section in SECTIONS}
    table, rows = make_table("setting", "value", "origin"), {}
    for path, resolved in session.settings.values.items():
        value = resolved.value
        if isinstance(value, str | Path):
            value = redacted_address(str(value))
        section, _, name = path.rpartition(".")
        taken = getattr(checked.get(section), name, value) if value == "auto" else value
        shown = "-" if value is None else f"auto ({taken})" if taken != value else str(value)
        table.add_row(path, shown, resolved.origin)
        rows[path] = {"value": value, "origin": resolved.origin} | ({"auto": taken} if taken != value else {})
    return Outcome.of(table, {"settings": rows})
