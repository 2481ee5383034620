"""Real processes that are forked from one that has imported `cgnn` and what it needs, so that they soon begin.

To start an interpreter and import NumPy, SciPy and torch takes up to two seconds of a core, and hundreds of tests need
a process to signal, to kill or to let run beside others. A forked one has its own memory, files, signals and end; only
its start is not that of `cgnn`, and tests of imports, of the interpreter's environment or of memory start a fresh one.
"""

import atexit
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from typer import Typer
from typer.main import get_command

from cgnn_cli.commands import main as command_line
from cgnn_cli.store.provenance import library_versions, source_revision

ROOT = Path(__file__).parents[1]
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.forks import end, serve
patch = serve(int(sys.argv[1]))
sys.path.remove({str(ROOT)!r})
try:
    exec(patch)
    from cgnn_cli.__main__ import main
    main()
except BaseException as error:
    end(error)
"""
CALLED = command_line._called
BUILT: dict[tuple[str, ...], Any] = {}
LATE = ("torch", "h5py", "filelock", "psutil")  # which commands import when they need them
LARGEST = 1 << 18
HELD = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1}  # in the moment of a fork, whose hooks lose exceptions


def names_of(application: Typer) -> tuple[str, ...]:
    """The commands and groups of an application."""
    commands, groups = application.registered_commands, application.registered_groups
    return (*(str(command.name) for command in commands), *(str(group.name) for group in groups))


def built(arguments: list[str]) -> Any:
    """The command that is called, built once: as a process calls one command, `cgnn` itself keeps none."""
    application = CALLED(arguments)
    names = names_of(application)
    if names not in BUILT:
        BUILT[names] = get_command(application)
    return BUILT[names]


class Forked(subprocess.Popen[str]):
    """A forked process, to be used as any other."""

    def __init__(self, server: "ForkServer", pid: int, arguments: list[str], streams: list[IO[str] | None]) -> None:
        self._child_created = False  # by this process
        self._server = server
        self.pid, self.args, self.returncode = pid, arguments, None
        self.stdin, (self.stdout, self.stderr) = None, streams

    def poll(self) -> int | None:
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return int(self.returncode)

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        limit = None if timeout is None else time.monotonic() + timeout
        texts = {}

        def read(stream: IO[str]) -> None:
            texts[stream] = stream.read()
            stream.close()

        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None and not stream.closed]
        readers = [threading.Thread(target=read, args=(stream,), daemon=True) for stream in streams]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if limit is None else max(0.0, limit - time.monotonic()))
        if any(reader.is_alive() for reader in readers):
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        self.wait(None if limit is None else max(0.0, limit - time.monotonic()))
        out, err = (texts.get(stream, "") if stream is not None else "" for stream in (self.stdout, self.stderr))
        return out, err

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.exit_code(self.pid, seconds)
        return self.returncode


class ForkServer:
    """The process that forks, and the exit codes that it tells. For one thread."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-c", PROGRAM, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self._codes: dict[int, int] = {}

    def start(
        self, arguments: list[str], patch: str, environment: dict[str, str], stdout: int, stderr: int = subprocess.PIPE
    ) -> Forked:
        """Fork a process in the current folder that runs a patch and then `cgnn`."""
        streams: list[IO[str] | None] = []
        theirs = []
        for target in (stdout, stderr):
            reader, writer = os.pipe() if target == subprocess.PIPE else (None, os.dup(target))
            streams.append(None if reader is None else os.fdopen(reader))
            theirs.append(writer)
        message = json.dumps([arguments, patch, environment, os.getcwd()]).encode()
        assert len(message) < LARGEST
        socket.send_fds(self._channel, [message], [0, *theirs])
        for writer in theirs:
            os.close(writer)
        pid = self._hear(None, lambda told: "started" in told)["started"]
        return Forked(self, pid, arguments, streams)

    def exit_code(self, pid: int, seconds: float | None) -> int | None:
        """The exit code of a process; None if it has not ended within so many seconds."""
        if pid not in self._codes:
            self._hear(seconds, lambda told: told.get("ended") == pid)
        return self._codes.get(pid)

    def _hear(self, seconds: float | None, wanted: Callable[[dict[str, int]], bool]) -> dict[str, int]:
        limit = None if seconds is None else time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            while selector.select(None if limit is None else max(0.0, limit - time.monotonic())):
                content = self._channel.recv(LARGEST)
                assert content, "the process that forks has ended"
                told: dict[str, int] = json.loads(content)
                if "ended" in told:
                    self._codes[told["ended"]] = told["code"]
                if wanted(told):
                    return told
        return {}

    def close(self) -> None:
        self._channel.close()
        self._process.wait()


@cache
def server() -> ForkServer:
    """The one of this process."""
    return ForkServer()


def close() -> None:
    """End the process that forks, if there is one."""
    if server.cache_info().currsize:
        server().close()
        server.cache_clear()


def serve(channel_number: int) -> str:
    """Fork whenever the channel asks for it, and tell who has ended; returns in the forked processes, with a patch."""
    for path in sorted((ROOT / "cgnn_cli").rglob("*.py")):
        if path.stem != "__main__" and path.parent.name != "pyg":  # which no command imports
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    for name in LATE:
        import_module(name)
    prepare()
    gc.freeze()
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    channel, selector = socket.socket(fileno=channel_number), selectors.DefaultSelector()
    selector.register(channel, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is not channel:
                _, status = os.waitpid(key.data, 0)
                selector.unregister(key.fd)
                os.close(key.fd)
                channel.send(json.dumps({"ended": key.data, "code": os.waitstatus_to_exitcode(status)}).encode())
                continue
            message, descriptors, *_ = socket.recv_fds(channel, LARGEST, 3)
            if not message:
                sys.exit()
            pid = os.fork()
            if pid == 0:
                forks = [key.fd for key in selector.get_map().values() if key.fileobj is not channel]
                selector.close()
                channel.close()
                for descriptor in forks:
                    os.close(descriptor)
                return _become(json.loads(message), descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
            channel.send(json.dumps({"started": pid}).encode())


def prepare() -> None:
    """Do once what each process would do again: build its command, read versions and the revision."""
    for name in names_of(command_line.app):
        built([name])
    command_line._called = built
    library_versions()
    source_revision()


def _become(message: Any, descriptors: list[int]) -> str:
    arguments, patch, environment, folder = message
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    tempfile.tempdir = None  # TMPDIR counts as it is now
    sys.argv = [str(ROOT / "cgnn_cli" / "__main__.py"), *arguments]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    return str(patch)


def end(error: BaseException) -> None:
    """End a forked process as an interpreter does, but for the memory of all modules, which takes a while to free."""
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1)
