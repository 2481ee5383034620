"""Ctrl-C, SIGTERM and a reader that goes away: one line, the right exit code, no remnants, and nothing more is done.

Training that is interrupted has its own tests, in test_resume.py. No test here waits for a time to pass: signals are
sent from inside at a known place, or when a process says that it is there, and what has to be ended would never end.
"""

import contextlib
import os
import pkgutil
import pty
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import psutil
import pytest

from tests.faults.processes import (
    COMMUTE,
    TINY,
    Finished,
    artifacts_of,
    assert_nothing_half_written,
    finish,
    payload_of,
    pending,
    program,
    run,
    send_twice,
    start,
    temporaries_of,
    wait_for,
)
from tests.front_door import FrontDoor, Result

ROOT = Path(__file__).parents[2]
ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
SAID = {130: "error: interrupted\n", 143: "error: terminated\n"}

SIGNAL_WHILE_PUBLISHING = """
import os
fsync = os.fsync
def signalled(descriptor):
    os.kill(os.getpid(), {number})
    fsync(descriptor)
os.fsync = signalled
"""

# A function of ours is called with a signal that comes where its exception is lost.
LOST = {
    "destructor": """
class Odd:
    def __del__(self):
        signal.raise_signal({number})
Odd()
""",
    "weak reference": """
class Odd:
    pass
odd = Odd()
reference = weakref.ref(odd, lambda reference: signal.raise_signal({number}))
del odd
""",
    "broad except": """
try:
    signal.raise_signal({number})
except BaseException:
    pass
""",
}


def calling(place: str, code: str) -> str:
    """A patch: some code runs before a function, named as module:name, each time that it is called."""
    module, name = place.split(":")
    return f"""
import hashlib, signal, sys, time, weakref
from cgnn_cli.signals import STOPPER
import {module} as module
inner = module.{name}
def outer(*values, **named):
{indent(code.strip(), "    ")}
    return inner(*values, **named)
module.{name} = outer
"""


THERE = "print('there', file=sys.stderr, flush=True)\n"
PAUSE = THERE + "signal.pause()"  # which a signal that raises ends
UNTIL_NOTED = THERE + "while STOPPER.received is None:\n    time.sleep(0.01)"
SPIN = THERE + "hashlib.pbkdf2_hmac('md5', b'a', b'b', (1 << 31) - 1)"  # more than ten minutes
REWIRE = "cgnn_cli.stages.rewire:rewire"


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """The lines on standard error up to the one with some text in it."""
    assert process.stderr is not None
    lines = ""
    for line in process.stderr:
        lines += line
        if text in line:
            return lines
    raise AssertionError(lines)


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_signal_while_publishing(
    number: signal.Signals, code: int, upstream: Path, payloads: dict[str, str], cgnn: FrontDoor
) -> None:
    result = run(*COMMUTE, patch=SIGNAL_WHILE_PUBLISHING.format(number=int(number)))
    assert (result.code, result.out) == (code, "")
    assert "Traceback" not in result.err
    assert sum(line.startswith("error: ") for line in result.err.splitlines()) <= 1
    assert temporaries_of(upstream) == []
    assert_nothing_half_written(upstream)
    assert payload_of(cgnn.ok(*COMMUTE).json["artifact"]) == payloads["commute"]


@pytest.mark.parametrize("command", [COMMUTE, ("--help",)], ids=lambda command: command[0])
def test_case_24_a_reader_that_went_away(command: tuple[str, ...], full: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*command, stdout=writer)
    os.close(writer)
    result = finish(process)
    assert result.code == 141, result
    assert "Traceback" not in result.err and "Exception ignored" not in result.err


# --- F9: what is raised may be lost, what is noted is not -------------------------------------------------------------


@pytest.mark.parametrize("where", LOST)
@pytest.mark.parametrize(("number", "code"), ENDS)
def test_f09_a_signal_that_is_swallowed_is_heard(where: str, number: int, code: int, fresh: Path) -> None:
    patch = calling(REWIRE, LOST[where].format(number=int(number)))
    result = run(*COMMUTE, "--quiet", patch=patch)
    assert result == Finished(code, "", SAID[code])
    assert artifacts_of(fresh, "rewire") == [], "not even the step that it came in is published"
    assert temporaries_of(fresh) == []


def lose_a_signal(number: signal.Signals) -> None:
    with contextlib.suppress(BaseException):
        signal.raise_signal(number)


STEPS = {
    "rewire": "rewire.rewire",
    "dilap": "dilap.dilap",
    "commute": "commute.commute",
    "operators": "operators.make_operator",
    "fit": "train.fit",
    "train": "train.collect",
    "eval": "evaluate.evaluate",
}
EVAL = ("eval", *TINY, "--solver", "exact", "--epochs", 1, "--hidden", 2, "--split", 0)


def losing(monkeypatch: pytest.MonkeyPatch, place: str, number: signal.Signals) -> None:
    """Let a function lose a signal each time that it is called."""
    inner: Callable[..., object] = pkgutil.resolve_name(place)

    def outer(*values: object, **named: object) -> object:
        lose_a_signal(number)
        return inner(*values, **named)

    monkeypatch.setattr(place, outer)


@pytest.mark.parametrize("stage", STEPS)
def test_f09_every_stage_is_the_last_after_a_lost_signal(
    stage: str, fresh: Path, cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing(monkeypatch, f"cgnn_cli.stages.{STEPS[stage]}", signal.SIGTERM)
    result = cgnn(*EVAL)
    # A training saves its state: its only epoch is done, and published.
    assert (result.code, result.out) == (75 if stage == "fit" else 143, "")
    done = list(STEPS)[: list(STEPS).index(stage)] + (["fit"] if stage == "fit" else [])
    assert {path.parent.name for path in artifacts_of(fresh)} == {"graph", *done}


COMMANDS: dict[str, tuple[object, ...]] = {
    "import": ("data", "import", "other", "--edges", "edges.csv", "--store", "store"),
    "predict": ("predict", *EVAL[1:], "--output", "made"),
    "report": ("report", "--store", "store", "--output", "made"),
    "export": ("export", "KEY", "--to", "csv", "--output", "made", "--store", "store"),
    "pack": ("cache", "pack", "KEY", "--output", "packed", "--store", "store"),
    "unpack": ("cache", "unpack", "pack.tar", "--store", "store"),
    "gc": ("cache", "gc", "--store", "store"),
    "verify": ("cache", "verify", "--store", "store"),
    "explain": ("explain", "3", *TINY, "--solver", "exact"),
    "hitting": ("hitting", *TINY, "--to", "3", "--output", "made.csv"),
    "sweep": ("sweep", *TINY, "--solver", "exact", "--set", "train.hidden=2,3", "--epochs", 1),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_f09_no_command_goes_on_to_exit_0_after_a_lost_signal(
    name: str, full: Path, cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = artifacts_of(full, "commute")[0].stem
    Path("edges.csv").write_text("a,b\nb,a\n")
    cgnn.ok("cache", "pack", key, "--output", "pack.tar", "--store", "store", "--quiet")
    before = artifacts_of(full)
    losing(monkeypatch, "cgnn_cli.commands.console.Talker.__init__", signal.SIGINT)
    result = cgnn(*(key if word == "KEY" else word for word in COMMANDS[name]))
    assert (result.code, result.out) == (130, ""), result
    (said,) = (line for line in result.err.splitlines() if line.startswith("error: "))
    assert said == "error: interrupted" or "stopped" in said
    assert artifacts_of(full) == before and temporaries_of(full) == []
    assert not [path for path in (Path("made"), *Path("made").rglob("*")) if path.is_file()]


@pytest.mark.parametrize("late", [False, True])
def test_f09_a_signal_after_the_result_changes_nothing(late: bool, upstream: Path) -> None:
    """All that was asked for is done and printed: there is nothing left that could be stopped."""
    patch = "import atexit, signal\natexit.register(signal.raise_signal, signal.SIGTERM)"
    if not late:  # before what cgnn itself leaves for the end
        patch = calling("cgnn_cli.commands.main:call", patch)
    result = run(*COMMUTE, "--quiet", patch=patch)
    assert result.json["key"] and result.err == ""


# --- F10: the beginning -----------------------------------------------------------------------------------------------

SIGNAL_AT_IMPORT = """
import importlib.abc, os, signal, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "{module}":
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("module", ["cgnn_cli.commands.main", "typer", "cgnn_cli.commands.sweep"])
@pytest.mark.parametrize(("number", "code"), ENDS)
def test_f10_a_signal_during_imports(module: str, number: int, code: int) -> None:
    result = run("--help", fresh=True, patch=SIGNAL_AT_IMPORT.format(module=module, number=int(number)))
    assert result == Finished(code, "", SAID[code])


def test_f10_an_early_warning_during_imports_is_noted_for_the_training() -> None:
    patch = SIGNAL_AT_IMPORT.format(module="typer", number=int(signal.SIGUSR1))
    result = run("train", "--dataset", "demo", "--model", "linear", "--split", 0, "--quiet", patch=patch, fresh=True)
    assert (result.code, result.out) == (75, ""), result
    assert "stopped after epoch 0" in result.err


def test_f10_signals_are_handled_before_anything_heavy_is_imported() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"cgnn": "cgnn_cli.__main__:main"}
    code = "import sys, cgnn_cli.__main__\nprint(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "torch", "typer", "rich", "h5py"} & set(loaded)
    assert not [name for name in loaded if name == "cgnn_cli.commands"]


# --- F14 and case 14: long calls of compiled code, and the second Ctrl-C ---------------------------------------------

# A dense solve that never ends, in its process, where it does not even let another thread run.
ENDLESS_SOLVE = """
import cgnn_cli.apart as apart, cgnn_cli.commands.console as console, cgnn_cli.numerics.exact as exact
call = apart.Apart.call
apart.Apart.call = lambda self, function, tell: call(self, "tests.faults.endless:spin", tell)
console.PLAIN_LINE_SECONDS = exact.LONG_INVERSE = 0
"""


def solving(*options: object) -> tuple[subprocess.Popen[str], psutil.Process]:
    """A process that waits for an endless dense solve and has said so, and that of the solve."""
    process = start(*COMMUTE, *options, patch=ENDLESS_SOLVE)
    assert "0 of 1000000  seconds of an endless call" in read_until(process, "seconds of")
    (child,) = psutil.Process(process.pid).children()
    return process, child


@pytest.mark.parametrize(("number", "code"), ENDS)
def test_f14_a_dense_solve_shows_progress_and_is_ended_by_a_signal(number: int, code: int, upstream: Path) -> None:
    process, child = solving()
    process.send_signal(number)
    result = finish(process)
    assert (result.code, result.out) == (code, "") and result.err.endswith(SAID[code])
    assert "Traceback" not in result.err and not child.is_running()
    assert artifacts_of(upstream, "commute") == [] and temporaries_of(upstream) == []


def test_f14_a_dense_solve_dies_with_its_parent(upstream: Path) -> None:
    process, child = solving()
    process.kill()
    assert finish(process).code == -signal.SIGKILL
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_f14_a_dense_solve_that_the_system_kills_is_a_lack_of_memory(upstream: Path) -> None:
    process, child = solving()
    child.kill()
    result = finish(process)
    assert (result.code, result.out) == (7, "")
    assert "perhaps for lack of memory (use --solver series" in result.err.splitlines()[-1]


def test_case_14_one_ctrl_c_ends_a_command_without_remnants(fresh: Path) -> None:
    process = start(*COMMUTE, patch=calling(REWIRE, PAUSE))
    read_until(process, "there")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert (result.code, result.out, result.err) == (130, "", "\n" + SAID[130]), "the line of the step is ended"
    assert artifacts_of(fresh, "rewire") == [] and temporaries_of(fresh) == []


def test_case_14_the_second_ctrl_c_ends_a_call_that_hears_none(fresh: Path, cgnn: FrontDoor) -> None:
    """The call would take more than ten minutes, and the interpreter comes to no handler before it is done."""
    process = start(*COMMUTE, patch=calling(REWIRE, SPIN))
    read_until(process, "there")
    send_twice(psutil.Process(process.pid))
    assert finish(process) == Finished(130, "", "\n" + SAID[130]), "the line of the step is ended"
    assert_nothing_half_written(fresh)
    cgnn.ok(*COMMUTE)


def test_case_14_the_second_ctrl_c_ends_a_training_that_is_held() -> None:
    """The first is noted, so that the epoch is finished and saved; but this epoch takes for ever."""
    hang = THERE + "while True:\n    signal.pause()"
    process = start("train", "--dataset", "demo", "--quiet", patch=calling("cgnn_cli.stages.train:run_epoch", hang))
    read_until(process, "there")
    send_twice(psutil.Process(process.pid))
    assert finish(process) == Finished(130, "", SAID[130])


@pytest.mark.parametrize("times", [1, 2])
def test_case_14_the_terminal_gets_its_cursor_back(times: int) -> None:
    """On a terminal a bar hides the cursor; Ctrl-C is typed there. Twice, in a call that hears none."""
    stall = "module.epochs = getattr(module, 'epochs', 0) + 1\nif module.epochs == 3:\n"
    stall += indent(UNTIL_NOTED if times == 1 else SPIN, "    ")
    patch = calling("cgnn_cli.stages.train:run_epoch", stall)
    command = [sys.executable, "-c", program(patch), "train", "--dataset", "demo", "--split", "0"]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    shown = b""

    def read_to(text: bytes, count: int = 1) -> None:
        nonlocal shown
        while shown.count(text) < count:
            shown += os.read(terminal, 1 << 16)

    read_to(b"there\r\n")
    for number in range(times):
        os.write(terminal, b"\x03")
        read_to(b"^C", number + 1)  # the terminal's echo, after the signal
        wait_for(lambda: not pending(psutil.Process(child), signal.SIGINT))
    with contextlib.suppress(OSError):  # on Linux that is the end
        read_to(b"this never comes")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130, shown
    assert b"\x1b[?25l" in shown and shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"Traceback" not in shown
    line, _, below = shown.rpartition(b"error: ")[2].partition(b"\r\n")
    assert line and below.replace(b"\x1b[?25h", b"") == b"", "nothing is drawn below the error"


# --- case 15: what a scheduler sends, in stages other than training ---------------------------------------------------


def under_bash(patch: str, *arguments: object) -> subprocess.Popen[str]:
    """A script of bash that runs cgnn and then tells its exit code."""
    script = '"$@"; echo "code $?" >&2'
    command = ["bash", "-c", script, "bash", sys.executable, "-c", program(patch), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("stage", ["rewire", "commute", "eval"])
def test_case_15_sigterm_in_a_stage_that_saves_nothing(stage: str, fresh: Path) -> None:
    script = under_bash(calling(f"cgnn_cli.stages.{STEPS[stage].replace('.', ':')}", PAUSE), *EVAL, "--quiet")
    read_until(script, "there")
    (process,) = psutil.Process(script.pid).children()
    process.terminate()
    result = finish(script)
    assert (result.out, result.err) == ("", SAID[143] + "code 143\n")
    assert artifacts_of(fresh, stage) == [] and temporaries_of(fresh) == []
    assert_nothing_half_written(fresh)


def test_case_15_sigusr1_in_a_stage_before_stops_the_training_with_its_state_saved(
    fresh: Path, cgnn: FrontDoor
) -> None:
    train = ("train", *TINY, "--solver", "exact", "--epochs", 9, "--hidden", 2, "--split", 0)
    script = under_bash(calling(REWIRE, UNTIL_NOTED), *train, "--quiet")
    read_until(script, "there")
    (process,) = psutil.Process(script.pid).children()
    process.send_signal(signal.SIGUSR1)
    result = finish(script)
    assert result.out == "" and result.err.endswith("code 75\n"), result
    assert "stopped after epoch 0 of split 0; the state is saved" in result.err
    assert len(artifacts_of(fresh, "commute")) == 1 and len(list(fresh.glob("partial/*.h5"))) == 1
    assert "going on with" in cgnn.ok(*train).err


@pytest.mark.parametrize("stage", [stage for stage in STEPS if stage not in ("fit", "train", "eval")])
def test_case_15_sigusr1_alone_stops_nothing_that_saves_nothing(
    stage: str, fresh: Path, cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing(monkeypatch, f"cgnn_cli.stages.{STEPS[stage]}", signal.SIGUSR1)
    train = ("train", *TINY, "--solver", "exact", "--epochs", 9, "--hidden", 2, "--split", 0, "--quiet")
    result: Result = cgnn(*train)
    assert (result.code, result.out) == (75, "") and artifacts_of(fresh, stage)
