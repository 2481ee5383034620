"""Weights of the classes in the loss: by frequency, or from a file, whose content and not its name is the option."""

import csv
import json
from pathlib import Path

from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.resources import settings_text

NAMED = ("none", "balanced")
LEAST, LARGEST = 1e-15, 1e15  # no share of a weight is zero or infinite in 32 bits
FORM = "it takes none, balanced, or a file with a class and its weight in each row, like fraud,10"


def settled(value: str) -> str:
    """The option as keys have it: `none`, `balanced`, or weights by class as JSON, whichever file they are from."""
    if value in NAMED:
        return value
    weights = parsed(value) if value.startswith("{") else _read(Path(value))
    return json.dumps(weights, ensure_ascii=False, sort_keys=True)


def parsed(text: str) -> dict[str, float]:
    """The weights by class of an option that is settled."""
    try:
        weights = json.loads(text)
        return {str(name): _checked(float(weight), f"class {name}") for name, weight in weights.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"--class-weights {text[:60]} cannot be read", FORM) from error


def _read(path: Path) -> dict[str, float]:
    """A table of class and weight, with a header or without one."""
    try:
        rows = [row for row in csv.reader(settings_text(path).removeprefix("\ufeff").splitlines()) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"--class-weights {path} cannot be read: {told}", FORM) from error
    weights: dict[str, float] = {}
    for number, row in enumerate(rows, 1):
        place = f"{path}: row {number}"
        if len(row) != 2:
            raise DataError(f"{place} has {len(row)} columns, and not class,weight", FORM)
        name, text = (part.strip() for part in row)
        if number == 1 and (name, text) == ("class", "weight"):
            continue
        if name in weights:
            raise DataError(f"{place} names the class {name} again", "write each class once")
        weights[name] = _weight(text, place)
    if not weights:
        raise DataError(f"{path} has no weights", FORM)
    return weights


def _weight(text: str, place: str) -> float:
    try:
        return _checked(float(text), place)
    except ValueError:
        raise DataError(f"{place}: {text!r} is not a number", "write weights like 10 or 0.5") from None


def _checked(weight: float, place: str) -> float:
    if not LEAST <= weight <= LARGEST:
        allowed = f"a positive number between {LEAST:g} and {LARGEST:g}"
        raise DataError(f"{place}: the weight of a class must be {allowed}, got {weight:g}")
    return weight
