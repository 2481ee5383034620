"""Options that several commands share, each declared once."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from cgnn_cli.configs import CONFIGS, StageConfig, option_name
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.errors import CgnnError
from cgnn_cli.pipeline import STAGES
from cgnn_cli.presets.lookup import AUTO, PRESETS
from cgnn_cli.settings import DEFAULT_STORE, KEYS, Settings, models_by_option
from cgnn_cli.store.store import Store

INPUT_PANEL, DATASET_PANEL, COMPUTE_PANEL, OUTPUT_PANEL = "Input", "Dataset", "Compute", "Output"
SETTINGS_PANEL = "Settings"
DATASET_SECTIONS = ("source", "graph")
# Of commands that train nothing, to which --jobs is of no use.
COMPUTE_WITHOUT_JOBS = [
    f"compute.{name}" for name in ("snapshot_seconds", "deterministic", "memory_limit", "threads", "device")
]
PANELS = {"source": DATASET_PANEL, "graph": DATASET_PANEL, "compute": COMPUTE_PANEL}
STORE_HELP = "Folder of cached artifacts. Default: CGNN_STORE, or .cgnn in the working folder."
CONFIG_HELP = "Settings in TOML. Default: CGNN_CONFIG, or cgnn.toml in the working folder if it is there."
SET_FORM, SET_HELP = "SECTION.KEY=VALUE", "One setting; repeat it for more. `cgnn config show` lists them."
ORIGIN_HELP = "Also tell the paths on this machine, and in a pack its name."
LOCK_HELP = "Seconds to wait for another process that computes the same; negative: for ever."


def option(flags: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """What Annotated takes for an option: `-o` stands after its long name, and a panel collects options in the help.

    Whether a file can be read is told by who reads it, with the exit code of that kind of file.
    """
    return typer.Option(*flags.split(), help=help, rich_help_panel=panel, readable=False, **more)


def argument(metavar: str, help: str, complete: Callable[[str], list[str]] | None = None) -> Any:
    """What Annotated takes for an argument."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=complete, readable=False)


def keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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
    keys = [key for key in KEYS.values() if key.section == section]
    panels: dict[str, str] = {}
    if section == "train":
        panels = {name: _model_panel(models) for name, models in models_by_option().items()}
    whole = PANELS.get(section, f"Stage {section}")
    return [_parameter(key.name, key.kind, key.default, key.metadata, panels.get(key.name, whole)) for key in keys]


def _model_panel(models: list[str]) -> str:
    """The heading of options that not every model has: the models that have them, or most."""
    if 2 * len(models) > len(KEYS["train.model"].choices):
        return "Most models"
    return f"Model{'s' if len(models) > 1 else ''} {', '.join(models)}"


def import_parameters() -> list[inspect.Parameter]:
    """The options of `cgnn data import`, with their limits."""
    hints = get_type_hints(ImportOptions)
    parameters = []
    for item in dataclasses.fields(ImportOptions):
        kind, metadata = hints[item.name], dict(item.metadata)
        if kind == Path | None:  # or a query, which is no path
            kind, metadata = str, {"metavar": "FILE"} | metadata
        parameters.append(_parameter(item.name, kind, item.default, metadata, metadata["panel"], limited=True))
    return parameters


def _parameter(
    name: str, kind: Any, default: Any, metadata: Mapping[str, Any], panel: str, *, limited: bool = False
) -> inspect.Parameter:
    """A field as an option; one without a default must be given."""
    flag = option_name(name)
    settings = option(
        metadata.get("flags", f"{flag}/--no-{flag[2:]}" if kind is bool else flag),
        metadata["help"],
        panel,
        show_default=metadata.get("shown", _readable_default(default)),
        metavar=metadata.get("metavar"),
        min=metadata.get("minimum") if limited else None,
    )
    if names := metadata.get("choices"):
        settings.metavar = settings.metavar or "|".join(names())
        settings.autocompletion = completion(names)
        settings.parser = _one_of(names)
    given = inspect.Parameter.empty if default is dataclasses.MISSING else None
    return keyword(name, given, Annotated[kind | None, settings])


def _one_of(names: Callable[[], Sequence[str]]) -> Callable[[str], str]:
    """What lets a name pass that is in its table when the command is called."""

    def known(value: str) -> str:
        if value not in names():
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, names()))}.")
        return value

    return known


def _readable_default(value: Any) -> str | bool:
    if value is None or value is False:
        return False
    if value is True:
        return "yes"
    return "1/3" if value == 1 / 3 else str(value)


def stage_configs(settings: Settings) -> dict[str, StageConfig]:
    """The configuration of every stage."""
    return {stage: settings.config(stage) for stage in CONFIGS}


def completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What the shell is told of the names that begin as typed."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def _dataset_names() -> Iterable[str]:
    from cgnn_cli.datasets.registry import Datasets

    return Datasets(_completion_store()).names()


complete_dataset = completion(_dataset_names)


def complete_artifact(incomplete: str) -> list[str]:
    """Keys in the store, for the shell."""
    keys = (path.stem for stage in STAGES for path in (_completion_store().root / stage).glob(f"{incomplete}*.h5"))
    return sorted(keys)


def _completion_store() -> Store:
    """The store of the settings; completion never fails over a mistake in them."""
    try:
        return Store(Path(Settings({}).value("store")))
    except CgnnError:
        return Store(Path(DEFAULT_STORE))


PRESET_HELP = (
    f"Settings of the model on the dataset: {', '.join(PRESETS)}, or a .toml file; {AUTO}: what `cgnn tune` chose. "
    "The command line overrides them."
)
PRESET_PARAMETER = keyword(
    "preset",
    None,
    Annotated[
        str | None,
        option(
            "--preset", PRESET_HELP, INPUT_PANEL, metavar="NAME", autocompletion=completion(lambda: (*PRESETS, AUTO))
        ),
    ],
)
MEMORY_LIMIT = config_parameters("compute.memory_limit")
DATASET_HELP = "Name of a dataset; `cgnn data list` shows them."
Dataset = Annotated[
    str | None, option("--dataset -d", DATASET_HELP, INPUT_PANEL, metavar="NAME", autocompletion=complete_dataset)
]
Artifact = Annotated[str, argument("ARTIFACT", "A file, or the beginning of a key.", complete_artifact)]
INPUT_HELP = "Artifact file of an earlier stage, .h5 or .npz. Repeat it for files that are not in the store."
Input = Annotated[list[Path] | None, option("--input -i", INPUT_HELP, INPUT_PANEL, metavar="FILE")]
SPLIT_HELP = "Split to use; repeat it for several. Default: every split of the dataset."
Split = Annotated[list[int] | None, option("--split", SPLIT_HELP, INPUT_PANEL)]
Force = Annotated[bool, option("--force", "Compute again, even if the result is there.", COMPUTE_PANEL)]
DryRun = Annotated[bool, option("--dry-run", "Show what would be found and what computed, and stop.", COMPUTE_PANEL)]
Restart = Annotated[bool, option("--restart", "Begin unfinished work anew, instead of going on.", COMPUTE_PANEL)]
FORMAT_HELP = "npz: write a flat .npz beside the HDF5 file too."
Format = Annotated[Literal["h5", "npz"], option("--format", FORMAT_HELP, OUTPUT_PANEL)]
COMMON = (
    keyword("store", None, Annotated[Path | None, option("--store", STORE_HELP, OUTPUT_PANEL)]),
    keyword("as_json", False, Annotated[bool, option("--json", "Print one JSON object.", OUTPUT_PANEL)]),
    keyword("quiet", False, Annotated[bool, option("--quiet -q", "Only warnings and errors.", OUTPUT_PANEL)]),
    keyword("config", None, Annotated[Path | None, option("--config", CONFIG_HELP, SETTINGS_PANEL, metavar="FILE")]),
    keyword("sets", None, Annotated[list[str] | None, option("--set", SET_HELP, SETTINGS_PANEL, metavar=SET_FORM)]),
    keyword("lock_timeout", -1.0, Annotated[float, option("--lock-timeout", LOCK_HELP, OUTPUT_PANEL)]),
)
