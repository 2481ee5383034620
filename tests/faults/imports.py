"""Imports that are refused, and the small graph that most of them are about."""

from pathlib import Path

from tests.front_door import FrontDoor

SHORT = ("--epochs", 2, "--hidden", 4)
RING = "a,b\nb,c\nc,d\nd,e\ne,f\nf,a\nb,a\n"
LABELS = "a,x\nb,x\nc,x\nd,y\ne,y\nf,y\n"


def refused(cgnn: FrontDoor, *arguments: object, code: int = 3) -> str:
    """The one-line error of an import, which leaves nothing behind."""
    before = {path for path in Path().rglob("*") if ".cgnn" not in path.parts}
    line = cgnn.fails(code, "data", "import", "mine", *arguments)
    assert {path for path in Path().rglob("*") if ".cgnn" not in path.parts} == before
    assert not list(Path(".cgnn").rglob("*.h5")) and not list(Path(".cgnn").rglob("*.tmp"))
    return line


def refused_beside(cgnn: FrontDoor, *arguments: object) -> str:
    """The one-line error of an import, which adds nothing to a store."""
    before = set(Path(".cgnn").rglob("*"))
    line = cgnn.fails(3, "data", "import", "mine", *arguments)
    assert {path for path in Path(".cgnn").rglob("*") if path.suffix != ".lock"} <= before
    return line
