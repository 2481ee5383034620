"""Downloads from a server that misbehaves: what is fetched, what is asked for again, and what is left behind."""

import errno
import hashlib
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from cgnn_cli.datasets.upstream import fetching
from cgnn_cli.datasets.upstream.fetching import FetchOptions, download, drive_address, drive_page
from cgnn_cli.errors import CgnnError, DataError, FetchError, ResourceError
from tests.faults.processes import wait_for
from tests.loopback import Fault, Server, serve

CONTENT = bytes(range(256)) * 1200
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OTHER = b"x" * len(CONTENT)
PAGE = b"\xef\xbb\xbf \n<!DOCTYPE  html><title>Sign in</title>"
NAME, PATH = "file.bin", "/file.bin"


class Client:
    """Downloads into a folder of its own, without waiting."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "new" / "data"
        self.target = self.folder / NAME
        self.waits: list[float] = []
        self.steps: list[tuple[int, int, str]] = []

    def progress(self, done: int, total: int, message: str) -> None:
        self.steps.append((done, total, message))

    def get(self, url: str, **options: Any) -> None:
        given: dict[str, Any] = {
            "sha256": SHA256,
            "options": FetchOptions(timeout=5.0),
            "progress": self.progress,
            "limit": 1 << 20,
        }
        download(url, self.target, **{**given, **options})

    def fails(self, message: str, url: str, error: type[CgnnError] = FetchError, **options: Any) -> CgnnError:
        """Expect an error of one line that holds the message, and nothing left behind."""
        with pytest.raises(error, match=re.escape(message)) as caught:
            self.get(url, **options)
        assert "\n" not in caught.value.message
        assert caught.value.hint
        assert not self.folder.parent.exists()
        return caught.value

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client(tmp_path)
    monkeypatch.setattr(fetching, "_wait", client.waits.append)
    return client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / NAME).write_bytes(CONTENT)
    return folder


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    extra = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(path) + ".crt"]
    subprocess.run([*command.split(), *extra], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def ranges(server: Server) -> list[str | None]:
    return [request.range for request in server.requests]


# What works


def test_a_file_is_fetched_in_silence(
    client: Client, folder: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), serve(folder) as server:
        client.get(server.url(PATH))
        assert ranges(server) == [None]
    assert client.target.read_bytes() == CONTENT
    assert client.left() == [NAME]
    assert client.target.stat().st_mode & 0o044 == 0o044 & ~_umask()
    assert client.steps[0] == (0, len(CONTENT), f"downloading {NAME}")
    assert client.steps[-1] == (len(CONTENT), len(CONTENT), f"downloading {NAME}")
    assert [done for done, _, _ in client.steps] == sorted(done for done, _, _ in client.steps)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_without_a_checksum_and_without_a_length(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(headers={"Content-Length": None})]}) as server:
        client.get(server.url(PATH), sha256=None)
    assert client.target.read_bytes() == CONTENT
    assert {total for _, total, _ in client.steps} == {0}


def test_an_empty_file(client: Client, folder: Path) -> None:
    (folder / "empty").write_bytes(b"")
    with serve(folder) as server:
        client.get(server.url("/empty"), sha256=hashlib.sha256(b"").hexdigest().upper())
    assert client.target.read_bytes() == b""
    assert client.left() == [NAME]


def test_redirects_are_followed(client: Client, folder: Path) -> None:
    steps = {"/a": [Fault(status=302, headers={"Location": "/b"}, endless=True, body=b"x" * 99)]}
    with serve(folder, {**steps, "/b": [Fault(status=307, headers={"Location": PATH}, body=b"")]}) as server:
        client.get(server.url("/a"))
        assert [request.path for request in server.requests] == ["/a", "/b", PATH]
    assert client.target.read_bytes() == CONTENT


def test_what_a_server_calls_an_encoding_is_stored_as_it_is(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(headers={"Content-Encoding": "gzip"})]}) as server:
        client.get(server.url(PATH))
        assert [request.encoding for request in server.requests] == ["identity"]
    assert client.target.read_bytes() == CONTENT


# Resume


def test_case_30_cuts_are_resumed_where_they_happened(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(cut=1000), Fault(cut=70_000), Fault(cut=0)]}) as server:
        client.get(server.url(PATH))
        assert ranges(server) == [None, "bytes=1000-", "bytes=71000-", "bytes=71000-"]
        tags = [request.if_range for request in server.requests]
    assert tags[0] is None
    assert len(set(tags[1:])) == 1 and tags[1]
    assert client.target.read_bytes() == CONTENT
    assert client.waits == [1, 2, 4]
    assert "trying again in 2 s" in " ".join(message for _, _, message in client.steps)


def test_another_file_at_the_same_address_is_not_glued(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(cut=1000, body=OTHER)]}) as server:
        client.get(server.url(PATH))
        assert ranges(server) == [None, "bytes=1000-"]
    assert client.target.read_bytes() == CONTENT


def test_a_server_without_ranges_begins_anew(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(cut=1000), Fault(ranges=False)]}) as server:
        client.get(server.url(PATH))
        assert ranges(server) == [None, "bytes=1000-"]
    assert client.target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "place", ["bytes 0-307199/307200", "bytes 1000-307199/307201", "bytes 1000-307199/*", "x", None]
)
def test_a_wrong_place_begins_anew(client: Client, folder: Path, place: str | None) -> None:
    with serve(folder, {PATH: [Fault(cut=1000), Fault(headers={"Content-Range": place})]}) as server:
        client.get(server.url(PATH))
        assert ranges(server) == [None, "bytes=1000-", None]
    assert client.target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("headers", "validator"),
    [
        ({"ETag": 'W/"1"'}, None),
        ({"ETag": None}, None),
        (
            {"ETag": None, "Last-Modified": "Mon, 01 Jan 2024 10:00:00 GMT", "Date": "Mon, 01 Jan 2024 10:00:01 GMT"},
            None,
        ),
        ({"ETag": None, "Last-Modified": "yesterday", "Date": "Mon, 01 Jan 2024 10:00:01 GMT"}, None),
        (
            {"ETag": None, "Last-Modified": "Mon, 01 Jan 2024 10:00:00 GMT", "Date": "Tue, 02 Jan 2024 10:00:00 GMT"},
            "Mon, 01 Jan 2024 10:00:00 GMT",
        ),
    ],
)
def test_only_strong_validators_are_used(
    client: Client, folder: Path, headers: dict[str, str | None], validator: str | None
) -> None:
    with serve(folder, {PATH: [Fault(cut=1000, headers=headers)]}) as server:
        client.get(server.url(PATH))
        assert [request.if_range for request in server.requests] == [None, validator]
        assert ranges(server) == [None, "bytes=1000-"]
    assert client.target.read_bytes() == CONTENT


def test_without_validator_and_checksum_nothing_is_resumed(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(cut=1000, headers={"ETag": None})]}) as server:
        client.get(server.url(PATH), sha256=None)
        assert ranges(server) == [None, None]
    assert client.target.read_bytes() == CONTENT


def interrupt(done: int, total: int, message: str) -> None:
    if done >= 100_000:
        raise KeyboardInterrupt


def interrupted(client: Client, server: Server, **options: Any) -> int:
    """Begin a download and stop it as Ctrl-C does; the bytes that are there."""
    with pytest.raises(KeyboardInterrupt):
        client.get(server.url(PATH), **{"progress": interrupt, **options})
    assert client.left() == [f".{NAME}.part", f".{NAME}.part.json"]
    return (client.folder / f".{NAME}.part").stat().st_size


def test_an_interrupted_download_goes_on_in_the_next_call(client: Client, folder: Path) -> None:
    with serve(folder) as server:
        size = interrupted(client, server)
        client.get(server.url(PATH))
        assert ranges(server) == [None, f"bytes={size}-"]
    assert client.target.read_bytes() == CONTENT
    assert client.left() == [NAME]
    assert client.steps[0][0] == size >= 100_000


def test_an_interrupted_check_asks_for_nothing_again(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(path: Path) -> str:
        raise SystemExit

    with serve(folder) as server:
        with monkeypatch.context() as patched:
            patched.setattr(fetching, "file_sha256", stop)
            with pytest.raises(SystemExit):
                client.get(server.url(PATH))
        assert client.left() == [f".{NAME}.part", f".{NAME}.part.json"]
        client.get(server.url(PATH))
        assert len(server.requests) == 1
    assert client.target.read_bytes() == CONTENT
    assert client.left() == [NAME]


@pytest.mark.parametrize("damage", ["url", "garbled", "no record", "types", "too long"])
def test_a_partial_file_of_unknown_origin_is_not_used(client: Client, folder: Path, damage: str) -> None:
    with serve(folder) as server:
        interrupted(client, server)
        partial, record = client.folder / f".{NAME}.part", client.folder / f".{NAME}.part.json"
        partial.write_bytes(OTHER[: partial.stat().st_size])
        origin = json.loads(record.read_text())
        if damage == "url":
            record.write_text(json.dumps({**origin, "url": server.url("/other")}))
        elif damage == "garbled":
            record.write_text("{")
        elif damage == "no record":
            record.unlink()
        elif damage == "types":
            record.write_text(json.dumps({**origin, "total": "1", "validator": 3}))
        else:
            partial.write_bytes(OTHER + OTHER)
        client.get(server.url(PATH))
        assert ranges(server)[-1] is None
    assert client.target.read_bytes() == CONTENT


KILLED = """
import sys
from pathlib import Path
from cgnn_cli.datasets.upstream.fetching import FetchOptions, download

def progress(done, total, message):
    if done >= 100_000:
        print("ready", flush=True)
        sys.stdin.read()

download(sys.argv[1], Path(sys.argv[2]), sha256=None, options=FetchOptions(), progress=progress, limit=1 << 20)
"""


def test_a_killed_download_goes_on(client: Client, folder: Path) -> None:
    with serve(folder) as server:
        command = [sys.executable, "-c", KILLED, server.url(PATH), str(client.target)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGKILL)
        assert client.left() == [f".{NAME}.part", f".{NAME}.part.json"]
        client.get(server.url(PATH))
        assert re.fullmatch(r"bytes=\d+-", ranges(server)[-1] or "")
    assert client.target.read_bytes() == CONTENT
    assert client.left() == [NAME]


# Failures


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 416, 206, 204, 304])
def test_statuses_that_are_not_tried_again(client: Client, folder: Path, status: int) -> None:
    with serve(folder, {PATH: repeat(Fault(status=status, body=b""))}) as server:
        client.fails(f"{server.url(PATH)} cannot be fetched: the server answers with status {status}", server.url(PATH))
        assert len(server.requests) == 1


def test_a_missing_file(client: Client, folder: Path) -> None:
    with serve(folder) as server:
        client.fails("/missing cannot be fetched: the server answers with status 404", server.url("/missing"))


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_statuses_that_may_pass(client: Client, folder: Path, status: int) -> None:
    with serve(folder, {PATH: [Fault(status=status, body=b"")] * 2}) as server:
        client.get(server.url(PATH))
        assert len(server.requests) == 3
    assert client.target.read_bytes() == CONTENT
    assert client.waits == [1, 2]


def test_retries_end(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: repeat(Fault(status=500, body=b""))}) as server:
        client.fails(
            "in 7 tries: the server answers with status 500", server.url(PATH), options=FetchOptions(retries=6)
        )
        assert len(server.requests) == 7
    assert client.waits == [1, 2, 4, 8, 10, 10]


def test_case_30_a_connection_that_is_cut_each_time(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: repeat(Fault(cut=1000))}) as server:
        client.fails("in 3 tries: the connection was cut", server.url(PATH), options=FetchOptions(retries=2))
        assert ranges(server) == [None, "bytes=1000-", "bytes=2000-"]


def test_a_cut_that_the_library_does_not_tell(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stream(self: Any, size: int, decode_content: bool) -> Iterator[bytes]:
        return iter(lambda: self._fp.read(size), b"")

    monkeypatch.setattr("urllib3.response.HTTPResponse.stream", stream)
    with serve(folder, {PATH: repeat(Fault(cut=1000))}) as server:
        message = f"in 1 try: the connection was cut after 1000 of {len(CONTENT)} bytes"
        client.fails(message, server.url(PATH), sha256=None, options=FetchOptions(retries=0))


@pytest.mark.parametrize("cut", [None, 1000])
def test_a_server_that_stalls(client: Client, folder: Path, cut: int | None) -> None:
    with serve(folder, {PATH: repeat(Fault(stall=True, cut=cut))}) as server:
        options = FetchOptions(timeout=0.2, retries=1)
        client.fails("in 2 tries: the server sent nothing for 0.2 s", server.url(PATH), options=options)
        wait_for(lambda: len(server.requests) == 2)  # which it may note after the client has given up


def test_a_refused_connection(client: Client) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
        error = client.fails(
            f"{url} could not be fetched in 1 try: no connection: Connection refused",
            url,
            options=FetchOptions(retries=0),
        )
    assert "check the network" in error.hint


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://127.0.0.1/x", "nonsense", "http://", "http://[::1/x"])
def test_addresses_that_are_none(client: Client, url: str) -> None:
    client.fails(f"{url} cannot be fetched", url)
    assert client.waits == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault(body=PAGE),
        Fault(body=b"<HTML>"),
        Fault(body=b"{}", headers={"Content-Type": "Text/HTML; charset=utf-8"}),
    ],
)
def test_case_30_a_web_page_is_not_the_file(client: Client, folder: Path, fault: Fault) -> None:
    with serve(folder, {PATH: repeat(fault)}) as server:
        client.fails("gives a web page, not the file", server.url(PATH), sha256=None)
        assert len(server.requests) == 1


def test_case_30_the_wrong_bytes(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: [Fault(body=OTHER)]}) as server:
        received = hashlib.sha256(OTHER).hexdigest()
        message = f"{server.url(PATH)} gives a file with sha256 {received}, but {SHA256} is expected"
        client.fails(message, server.url(PATH), DataError)
        assert len(server.requests) == 1


def test_a_redirect_that_goes_round(client: Client, folder: Path) -> None:
    with serve(folder, {PATH: repeat(Fault(status=302, headers={"Location": PATH}))}) as server:
        client.fails("was redirected 10 times", server.url(PATH))
        assert len(server.requests) == 10


@pytest.mark.parametrize("place", ["http://[::1/x", "gopher://127.0.0.1/", "http://a b/", "http://:x/"])
def test_a_redirect_to_nowhere(client: Client, folder: Path, place: str) -> None:
    with serve(folder, {PATH: repeat(Fault(status=302, headers={"Location": place}))}) as server:
        client.fails(f"{server.url(PATH)} cannot be fetched", server.url(PATH))
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(headers={"Content-Length": None}, endless=True),
        Fault(headers={"Content-Length": str(10**15)}, endless=True),
        Fault(headers={"Content-Length": "many"}, endless=True),
    ],
)
def test_more_than_the_limit(client: Client, folder: Path, fault: Fault) -> None:
    with serve(folder, {PATH: repeat(fault)}) as server:
        client.fails("has more than the 400000 bytes", server.url(PATH), limit=400_000)
        assert len(server.requests) == 1
    assert max(done for done, _, _ in client.steps) < 400_000 + fetching.CHUNK_BYTES


def test_exactly_the_limit(client: Client, folder: Path) -> None:
    with serve(folder) as server:
        client.get(server.url(PATH), limit=len(CONTENT))
    assert client.target.read_bytes() == CONTENT


# TLS


def test_case_30_a_certificate_that_nobody_signed(client: Client, folder: Path, certificate: Path) -> None:
    with serve(folder, certificate=certificate) as server:
        error = client.fails("the server cannot be trusted", server.url(PATH))
        assert server.requests == []
    assert "certificates are verified, and that is not to be switched off" in error.hint
    assert client.waits == []


def test_a_server_that_does_not_speak_tls(client: Client, folder: Path) -> None:
    with serve(folder) as server:
        error = client.fails("no secure connection (TLS)", server.url(PATH).replace("http:", "https:"))
    assert "certificates are verified" in error.hint


def test_case_30_a_redirect_may_not_give_up_tls(
    client: Client, folder: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", f"{certificate}.crt")
    with serve(folder) as plain:
        redirects = {"/plain": [Fault(status=302, headers={"Location": plain.url(PATH)}, body=b"")]}
        with serve(folder, redirects, certificate=certificate) as server:
            client.fails("which is not protected by TLS", server.url("/plain"))
            client.get(server.url(PATH))
        assert plain.requests == []
    assert client.target.read_bytes() == CONTENT


# Credentials

SECRETS = "bob:hunter2@"


def with_secrets(url: str) -> str:
    return url.replace("://", f"://{SECRETS}") + "?token=hunter3"


def test_f07_credentials_are_sent_and_not_recorded(client: Client, folder: Path) -> None:
    stopping = Fault(cut=1000)
    with serve(folder, {f"{PATH}?token=hunter3": [stopping]}) as server:
        with pytest.raises(FetchError, match="\\*\\*\\*@127") as caught:
            client.get(with_secrets(server.url(PATH)), sha256=SHA256[::-1], options=FetchOptions(retries=0))
        assert "hunter" not in caught.value.message
        client.progress = interrupt_after(client, 70_000)  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            client.get(with_secrets(server.url(PATH)))
        assert "hunter" not in (client.folder / f".{NAME}.part.json").read_text()
        del client.progress
        client.get(with_secrets(server.url(PATH)))
        assert {request.authorization for request in server.requests} == {"Basic Ym9iOmh1bnRlcjI="}
        assert ranges(server)[-1] is not None  # it went on, so the record told the address apart
    assert client.target.read_bytes() == CONTENT


def interrupt_after(client: Client, count: int) -> Any:
    def progress(done: int, total: int, message: str) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return progress


def test_f07_credentials_go_to_no_other_server(client: Client, folder: Path) -> None:
    with serve(folder) as other, serve(folder) as server:
        away = [Fault(status=302, headers={"Location": other.url(PATH)}, body=b"")]
        home = [Fault(status=302, headers={"Location": server.url("/away")}, body=b"")]
        server.faults = {f"{PATH}?token=hunter3": iter(home), "/away": iter(away)}
        client.get(with_secrets(server.url(PATH)))
        assert [request.authorization is None for request in server.requests] == [False, False]
        assert [(request.path, request.authorization) for request in other.requests] == [(PATH, None)]


def test_f07_a_refused_redirect_hides_what_it_leads_to(client: Client, folder: Path, certificate: Path) -> None:
    with serve(folder, certificate=certificate) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", f"{certificate}.crt")
        location = f"http://{SECRETS}127.0.0.1/x?X-Amz-Signature=hunter4"
        server.faults = {"/plain": iter([Fault(status=302, headers={"Location": location}, body=b"")])}
        error = client.fails("which is not protected by TLS", server.url("/plain"))
    assert "hunter" not in error.message


# The disk


def test_a_folder_that_cannot_be_made(client: Client, folder: Path) -> None:
    client.folder.parent.write_text("a file")
    with serve(folder) as server:
        with pytest.raises(ResourceError, match=re.escape(f"{client.folder} cannot be written: ")):
            client.get(server.url(PATH))
        assert server.requests == []


def test_a_full_disk(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "sync", full)
    with serve(folder) as server:
        client.fails(f"{client.folder} cannot be written: No space left on device", server.url(PATH), ResourceError)


def test_a_reader_of_the_progress_that_went_away_is_an_interruption(client: Client, folder: Path) -> None:
    def gone(done: int, total: int, message: str) -> None:
        raise BrokenPipeError

    with serve(folder) as server, pytest.raises(BrokenPipeError):
        client.get(server.url(PATH), progress=gone)
    assert client.left() == [f".{NAME}.part", f".{NAME}.part.json"]


def test_folders_that_were_there_stay(client: Client, folder: Path) -> None:
    client.folder.mkdir(parents=True)
    with serve(folder) as server, pytest.raises(FetchError):
        client.get(server.url("/missing"))
    assert client.left() == []


# Addresses and imports


def test_drive_addresses() -> None:
    assert drive_address("a-b_1") == "https://drive.usercontent.google.com/download?id=a-b_1&export=download&confirm=t"
    assert drive_page("a-b_1") == "https://drive.google.com/file/d/a-b_1/view"
    assert "id=a%26b%2F&" in drive_address("a&b/")


def test_importing_is_cheap() -> None:
    loaded = "print({'requests', 'urllib3', 'numpy'} & sys.modules.keys())"
    code = f"import sys, cgnn_cli.datasets.upstream.fetching; {loaded}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"
