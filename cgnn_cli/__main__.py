"""The `cgnn` command, and `python -m cgnn_cli`: signals are handled before anything heavy is imported."""

import gc
import os
import sys
from typing import NoReturn

from cgnn_cli.signals import STOPPER


def main() -> NoReturn:
    """Run the command line as the whole of a process, or as a rank of several what the first of them asks for."""
    STOPPER.start()
    from cgnn_cli.ranks.link import place

    if place()[0] > 0:
        from cgnn_cli.ranks.following import follow

        code = follow()
        STOPPER.leave(code)
        os._exit(code)  # at once, also where it is still at work for a rank that is lost
    gc.disable()  # what is imported stays: to look through it for garbage again and again takes a while
    from cgnn_cli.commands.main import call
    from cgnn_cli.ranks.leading import lead, leave

    gc.enable()
    code = call(lead)
    STOPPER.leave(code)
    leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
