"""Options that several commands share, each declared once."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cgnn_cli.configs import CONFIGS, SECTIONS, StageConfig, option_name, type_hints
from cgnn_cli.errors import CgnnError
from cgnn_cli.presets.table import PRESETS
from cgnn_cli.settings import DEFAULT_STORE, Settings
from cgnn_cli.store.artifact import ROOT_TYPES
from cgnn_cli.store.store import Store

INPUT_PANEL, DATASET_PANEL, COMPUTE_PANEL, OUTPUT_PANEL = "Input", "Dataset", "Compute", "Output"
DATASET_SECTIONS = ("source", "graph")
PANELS = {"source": DATASET_PANEL, "graph": DATASET_PANEL, "compute": COMPUTE_PANEL}


def config_parameters(*sections: str) -> list[inspect.Parameter]:
    """The options of some sections, the last one first, or of a single key of a section (`compute.memory_limit`).

    None stands for `not given`. Where there are weights or models to choose, a preset can choose them.
    """
    parameters = [PRESET_PARAMETER] if "commute" in sections else []
    for name in reversed(sections):
        section, _, only = name.partition(".")
        parameters += [parameter for parameter in _parameters(section) if not only or parameter.name == only]
    return parameters


@cache
def _parameters(section: str) -> list[inspect.Parameter]:
    """The options of a section: made once, for they are many and several commands take them."""
    config = SECTIONS[section]
    return [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(config, item))
        for item in dataclasses.fields(config)
    ]


def _annotation(config: type[StageConfig], item: dataclasses.Field[Any]) -> Any:
    kind = type_hints(config.stage)[item.name]
    flag = option_name(item.name)
    panel = PANELS.get(config.stage, f"Stage {config.stage}")
    if kind is bool:
        flag = f"{flag}/--no-{item.name.replace('_', '-')}"
    default = _readable_default(item.default)
    settings = typer.Option(
        flag,
        help=item.metadata["help"],
        show_default=default,
        metavar=item.metadata.get("metavar"),
        rich_help_panel=panel,
    )
    return Annotated[kind | None, settings]


def _readable_default(value: Any) -> str | bool:
    if value is None:
        return False
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "1/3" if value == 1 / 3 else str(value)


def stage_configs(settings: Settings) -> dict[str, StageConfig]:
    """The configuration of every stage."""
    return {stage: settings.config(stage) for stage in CONFIGS}


def complete_dataset(incomplete: str) -> list[str]:
    """Names of datasets, for the shell."""
    from cgnn_cli.datasets.registry import Datasets

    return [name for name in Datasets(_completion_store()).names() if name.startswith(incomplete)]


def complete_artifact(incomplete: str) -> list[str]:
    """Keys in the store, for the shell."""
    keys = (path.stem for stage in ROOT_TYPES for path in (_completion_store().root / stage).glob(f"{incomplete}*.h5"))
    return sorted(keys)


def _completion_store() -> Store:
    """The store of the settings; completion never fails over a mistake in them."""
    try:
        return Store(Path(Settings({}).value("store")))
    except CgnnError:
        return Store(Path(DEFAULT_STORE))


def complete_preset(incomplete: str) -> list[str]:
    """Names of presets, for the shell."""
    return [name for name in PRESETS if name.startswith(incomplete)]


PRESET_PARAMETER = inspect.Parameter(
    "preset",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            autocompletion=complete_preset,
            help=f"Settings of the model on the dataset: {', '.join(PRESETS)}, or a .toml file; others override them.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ],
)
DatasetOption = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        "-d",
        metavar="NAME",
        autocompletion=complete_dataset,
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
RestartOption = Annotated[
    bool,
    typer.Option("--restart", help="Begin unfinished work anew, instead of going on.", rich_help_panel=COMPUTE_PANEL),
]
FormatOption = Annotated[
    Literal["h5", "npz"],
    typer.Option("--format", help="npz: write a flat .npz beside the HDF5 file too.", rich_help_panel=OUTPUT_PANEL),
]
