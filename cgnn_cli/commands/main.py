"""The `cgnn` command: the application, and the one path by which every call ends."""

from __future__ import annotations

import copy
import inspect
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from cgnn_cli.commands import (
    cache,
    config,
    data,
    diagnose,
    doctor,
    explain,
    export,
    hitting,
    init,
    models,
    predict,
    report,
    reproduce,
    review,
    run,
    show,
    stages,
    sweep,
    tune,
)
from cgnn_cli.commands.help_page import HelpAllOption, HelpGroup, Page, add_page
from cgnn_cli.commands.options import keyword, option
from cgnn_cli.commands.streams import prepare_streams, release_output
from cgnn_cli.errors import BROKEN_PIPE, INTERRUPTED, TERMINATED, CgnnError, ResourceError, StoppedEarly, UsageError
from cgnn_cli.printable import printable
from cgnn_cli.ranks.leading import explained
from cgnn_cli.redaction import redacted
from cgnn_cli.resources import lacks_memory, on_device
from cgnn_cli.signals import STOPPER, Interrupted, Terminated
from cgnn_cli.store.disk import REFUSED
from cgnn_cli.store.store import OUT_OF_SPACE

VERSION_HELP = "Versions of cgnn and its libraries."
INSTALL_HELP = "Install completion for the current shell."
SHOW_HELP = "Show completion for the current shell, to copy it or customize the installation."
ABOUT = "Learning on directed graphs with random-walk commute times."
EXIT_CODES_HELP = (
    "Exit codes: 0 ok, 2 usage, 3 bad data, 4 upstream artifact, 5 corrupt file, 6 busy, 7 memory or disk, "
    "8 numerics, 9 dataset file not available, 10 failed check, 75 stopped and saved, 130 Ctrl-C, 141 closed pipe, "
    "143 SIGTERM. "
    "`cgnn COMMAND --help` explains a command."
)
FIRST_STEPS = f"""\
{ABOUT} Type first:
  cgnn run --dataset demo             all stages, on a graph that comes with it

In a folder with a table of your own edges, and labels of some nodes:
  cgnn init                           writes settings, says what to type next

On a benchmark graph, which is downloaded:
  cgnn run --dataset chameleon --preset tuned

`cgnn --help` lists the commands, `cgnn COMMAND --help` explains one.
"""
app = typer.Typer(
    name="cgnn",
    cls=HelpGroup,
    help=ABOUT,
    context_settings={"help_option_names": ["--help", "--help-all"]},
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from cgnn_cli.store.provenance import library_versions

        sys.stdout.write(", ".join(f"{name} {version}" for name, version in library_versions().items()) + "\n")
        raise typer.Exit


@app.callback()
def cgnn(
    context: typer.Context,
    version: Annotated[bool, option("--version", VERSION_HELP, callback=_print_version, is_eager=True)] = False,
    debug: Annotated[bool, option("--debug", "Show tracebacks of errors.")] = False,
    help_all: HelpAllOption = False,
) -> None:
    if debug:
        os.environ["CGNN_DEBUG"] = "1"
    if context.invoked_subcommand is None:
        sys.stdout.write(FIRST_STEPS)
        raise typer.Exit(UsageError.exit_code)


GROUPS = (
    init,
    run,
    data,
    diagnose,
    tune,
    sweep,
    predict,
    explain,
    review,
    hitting,
    report,
    reproduce,
    stages,
    show,
    export,
    cache,
    models,
    config,
    doctor,
)
OPTIONS = [
    *(each for each in inspect.signature(cgnn, eval_str=True).parameters.values() if each.name in ("version", "debug")),
    keyword("install_completion", False, Annotated[bool, option("--install-completion", INSTALL_HELP)]),
    keyword("show_completion", False, Annotated[bool, option("--show-completion", SHOW_HELP)]),
]
add_page(Page("cgnn", ABOUT, OPTIONS, "", example="cgnn run --dataset demo", label="Type first", last=EXIT_CODES_HELP))
for group in GROUPS:
    group.register(app)


def _called(arguments: list[str]) -> typer.Typer:
    """The application with the one command that is called, or none: to build all takes as long as a cache hit."""
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    commands = [entry for entry in app.registered_commands if entry.name == name]
    groups = [entry for entry in app.registered_groups if entry.name == name]
    if (name and not (commands or groups)) or "_CGNN_COMPLETE" in os.environ:
        return app
    alone = copy.copy(app)
    alone.registered_commands, alone.registered_groups = commands, groups
    return alone


def main() -> NoReturn:
    """Run the command line inside a process that may go on, and hears signals then."""
    code = call()
    STOPPER.settled = False
    sys.exit(code)


def call(begin: Callable[[], None] = lambda: None) -> int:
    """Run the command line; every error ends here, as one line on standard error and an exit code."""
    prepare_streams()
    try:
        STOPPER.listen()
        begin()
        code = _called(sys.argv[1:])(prog_name="cgnn", standalone_mode=False)
        sys.stdout.flush()
        STOPPER.settled = True  # an attribute, not a call: no signal comes between this line and the ones around it
    except BaseException as error:
        STOPPER.settled = True
        code = _report(explained(error))
        release_output()
    STOPPER.received = None
    return code if isinstance(code, int) else 0


def _report(error: BaseException) -> int:
    """Say what went wrong; the exit code that stands for it."""
    if os.environ.get("CGNN_DEBUG"):
        import traceback

        lines = redacted("".join(traceback.format_exception(error))).split("\n")
        sys.stderr.write("\n".join(map(printable, lines)))
    if isinstance(error, CgnnError):
        interrupted = isinstance(error, StoppedEarly) and STOPPER.received == signal.SIGINT
        return _say(error.message, error.hint, INTERRUPTED if interrupted else error.exit_code)
    if on_device(error):
        hint = "use fewer --layers, a smaller --hidden, --batch-nodes where the model has it, or --device cpu"
        return _say("the device is out of memory", hint, ResourceError.exit_code)
    if lacks_memory(error):
        return _say("not enough memory", "use a machine with more, or a smaller graph", ResourceError.exit_code)
    if isinstance(error, KeyboardInterrupt | Interrupted):
        return _say("interrupted", "", INTERRUPTED)
    if isinstance(error, Terminated):
        return _say("terminated", "", TERMINATED)
    if isinstance(error, SystemExit) and "_CGNN_COMPLETE" in os.environ:
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, BrokenPipeError | SystemExit):
        # Outside of shell completion the parser turns a broken pipe, and nothing else, into SystemExit.
        return BROKEN_PIPE
    if isinstance(error, OSError) and error.errno in (*OUT_OF_SPACE, *REFUSED):
        return _report_refusal(error)
    if hasattr(error, "format_message"):  # a usage error of the command-line parser
        code, line = int(getattr(error, "exit_code", 2)), " ".join(str(error.format_message()).split())
        if not line:  # a group without a command has shown its help
            return code
        path = getattr(getattr(error, "ctx", None), "command_path", "cgnn")
        return _say(line, f"`{path} --help` shows the options", code)
    if STOPPER.told_to_end():  # what was raised for it came to something else on its way
        return _report(Interrupted() if STOPPER.received == signal.SIGINT else Terminated())
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return _say(text, "this is a bug in cgnn; `cgnn --debug ...` shows where", 1)


def _report_refusal(error: OSError) -> int:
    """Say what the disk, or who owns what is on it, did not allow."""
    if error.errno in OUT_OF_SPACE:
        return _say(f"no room to write: {error.strerror}", "free some space", ResourceError.exit_code)
    where = f"{error.filename}: " if error.filename else ""
    hint = "check permissions, owners and the disk; nothing was changed"
    return _say(f"{where}{error.strerror}", hint, ResourceError.exit_code)


def _say(message: str, hint: str, code: int) -> int:
    line = printable(redacted(f"error: {message}" + (f" ({hint})" if hint else "")))
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass
    return code
