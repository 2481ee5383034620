"""Settings: flags over `--set` over environment over file over preset over default, each value with its origin.

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
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from cgnn_cli.configs import SECTIONS, StageConfig, type_hints
from cgnn_cli.errors import UsageError

DEFAULT_FILE = "cgnn.toml"
DEFAULT_STORE = ".cgnn"
OTHER_VARIABLES = ("CGNN_CONFIG", "CGNN_DEBUG", "CGNN_CRASH_AT", "CGNN_TEST_DATA")
OUTSIDE = ("", "source")
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Key:
    """One thing that can be set: its place, its type and its default."""

    section: str
    name: str
    kind: Any
    default: Any

    @property
    def path(self) -> str:
        return self.name if self.section in OUTSIDE else f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return "CGNN_" + self.path.replace(".", "_").upper()


@dataclass(frozen=True)
class Resolved:
    """A value and where it came from."""

    value: Any
    origin: str = "default"


def _all_keys() -> dict[str, Key]:
    keys = [Key("", "store", str, DEFAULT_STORE), Key("", "dataset", str, None)]
    for section, config in SECTIONS.items():
        hints = type_hints(section)
        keys += [Key(section, item.name, hints[item.name], item.default) for item in dataclasses.fields(config)]
    return {key.path: key for key in keys}


KEYS = _all_keys()
OF_FLAG = {key.name: key.path for key in KEYS.values()}


class Settings:
    """The values in force for one call; those of a `point` of a sweep hold in any case."""

    def __init__(
        self,
        flags: Mapping[str, Any],
        sets: Sequence[str] = (),
        file: Path | None = None,
        environment: Mapping[str, str] = os.environ,
        preset: str | None = None,
        point: Mapping[str, Any] | None = None,
    ) -> None:
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
        self.preset = preset
        if preset is not None:
            self._fill_in(preset)

    def _fill_in(self, name: str) -> None:
        """Take from a preset what nothing else has set; it depends on the model and the dataset."""
        from cgnn_cli.presets.table import preset

        origin = f"preset {name}"
        for path, raw in preset(name, self.value("dataset"), self.value("train.model")).items():
            key = known_key(path, origin)
            if self.values[path].origin == "default":
                self.values[path] = Resolved(checked(key, raw, origin), origin)

    @classmethod
    def of(cls, values: Mapping[str, Any], place: str) -> Settings:
        """The defaults with some values over them, checked; no file and no environment. None stands for a default."""
        settings = cls.__new__(cls)
        settings.values = {path: Resolved(key.default) for path, key in KEYS.items()}
        settings.given = {path for path, value in values.items() if value is not None}
        settings.preset = None
        for path in settings.given:
            settings.values[path] = Resolved(checked(known_key(path, place), values[path], place), place)
        return settings

    def value(self, path: str) -> Any:
        return self.values[path].value

    def config(self, section: str) -> StageConfig:
        """The configuration of a section."""
        keys = [key for key in KEYS.values() if key.section == section]
        return SECTIONS[section](**{key.name: self.value(key.path) for key in keys})

    def given_in(self, section: str) -> list[str]:
        """The keys of a section that were given on the command line."""
        return sorted(KEYS[path].name for path in self.given if KEYS[path].section == section)


def _from_file(file: Path | None, environment: Mapping[str, str]) -> dict[str, Resolved]:
    named = file or (Path(environment["CGNN_CONFIG"]) if environment.get("CGNN_CONFIG") else None)
    path = named or Path(DEFAULT_FILE)
    try:
        text = path.read_text(encoding="utf-8")
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
        if isinstance(value, dict):
            if name not in SECTIONS and not value:
                rows.append(("", name, value))
            rows += [(name, inner, raw) for inner, raw in value.items()]
        else:
            rows.append(("", name, value))
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
        raise UsageError(f"{place}: {text!r} is not {_describe(key.kind)}") from None


def checked(key: Key, raw: Any, place: str) -> Any:
    """A value of the right type; a whole number may stand for a float, and a number for a scale."""
    kind = _plain(key.kind)
    choices = typing.get_args(key.kind) if typing.get_origin(key.kind) is Literal else ()
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if key.path == "commute.scale" and isinstance(raw, int | float) and not isinstance(raw, bool):
        return str(raw)
    if type(raw) is not kind or (choices and raw not in choices):
        near = get_close_matches(str(raw), choices, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{place}: {key.path} = {raw!r} is not {_describe(key.kind)}{meant}")
    return raw


def _plain(kind: Any) -> type:
    if typing.get_origin(kind) is Literal:
        return str
    if isinstance(kind, types.UnionType):
        return typing.get_args(kind)[0]
    return kind


def _describe(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(typing.get_args(kind))
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(_plain(kind), "a text in quotes")
