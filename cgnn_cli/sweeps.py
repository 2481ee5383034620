"""Sweeps: the configurations of a grid or of a random search, in an order that all shards of a sweep agree on.

--set train.layers=1,2,3               a grid; several of them make their product
--set train.lr=0.001..0.1:log          a range, for a random search (without `:log` uniform)
cgnn.toml's form in a sweep's file     [train]  layers = [1, 2, 3]  lr = "0.001..0.1:log"  hidden = 64
"""

from __future__ import annotations

import itertools
import math
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgnn_cli.configs import CONFIGS
from cgnn_cli.errors import UsageError
from cgnn_cli.resources import settings_text
from cgnn_cli.settings import Key, checked, known_key, parsed

SWEPT = ("graph", *CONFIGS)
RANGE = re.compile(r"(?P<low>[-+.\deE]+?)\.\.(?P<high>[-+.\deE]+?)(?P<log>:log)?")
FILE_KEYS = {"dataset": str, "preset": str, "splits": list, "random": int, "seed": int}
LEAST = {"random": 1, "seed": 0}
TRIES = 100
Point = dict[str, Any]


@dataclass(frozen=True)
class Range:
    """Numbers between two, ends included; `log`: every order of magnitude is as likely as any other."""

    low: float
    high: float
    log: bool
    whole: bool

    def draw(self, generator: random.Random) -> float:
        """A number of four digits, so that it can be read and typed."""
        if self.log:
            value = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        elif self.whole:
            return generator.randint(int(self.low), int(self.high))
        else:
            value = generator.uniform(self.low, self.high)
        return round(value) if self.whole else float(f"{value:.4g}")

    def text(self) -> str:
        return f"{self.low:g}..{self.high:g}" + (":log" if self.log else "")


Choice = list[Any] | Range
Space = dict[str, Choice]


def choice_of(key: Key, text: str, place: str) -> Choice:
    """What a text after `--set section.key=` lets a sweep choose from."""
    if found := RANGE.fullmatch(text):
        return _range(key, found, place)
    return [parsed(key, part.strip(), place) for part in text.split(separator(key))]


def separator(key: Key) -> str:
    """What stands between values of a key: those of some are lists with commas themselves."""
    return ";" if isinstance(key.default, str) and "," in key.default else ","


def _range(key: Key, found: re.Match[str], place: str) -> Range:
    low, high = (float(parsed(key, found[name], place)) for name in ("low", "high"))
    whole = isinstance(parsed(key, found["low"], place), int)
    if not low < high or (found["log"] and low <= 0):
        raise UsageError(f"{place}: {found[0]} is not a range", "write it as low..high, and with :log above 0")
    return Range(low, high, bool(found["log"]), whole)


def plain(value: Any) -> str:
    """A value as people write it, without loss: 1e-05, 0.5, true."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def set_words(values: Mapping[str, Any]) -> list[str]:
    """Settings as a command line takes them."""
    return [word for path, value in values.items() for word in ("--set", f"{path}={plain(value)}")]


def swept_key(path: str, place: str) -> Key:
    """A key that may vary in a sweep: an option of a stage."""
    key = known_key(path, place)
    if key.section not in SWEPT:
        raise UsageError(f"{place}: {path} is not an option of a stage", "a sweep varies options of stages")
    return key


def separate(sets: Sequence[str]) -> tuple[list[str], Space]:
    """The `--set` of one value each, and the space that the others span."""
    single: list[str] = []
    space: Space = {}
    for text in sets:
        path, equals, value = text.partition("=")
        key = known_key(path.strip(), "--set") if equals else None
        choice = choice_of(key, value.strip(), f"--set {path.strip()}") if key and key.section in SWEPT else []
        if isinstance(choice, Range) or len(choice) > 1:
            space[swept_key(path.strip(), "--set").path] = choice
        else:
            single.append(text)
    return single, space


@dataclass(frozen=True)
class SweepFile:
    """What a sweep's file says: its space, and the keys of its [sweep] table."""

    space: Space = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def read_sweep(path: Path) -> SweepFile:
    """Read a sweep's file: sections and keys as in cgnn.toml, where a list or a range makes a key vary."""
    try:
        content = tomllib.loads(settings_text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the sweep {path} cannot be read: {error}") from error
    values: Any = content.pop("sweep", {})
    if not isinstance(values, dict):
        raise UsageError(f"{path}: sweep = {values!r} is not a table", "write [sweep] and its keys below")
    for name, value in values.items():
        if type(value) is not FILE_KEYS.get(name):
            raise UsageError(f"{path}: [sweep] {name} = {value!r} is not one of {', '.join(FILE_KEYS)} or of its type")
    for name, least in LEAST.items():
        if values.get(name, least) < least:
            raise UsageError(f"{path}: [sweep] {name} must be at least {least}, got {values[name]}")
    space: Space = {}
    for section, entries in content.items():
        if not isinstance(entries, dict):
            raise UsageError(f"{path}: {section} stands outside a section", "dataset and splits belong to [sweep]")
        for name, raw in entries.items():
            key = swept_key(f"{section}.{name}", str(path))
            if isinstance(raw, str) and (found := RANGE.fullmatch(raw)):
                space[key.path] = _range(key, found, str(path))
            elif raw == []:
                raise UsageError(f"{path}: {key.path} has no values")
            else:
                listed = raw if isinstance(raw, list) else [raw]
                space[key.path] = [checked(key, value, str(path)) for value in listed]
    return SweepFile(space, values)


def points_of(space: Space, count: int | None, seed: int) -> list[Point]:
    """The points of a grid in order, or `count` of them drawn at random, each once."""
    ranges = [path for path, choice in space.items() if isinstance(choice, Range)]
    if count is None:
        if ranges:
            raise UsageError(f"{ranges[0]} has a range, from which a grid cannot choose", "add --random N")
        lists = [choice for choice in space.values() if isinstance(choice, list)]
        return [dict(zip(space, values, strict=True)) for values in itertools.product(*lists)]
    generator = random.Random(seed)
    drawn: list[Point] = []
    size = math.inf if ranges else math.prod(len(choice) for choice in space.values() if isinstance(choice, list))
    tries = 0
    while len(drawn) < min(count, size) and tries < TRIES * count:
        tries += 1
        point = {
            path: choice.draw(generator) if isinstance(choice, Range) else generator.choice(choice)
            for path, choice in space.items()
        }
        drawn += [point] if point not in drawn else []
    return drawn


@dataclass(frozen=True)
class Shard:
    """The part `number` of `count`, from 1: every count-th configuration."""

    number: int = 1
    count: int = 1

    def of(self, items: Sequence[Any]) -> list[Any]:
        return list(items[self.number - 1 :: self.count])


def shard_of(text: str | None, environment: Mapping[str, str]) -> Shard:
    """`i/n`, or else the place of this task in Slurm's job array, or else the whole."""
    if text is not None:
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f"--shard {text} is not a shard", "write it as 1/4, 2/4, 3/4 or 4/4")
        return Shard(int(found[1]), int(found[2]))
    names = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT")
    if not all(environment.get(name, "").isdecimal() for name in names):
        return Shard()
    task, first, count = (int(environment[name]) for name in names)
    step = int(environment.get("SLURM_ARRAY_TASK_STEP") or 1)
    number = (task - first) // step + 1
    if not 1 <= number <= count or (task - first) % step:
        raise UsageError(
            f"task {task} of Slurm's array of {count} from {first} has no place in a row", "give --shard i/n"
        )
    return Shard(number, count)
