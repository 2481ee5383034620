"""Figures of the experiments that no set of runs alone has."""

from __future__ import annotations

from importlib.util import find_spec


def can_draw() -> bool:
    """Whether matplotlib is installed; without it a page has tables alone."""
    return find_spec("matplotlib") is not None
