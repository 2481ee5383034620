"""Settings: flags over `--set` over preset over environment over file over default, each value with its origin.

    cgnn.toml          [train]        lr = 0.01
    environment        CGNN_TRAIN_LR=0.01
    command line       --set train.lr=0.01, or --lr 0.01

The sections and keys are those of the configuration dataclasses. `store`, `dataset` and the keys of `source` stand
outside any section: `mirror`, CGNN_MIRROR.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from cgnn_cli.configs import SECTIONS, CommuteConfig, Facts, GraphConfig, StageConfig, TrainConfig, option_name
from cgnn_cli.datasets.registry import form_name
from cgnn_cli.errors import UsageError
from cgnn_cli.extensions import load_extensions
from cgnn_cli.models.model_table import LISTENERS, MODELS, train_config
from cgnn_cli.operators.operator_table import uses_weights
from cgnn_cli.pipeline import BEFORE_TRAINING
from cgnn_cli.presets.lookup import Row
from cgnn_cli.presets.lookup import preset as preset_row
from cgnn_cli.resources import settings_text

DEFAULT_FILE = "cgnn.toml"
DEFAULT_STORE = ".cgnn"
OTHER_VARIABLES = ("CGNN_CONFIG", "CGNN_EXTENSIONS", "CGNN_DEBUG", "CGNN_CRASH_AT", "CGNN_TEST_DATA")
OUTSIDE = ("", "source")
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Key:
    """One thing that can be set: its place, its type, its default, its help and its limits."""

    section: str
    name: str
    kind: Any
    default: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.name if self.section in OUTSIDE else f"{self.section}.{self.name}"

    @property
    def choices(self) -> Sequence[str]:
        """What it takes now, where that is a list."""
        if "choices" in self.metadata:  # of a table that may grow
            return self.metadata["choices"]()
        return typing.get_args(self.kind) if typing.get_origin(self.kind) is Literal else ()

    @property
    def variable(self) -> str:
        return "CGNN_" + self.path.replace(".", "_").upper()


@dataclass(frozen=True)
class Resolved:
    """A value and where it came from."""

    value: Any
    origin: str = "default"


KEYS: dict[str, Key] = {}
OF_FLAG: dict[str, str] = {}


def _add(keys: Sequence[Key]) -> None:
    """Options of one name are one option, with one default and one help, whoever declares it."""
    for key in keys:
        if OF_FLAG.get(key.name, key.path) != key.path or KEYS.get(key.path, key) != key:
            raise UsageError(f"the option {option_name(key.name)} is declared in two ways", "choose another name")
    OF_FLAG.update({key.name: key.path for key in keys})
    KEYS.update({key.path: key for key in keys})


def _keys(config: type[StageConfig]) -> list[Key]:
    hints, items = typing.get_type_hints(config), dataclasses.fields(config)
    return [Key(config.stage, item.name, hints[item.name], item.default, dict(item.metadata)) for item in items]


def _add_model(model: type[TrainConfig]) -> None:
    _add([key for key in _keys(model) if key.name != "model"])
    choice = KEYS["train.model"]
    names: Any = (*typing.get_args(choice.kind), model.model)
    KEYS["train.model"] = dataclasses.replace(choice, kind=Literal[names], default=names[0])


def models_by_option() -> dict[str, list[str]]:
    """The models that declare each option of a training that not all models have."""
    common, found = {item.name for item in dataclasses.fields(TrainConfig)}, dict[str, list[str]]()
    for name, model in MODELS.items():
        for item in dataclasses.fields(model):
            if item.name not in common:
                found.setdefault(item.name, []).append(name)
    return found


_add([Key("", "store", str, DEFAULT_STORE), Key("", "dataset", str, None)])
for _section in SECTIONS.values():
    _add(_keys(_section))
    for _model in MODELS.values() if _section is TrainConfig else ():
        _add_model(_model)
LISTENERS.append(_add_model)


class Settings:
    """The values in force for one call; those of a `point` of a sweep hold in any case.

    row: the preset's, where it is not looked up by its name. notes: what a preset does that its user may not expect.
    """

    def __init__(
        self,
        flags: Mapping[str, Any],
        sets: Sequence[str] = (),
        file: Path | None = None,
        environment: Mapping[str, str] = os.environ,
        preset: str | None = None,
        point: Mapping[str, Any] | None = None,
        row: Row | None = None,
    ) -> None:
        load_extensions()
        self.values = {path: Resolved(key.default) for path, key in KEYS.items()}
        self.values |= _from_file(file, environment)
        self.values |= _from_environment(environment)
        assigned = dict(_assignment(text) for text in sets)
        self.values |= assigned
        self.given = set(assigned)
        for name, value in flags.items():
            if name in OF_FLAG and value is not None:
                self.values[OF_FLAG[name]] = Resolved(value, "--" + name.replace("_", "-"))
                self.given.add(OF_FLAG[name])
        for path, value in (point or {}).items():
            self.values[path] = Resolved(checked(known_key(path, "sweep"), value, "sweep"), "sweep")
            self.given.add(path)
        self.preset, self.notes = preset, list[str]()
        if preset is not None:
            dataset = self.value("dataset")
            found = row or preset_row(preset, dataset, self.value("train.model"), self.form(dataset) if dataset else "")
            self._take(found)
            if found.search and row is None:
                self._compare_forms(dataset, found)

    def _take(self, row: Row) -> None:
        """The row of a preset over file and environment; one that a search found replaces all they say of its stages.

        Such a row has all that its training reads, and leaves out what others would read: that has its default then.
        """
        origin, model = f"preset {self.preset}", self.value("train.model")
        if "train.model" in self.given and row.settings.get("train.model", model) != model:
            raise UsageError(
                f"the {origin} is for {row.settings['train.model']}, not for {model}", "leave the model out"
            )
        taken = {path: checked(known_key(path, origin), raw, origin) for path, raw in row.settings.items()}
        stages = {path.partition(".")[0] for path in taken} - {"graph"} if row.search else set()
        rest = {path for path, key in KEYS.items() if key.section in stages} - taken.keys() - {"train.model"}
        before = {path: self.values[path] for path in KEYS if path in rest | taken.keys() and path not in self.given}
        self.values |= {
            path: Resolved(taken[path], origin) if path in taken else Resolved(KEYS[path].default) for path in before
        }
        lost = [path for path, was in before.items() if was.origin != "default" and was.value != self.value(path)]
        if lost:
            told = ", ".join(f"{path} ({before[path].origin})" for path in lost)
            self.notes.append(f"the {origin} takes the place of {told}")

    def _compare_forms(self, dataset: str, row: Row) -> None:
        """Note where a row that was found by a search is taken for another form of the graph."""
        own = {path.partition(".")[2]: value for path, value in row.settings.items() if path.startswith("graph.")}
        searched, here = form_name(dataset, GraphConfig(**own)), self.form(dataset)
        if searched != here:
            self.notes.append(f"the preset {self.preset} was found on {searched}, and this is {here}")

    def store_root(self) -> Path:
        """The folder of the store."""
        root = Path(self.value("store"))
        try:
            return root.expanduser().absolute()
        except (RuntimeError, FileNotFoundError) as error:
            raise UsageError(f"the store {root} cannot be located: {error}", "give an absolute --store") from error

    def form(self, dataset: str) -> str:
        """The name of a dataset in the form that is asked for."""
        form = self.config("graph")
        assert isinstance(form, GraphConfig)
        return form_name(dataset, form)

    @classmethod
    def of(cls, values: Mapping[str, Any], place: str) -> Settings:
        """The defaults with some values over them, checked; no file and no environment. None stands for a default."""
        settings = cls.__new__(cls)
        settings.values = {path: Resolved(key.default) for path, key in KEYS.items()}
        settings.given = {path for path, value in values.items() if value is not None}
        settings.preset, settings.notes = None, []
        for path in settings.given:
            settings.values[path] = Resolved(checked(known_key(path, place), values[path], place), place)
        return settings

    def value(self, path: str) -> Any:
        return self.values[path].value

    def config(self, section: str, **changes: Any) -> StageConfig:
        """The configuration of a section, with some changes."""
        values = {key.name: self.value(key.path) for key in KEYS.values() if key.section == section} | changes
        return train_config(**values) if section == "train" else SECTIONS[section](**values)

    def facts(self) -> Facts:
        """What is known of a run before its graph is: the weights that it asks for."""
        commute = self.config("commute")
        assert isinstance(commute, CommuteConfig)
        return Facts(features="", proximity=commute.proximity)

    def full_row(self) -> dict[str, Any]:
        """Every setting that a training depends on, also where it has its default, which may change one day."""
        train = self.config("train").resolved(self.facts())
        assert isinstance(train, TrainConfig)
        form = self.config("graph").to_dict()
        row = {f"graph.{name}": value for name, value in form.items() if value != KEYS[f"graph.{name}"].default}
        for stage in BEFORE_TRAINING if uses_weights(train.model) else ():
            row |= {f"{stage}.{name}": value for name, value in self.config(stage).to_dict().items()}
        values = {**train.to_dict(), "direction": train.direction}
        left_out = {"model"} | ({"seed"} if train.seed == KEYS["train.seed"].default else set())
        row |= {f"train.{name}": value for name, value in values.items() if name not in left_out}
        return {path: value for path, value in row.items() if value is not None}

    def changed(self, sections: Sequence[str]) -> dict[str, Any]:
        """The settings of some sections that were set anywhere, and so have not their default for want of another."""
        own = (path for path, key in KEYS.items() if key.section in sections)
        return {path: self.value(path) for path in own if self.values[path].origin != "default"}

    def by_preset(self) -> set[str]:
        """The settings that come from the preset."""
        return {path for path, value in self.values.items() if value.origin == f"preset {self.preset}"}

    def given_in(self, section: str) -> list[str]:
        """The keys of a section that were given on the command line."""
        return sorted(KEYS[path].name for path in self.given if KEYS[path].section == section)


def _from_file(file: Path | None, environment: Mapping[str, str]) -> dict[str, Resolved]:
    named = file or (Path(environment["CGNN_CONFIG"]) if environment.get("CGNN_CONFIG") else None)
    path = named or Path(DEFAULT_FILE)
    try:
        text = settings_text(path)
    except FileNotFoundError:
        if named is None:
            return {}
        raise UsageError(f"there is no configuration file {path}", "check --config and CGNN_CONFIG") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration file {path} cannot be read: {error}") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    found = {}
    for section, name, raw in _entries(content):
        place = f"{path}:{_line_of(text, section, name)}"
        key = known_key(f"{section}.{name}" if section else name, place)
        found[key.path] = Resolved(checked(key, raw, place), place)
    return found


def _entries(content: dict[str, Any]) -> list[tuple[str, str, Any]]:
    rows: list[tuple[str, str, Any]] = []
    for name, value in content.items():
        section = isinstance(value, dict) and (value or name in SECTIONS)
        rows += [(name, inner, raw) for inner, raw in value.items()] if section else [("", name, value)]
    return rows


def _line_of(text: str, section: str, name: str) -> int:
    """The line that sets a key; 1 where it is written in some other way than `name = value` below `[section]`."""
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.match(r"\s*\[([^\]]+)\]", line):
            current = heading[1].strip()
        elif current == section and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
            return number
    return 1


def _from_environment(environment: Mapping[str, str]) -> dict[str, Resolved]:
    by_variable = {key.variable: key for key in KEYS.values()}
    found = {}
    for variable, text in environment.items():
        if variable in by_variable:
            if text:
                key = by_variable[variable]
                found[key.path] = Resolved(parsed(key, text, variable), variable)
        elif variable.startswith("CGNN_") and variable not in OTHER_VARIABLES:
            near = get_close_matches(variable, [*by_variable, *OTHER_VARIABLES], n=1)
            raise UsageError(f"unknown variable {variable}" + (f"; did you mean {near[0]}?" if near else ""))
    return found


def _assignment(text: str) -> tuple[str, Resolved]:
    """`section.key=value` from the command line."""
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text}: write it as section.key=value, for example train.lr=0.01")
    key = known_key(path.strip(), "--set")
    return key.path, Resolved(parsed(key, value.strip(), f"--set {path.strip()}"), "--set")


def known_key(path: str, place: str) -> Key:
    if path in KEYS:
        return KEYS[path]
    near = OF_FLAG.get(path.rpartition(".")[2]) or next(iter(get_close_matches(path, KEYS, n=1, cutoff=0.5)), None)
    meant = f"; did you mean {near}?" if near else ""
    raise UsageError(f"{place}: unknown key {path}{meant}", "`cgnn config show` lists all keys")


def parsed(key: Key, text: str, place: str) -> Any:
    """A value written as text."""
    kind = _plain(key.kind)
    try:
        if kind is bool:
            if text.lower() not in (*TRUE, *FALSE):
                raise ValueError
            return text.lower() in TRUE
        return checked(key, kind(text) if kind in (int, float) else text, place)
    except ValueError:
        raise UsageError(f"{place}: {text!r} is not {_describe(key)}") from None


def checked(key: Key, raw: Any, place: str) -> Any:
    """A value of the right type; a whole number may stand for a float, and a number for a scale."""
    kind, choices = _plain(key.kind), key.choices
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if key.path == "commute.scale" and isinstance(raw, int | float) and not isinstance(raw, bool):
        return str(raw)
    if type(raw) is not kind or (choices and raw not in choices):
        near = get_close_matches(str(raw), choices, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{place}: {key.path} = {raw!r} is not {_describe(key)}{meant}")
    return raw


def _plain(kind: Any) -> type:
    if typing.get_origin(kind) is Literal:
        return str
    if isinstance(kind, types.UnionType):
        return typing.get_args(kind)[0]
    return kind


def _describe(key: Key) -> str:
    if key.choices:
        return "one of " + ", ".join(key.choices)
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(_plain(key.kind), "a text in quotes")
