"""Options that several commands share, each declared once."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cgnn_cli.configs import CONFIGS, StageConfig, option_name

INPUT_PANEL, COMPUTE_PANEL, OUTPUT_PANEL = "Input", "Compute", "Output"


def config_parameters(*stages: str) -> list[inspect.Parameter]:
    """The options of some stages, the last stage first; None stands for `not given`."""
    return [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(config, item))
        for config in (CONFIGS[stage] for stage in reversed(stages))
        for item in dataclasses.fields(config)
    ]


def _annotation(config: type[StageConfig], item: dataclasses.Field[Any]) -> Any:
    kind = typing.get_type_hints(config)[item.name]
    flag = option_name(item.name)
    if kind is bool:
        flag = f"{flag}/--no-{item.name.replace('_', '-')}"
    default = _readable_default(item.default)
    settings = typer.Option(
        flag, help=item.metadata["help"], show_default=default, rich_help_panel=f"Stage {config.stage}"
    )
    return Annotated[kind | None, settings]


def _readable_default(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "1/3" if value == 1 / 3 else str(value)


def read_configs(values: dict[str, Any]) -> tuple[dict[str, StageConfig], dict[str, list[str]]]:
    """The configuration of every stage from given options, and which options were given for each."""
    configs: dict[str, StageConfig] = {}
    given: dict[str, list[str]] = {}
    for stage, config in CONFIGS.items():
        names = [item.name for item in dataclasses.fields(config) if values.get(item.name) is not None]
        configs[stage] = config(**{name: values[name] for name in names})
        given[stage] = names
    return configs, given


DatasetOption = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        "-d",
        metavar="NAME",
        help="Name of a dataset; `cgnn data list` shows them.",
        show_default=False,
        rich_help_panel=INPUT_PANEL,
    ),
]
InputOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="FILE",
        help="Artifact file of an earlier stage, .h5 or .npz. Repeat it for files that are not in the store.",
        show_default=False,
        rich_help_panel=INPUT_PANEL,
    ),
]
SplitOption = Annotated[
    list[int] | None,
    typer.Option(
        "--split",
        help="Split to use; repeat it for several. Default: every split of the dataset.",
        show_default=False,
        rich_help_panel=INPUT_PANEL,
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Compute again, even if the result is there.", rich_help_panel=COMPUTE_PANEL)
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show what would be found and what computed, and stop.", rich_help_panel=COMPUTE_PANEL
    ),
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda or cuda:0.", rich_help_panel=COMPUTE_PANEL)
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=1, help="Threads of one training.", rich_help_panel=COMPUTE_PANEL)
]
FormatOption = Annotated[
    Literal["h5", "npz"],
    typer.Option("--format", help="npz: write a flat .npz beside the HDF5 file too.", rich_help_panel=OUTPUT_PANEL),
]
