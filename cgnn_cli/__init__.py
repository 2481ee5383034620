"""cgnn: learning on directed graphs with random-walk commute times.

    from cgnn_cli import NodeClassifier, commute_times, hitting_times

These three are loaded when they are asked for; the stages as functions are in `cgnn_cli.api`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgnn_cli.python.classifier import NodeClassifier
    from cgnn_cli.python.times import commute_times, hitting_times

__all__ = ["NodeClassifier", "commute_times", "hitting_times"]
__version__ = "0.1.0"

PLACES = {"NodeClassifier": "classifier", "commute_times": "times", "hitting_times": "times"}


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"cgnn_cli.python.{PLACES[name]}"), name)
