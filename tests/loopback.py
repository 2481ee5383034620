"""A web server on the loopback interface that serves a folder, and misbehaves as a test tells it to."""

import contextlib
import hashlib
import os
import re
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch


@dataclass(frozen=True)
class Fault:
    """How one answer differs from the right one."""

    status: int = 0
    headers: Mapping[str, str | None] = field(default_factory=dict)
    """Headers instead of the right ones; None leaves one out."""
    body: bytes | None = None
    """What is sent instead of the file."""
    ranges: bool = True
    """Whether a Range header is obeyed."""
    cut: int | None = None
    """The bytes of the body after which the connection is closed."""
    stall: bool = False
    """Nothing is sent until the server stops: no answer at all, or none after `cut` bytes."""
    endless: bool = False
    """The body is sent again and again."""


RIGHT = Fault()


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    range: str | None
    if_range: str | None
    encoding: str | None
    authorization: str | None


class Server(ThreadingHTTPServer):
    def __init__(self, folder: Path, faults: Mapping[str, Iterable[Fault]], certificate: Path | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.faults = {path: iter(turns) for path, turns in faults.items()}
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def url(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}{path}"


@contextlib.contextmanager
def serve(
    folder: Path, faults: Mapping[str, Iterable[Fault]] | None = None, *, certificate: Path | None = None
) -> Iterator[Server]:
    """Serve a folder; `faults` has for a path how its first answers, one a request, differ from the right one.

    `certificate` is a file with a certificate and its key, for HTTPS.
    """
    server = Server(folder, faults or {}, certificate)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        with patch.dict(os.environ, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}):
            yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        names = ("Range", "If-Range", "Accept-Encoding", "Authorization")
        self.server.requests.append(Request(self.command, self.path, *(self.headers[name] for name in names)))
        fault = next(self.server.faults.get(self.path, iter(())), RIGHT)
        with contextlib.suppress(ConnectionError):
            self._answer(fault)

    def _answer(self, fault: Fault) -> None:
        if fault.stall and fault.cut is None:
            self.server.stopping.wait()
            return
        status, headers, body = self._file(fault)
        self.send_response_only(fault.status or status)
        for name, value in {**headers, **fault.headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: fault.cut])
        if fault.stall:
            self.server.stopping.wait()
        while fault.endless and not self.server.stopping.is_set():
            self.wfile.write(body)

    def _file(self, fault: Fault) -> tuple[int, dict[str, str], bytes]:
        path = self.server.folder / self.path.partition("?")[0].lstrip("/")
        if fault.body is None and not path.is_file():
            return 404, {"Content-Type": "text/html"}, b"<html>no such file</html>"
        body = path.read_bytes() if fault.body is None else fault.body
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers = {"Content-Type": "application/octet-stream", "ETag": tag, "Content-Length": str(len(body))}
        span = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "") if fault.ranges else None
        if span is None or self.headers["If-Range"] not in (None, tag):
            return 200, headers, body
        start = int(span[1])
        if start >= len(body):
            return 416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": "0"}, b""
        place = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return 206, {**headers, "Content-Range": place, "Content-Length": str(len(body) - start)}, body[start:]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""
