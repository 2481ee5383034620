"""The generators of pages in docs/, as modules."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[2] / "docs"


def generator_of(name: str) -> ModuleType:
    """The module of a generator, which imports what stands beside it."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return import_module(name)
