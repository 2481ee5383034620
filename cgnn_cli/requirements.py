"""What the package needs and what of it is installed: names, versions, and the extras that are optional."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

PACKAGE = "cgnn"
FORM = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?\s*([^;]*)(?:;.*\bextra\s*==\s*['\"]([\w.-]+)['\"])?")
BOUND = re.compile(r"(>=|<|==)\s*([0-9][\w.]*)")
FOR_DEVELOPERS = ("dev", "docs")


@dataclass(frozen=True)
class Need:
    """A package that is needed, by an extra or by all: the versions that are supported and the one that is there."""

    name: str
    range: str
    extra: str | None
    installed: str | None

    @property
    def fits(self) -> bool:
        """Whether the installed version is in the range."""
        if self.installed is None:
            return False
        have = _numbers(self.installed)
        tests = {">=": lambda wanted: have >= wanted, "<": lambda wanted: have < wanted, "==": have.__eq__}
        return all(tests[sign](_numbers(bound)) for sign, bound in BOUND.findall(self.range))


def needs() -> Iterator[Need]:
    """All packages that cgnn names, but those for its developers; nothing where cgnn itself is not installed."""
    try:
        lines = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        match = FORM.match(line)
        if match and match[1] != PACKAGE and match[4] not in FOR_DEVELOPERS:
            yield Need(match[1], match[3].strip().strip("()"), match[4], _version(match[1]))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version: 2.13.0+cpu is (2, 13, 0), and 2.13 the same."""
    numbers = [int(part) for part in re.match(r"[0-9.]*", version)[0].split(".") if part]  # type: ignore[index]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
