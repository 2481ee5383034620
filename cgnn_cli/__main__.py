"""The `cgnn` command, and `python -m cgnn_cli`: signals are handled before anything heavy is imported."""

import sys
from typing import NoReturn

from cgnn_cli.signals import STOPPER


def main() -> NoReturn:
    """Run the command line as the whole of a process."""
    STOPPER.start()
    from cgnn_cli.commands.main import call

    code = call()
    STOPPER.leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
