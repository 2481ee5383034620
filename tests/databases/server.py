"""A PostgreSQL server of the tests' own: made in a temporary folder, run by a user without rights, and stopped."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.processes import wait_for

USERS = ("postgres", "nobody")
PASSWORD = "s3cret/of:ann"


@dataclass(frozen=True)
class Server:
    """A server that runs; ann owns its one database, and needs her password."""

    port: int

    def address(self, password: str = "${PGPASSWORD}") -> str:
        return f"postgresql://ann:{password}@127.0.0.1:{self.port}/postgres"


def programs() -> Path | None:
    """The folder of the server's programs, where it is installed."""
    found = shutil.which("initdb")
    folders = [Path(os.path.realpath(found)).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "postgres").exists()), None)


def _user() -> list[str]:
    """What runs a program without the rights of root, which the server refuses."""
    if os.geteuid():
        return []
    names = [entry.pw_name for entry in pwd.getpwall()]
    user = next(name for name in USERS if name in names)
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """A server with its data in a folder, which others may pass."""
    binaries, user = programs(), _user()
    assert binaries is not None
    data, password = folder / "data", folder / "password"
    data.mkdir()
    password.write_text(PASSWORD)
    if user:
        owner = pwd.getpwnam(user[1].partition("=")[2])
        for path in (folder, data, password):
            os.chown(path, owner.pw_uid, owner.pw_gid)
    made = [f"--pgdata={data}", "--username=ann", "--auth=scram-sha-256", "--no-sync", f"--pwfile={password}"]
    subprocess.run([*user, str(binaries / "initdb"), *made], check=True, capture_output=True, cwd=folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-c", "fsync=off", "-c", "shared_buffers=32MB"]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [*user, str(binaries / "postgres"), "-D", str(data), *options], stdout=log, stderr=log, cwd=folder
        )
    try:
        wait_for(lambda: b"ready to accept connections" in (folder / "log").read_bytes() or server.poll() is not None)
        assert server.poll() is None, (folder / "log").read_text()
        yield Server(port)
    finally:
        server.send_signal(signal.SIGINT)  # at once: by SIGTERM it waits for its clients
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
