"""Writes docs/cli.md, the reference of the command line: what `--help-all` shows, of every command.

python docs/make_reference.py           writes the page
python docs/make_reference.py --check   exits with 1 if the page is out of date
"""

import sys
from pathlib import Path

from generated_page import write_or_check

from cgnn_cli.commands import main as command_line
from cgnn_cli.commands.help_page import PAGES, WIDEST, joined, pieces

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

Every command and option of `cgnn`, as `--help-all` explains them; `--help` shows what most people need.
`python docs/make_reference.py` writes this page.

Examples are in [pipeline.md](pipeline.md) and [own-data.md](own-data.md); the equations behind the options are in
[method.md](method.md), [commute-times.md](commute-times.md) and [training.md](training.md), the exit codes in
[exit-codes.md](exit-codes.md).
"""


def reference() -> str:
    """The whole page, in the order of the help."""
    assert command_line.app.registered_commands  # all commands have their pages
    texts = {name: joined(pieces(page, WIDEST, everything=True)).plain for name, page in PAGES.items()}
    return INTRODUCTION + "".join(f"\n## {name}\n\n```text\n{text}```\n" for name, text in texts.items())


def main() -> int:
    """Write the page, or check that it is current."""
    return write_or_check(PAGE, lambda _: reference(), Path(__file__).name)


if __name__ == "__main__":
    sys.exit(main())
