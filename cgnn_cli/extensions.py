"""Models and solvers from outside the package: CGNN_EXTENSIONS names modules, with commas, that register them."""

import os
from contextlib import suppress
from importlib import import_module

from cgnn_cli.errors import UsageError


def load_extensions() -> None:
    """Import the modules that CGNN_EXTENSIONS names."""
    for name in filter(None, os.environ.get("CGNN_EXTENSIONS", "").split(",")):
        try:
            import_module(name.strip())
        except Exception as error:
            raise UsageError(
                f"CGNN_EXTENSIONS: {name} cannot be imported: {error}", "check it and PYTHONPATH"
            ) from error


with suppress(UsageError):  # said again where settings are made, and there an error has a way out
    load_extensions()
