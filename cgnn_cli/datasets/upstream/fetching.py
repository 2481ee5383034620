"""Download of one file: resumed after a cut, checked against its checksum, and whole or not there at all."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from cgnn_cli import __version__
from cgnn_cli.errors import DataError, FetchError, ResourceError
from cgnn_cli.redaction import redacted_address
from cgnn_cli.store.disk import file_sha256, read_json, replace, sync

if TYPE_CHECKING:
    from requests import Response, Session

CHUNK_BYTES = 1 << 16
LONGEST_WAIT = 10.0
MOST_REDIRECTS = 10
RETRIED_STATUSES = {408, 429}
HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)", re.IGNORECASE)
RETRY_HINT = "check the network and try again later; a proxy is taken from HTTPS_PROXY"
TLS_HINT = "certificates are verified, and that is not to be switched off; check the clock, the proxy and the CA bundle"
ADDRESS_HINT = "open the address in a browser to see what the server has there"

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class FetchOptions:
    timeout: float = 30.0
    """Seconds without a byte from the server."""
    retries: int = 4


class Cut(FetchError):
    """An attempt that failed in a way that another one may not."""


def drive_address(file_id: str) -> str:
    """Where Google Drive gives the file itself."""
    return f"https://drive.usercontent.google.com/download?id={quote(file_id, safe='')}&export=download&confirm=t"


def drive_page(file_id: str) -> str:
    """The page of a file on Google Drive for a person with a browser."""
    return f"https://drive.google.com/file/d/{quote(file_id, safe='')}/view"


def download(
    url: str, target: Path, *, sha256: str | None, options: FetchOptions, progress: Progress, limit: int
) -> None:
    """Get a file of at most `limit` bytes. Only one process at a time may do so.

    After an error nothing is left of it. After an interruption its partial file is, and the next call goes on with it.
    """
    transfer = _Transfer(url, target, sha256 is not None, options, progress, limit)
    missing = [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        transfer.run()
        if sha256 is not None and (received := file_sha256(transfer.partial)) != sha256.lower():
            message = f"{transfer.shown} gives a file with sha256 {received}, but {sha256} is expected"
            raise DataError(message, "try again; if it stays so, the file was changed at its source")
        replace(transfer.partial, target)
        transfer.remove()
    except BrokenPipeError:  # not of the disk but of whoever reads the progress: an interruption
        raise
    except (FetchError, DataError, OSError) as error:
        with contextlib.suppress(OSError):
            transfer.remove()
            for folder in missing:
                folder.rmdir()
        if not isinstance(error, OSError):
            raise
        hint = "free some space there, or use another folder; check its permissions"
        raise ResourceError(f"{target.parent} cannot be written: {error.strerror or error}", hint) from error


def _wait(seconds: float) -> None:
    time.sleep(seconds)


@dataclass(frozen=True)
class _Transfer:
    """A file on its way into a partial file, beside which stands where it comes from."""

    url: str
    target: Path
    known: bool
    """Whether the file's checksum is known, and would tell if two versions of it were put together."""
    options: FetchOptions
    progress: Progress
    limit: int

    @property
    def partial(self) -> Path:
        return self.target.with_name(f".{self.target.name}.part")

    @property
    def record(self) -> Path:
        return self.target.with_name(f".{self.target.name}.part.json")

    @property
    def shown(self) -> str:
        """The address as messages and the record beside the file have it: without credentials."""
        return redacted_address(self.url)

    def remove(self) -> None:
        self.partial.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)

    def size(self) -> int:
        return self.partial.stat().st_size if self.partial.exists() else 0

    def origin(self) -> dict[str, Any]:
        """What was noted of the file when it was begun; empty where it cannot be gone on with."""
        origin = read_json(self.record)
        total, validator = origin.get("total"), origin.get("validator")
        complete = isinstance(total, int) and total > 0 and isinstance(validator, str)
        return origin if complete and origin.get("url") == self.shown and (validator or self.known) else {}

    def run(self) -> None:
        """Receive the file, with retries after growing waits."""
        import requests

        logging.getLogger("urllib3").setLevel(logging.CRITICAL)
        with requests.Session() as session:
            session.headers["User-Agent"] = f"cgnn/{__version__}"
            for failures in range(1, self.options.retries + 2):
                try:
                    return self.attempt(session)
                except Cut as cut:
                    if failures > self.options.retries:
                        tries = "1 try" if failures == 1 else f"{failures} tries"
                        hint = cut.hint
                        raise FetchError(f"{self.shown} could not be fetched in {tries}: {cut.message}", hint) from cut
                    seconds = min(2.0 ** (failures - 1), LONGEST_WAIT)
                    self.progress(self.size(), 0, f"{self.target.name}: {cut.message}; trying again in {seconds:g} s")
                _wait(seconds)

    def attempt(self, session: Session) -> None:
        """Get the rest of the file, or all of it; raises `Cut` if it is worth another attempt."""
        import requests
        import urllib3.exceptions as low

        passing = (requests.ConnectionError, requests.Timeout, low.ProtocolError, low.TimeoutError, low.SSLError)
        try:
            self.receive(session)
        except passing as error:
            cause: BaseException = error
            while (deeper := cause.__cause__ or cause.__context__) is not None:
                cause = deeper
            if "CERTIFICATE_VERIFY_FAILED" in str(cause):
                raise FetchError(f"{self.shown}: the server cannot be trusted: {_words(cause)}", TLS_HINT) from error
            if isinstance(error, requests.exceptions.SSLError | low.SSLError):
                raise Cut(f"no secure connection (TLS): {_words(cause)}", TLS_HINT) from error
            if isinstance(error, requests.Timeout | low.TimeoutError) or isinstance(cause, TimeoutError):
                raise Cut(f"the server sent nothing for {self.options.timeout:g} s", RETRY_HINT) from error
            what = "the connection was cut" if isinstance(error, low.ProtocolError) else "no connection"
            raise Cut(f"{what}: {_words(cause)}", RETRY_HINT) from error
        except (requests.RequestException, low.HTTPError, ValueError) as error:
            raise FetchError(f"{self.shown} cannot be fetched: {_words(error)}", "check the address") from error

    def receive(self, session: Session) -> None:
        """Ask for what is not there yet, and take it."""
        origin = self.origin()
        done = self.size() if origin else 0
        if done and done == origin["total"] and self.known:
            return
        headers = {"Accept-Encoding": "identity"}
        if done:
            headers |= {"Range": f"bytes={done}-", **({"If-Range": tag} if (tag := origin["validator"]) else {})}
        with self.open(session, headers) as response:
            status = response.status_code
            if done and status in (206, 416) and not _continues(response, done, origin["total"]):
                self.remove()
                raise Cut("the server did not go on where it was asked to", RETRY_HINT)
            if status in RETRIED_STATUSES or status >= 500:
                raise Cut(f"the server answers with status {status}", RETRY_HINT)
            if status not in (200, 206 if done else 200):
                raise FetchError(
                    f"{self.shown} cannot be fetched: the server answers with status {status}", ADDRESS_HINT
                )
            if response.headers.get("Content-Type", "").strip().lower().startswith("text/html"):
                raise self.not_the_file()
            if status == 200:
                length = response.headers.get("Content-Length", "").strip()
                total = int(length) if re.fullmatch("[0-9]{1,18}", length) else 0
                origin, done = {"url": self.shown, "validator": _validator(response), "total": total}, 0
                self.partial.write_bytes(b"")  # first: the old bytes must never be there with the new origin
                self.record.write_text(json.dumps(origin))
            self.store(response, done, origin["total"])
        with self.partial.open("rb") as file:
            if HTML_START.match(file.read(CHUNK_BYTES)):
                raise self.not_the_file()
        sync(self.partial)

    def open(self, session: Session, headers: dict[str, str]) -> Response:
        """The answer at the end of all redirects, none of which may give up TLS."""
        address = self.url
        for _ in range(MOST_REDIRECTS):
            response = session.get(
                address, headers=headers, timeout=self.options.timeout, stream=True, allow_redirects=False
            )
            if (following := session.get_redirect_target(response)) is None:
                return response
            response.close()
            before, address = address, _with_user_of(address, urljoin(address, following))
            if urlsplit(before).scheme == "https" and urlsplit(address).scheme != "https":
                place = redacted_address(address)[:200]
                raise FetchError(f"{self.shown} leads to {place!r}, which is not protected by TLS", ADDRESS_HINT)
        raise FetchError(f"{self.shown} was redirected {MOST_REDIRECTS} times and led nowhere", ADDRESS_HINT)

    def store(self, response: Response, done: int, total: int) -> None:
        """Append the body as it was sent: a server that calls a .gz file's own packing an encoding is not obeyed."""
        message, size = f"downloading {self.target.name}", max(done, total)
        with self.partial.open("ab") as file:
            self.progress(done, total, message)
            chunks = response.raw.stream(CHUNK_BYTES, decode_content=False)
            while size <= self.limit and (chunk := next(chunks, b"")):
                done += file.write(chunk)
                size = max(done, total)
                self.progress(done, total, message)
        if size > self.limit:
            raise FetchError(f"{self.shown} has more than the {self.limit} bytes that its file may have", ADDRESS_HINT)
        if done < total:
            raise Cut(f"the connection was cut after {done} of {total} bytes", RETRY_HINT)

    def not_the_file(self) -> FetchError:
        hint = f"{ADDRESS_HINT}; it may ask for a login or a confirmation"
        return FetchError(f"{self.shown} gives a web page, not the file", hint)


def _with_user_of(address: str, following: str) -> str:
    """Where a redirect leads: the same server gets the same user and password again, and no other one ever does."""
    old, new = urlsplit(address), urlsplit(following)
    user, at, server = old.netloc.rpartition("@")
    same = (old.scheme, server) == (new.scheme, new.netloc)
    return new._replace(netloc=f"{user}{at}{server}").geturl() if same else following


def _continues(response: Response, done: int, total: int) -> bool:
    """Whether this is the rest of the file that was begun."""
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", "").strip())
    return response.status_code == 206 and span is not None and [*map(int, span.groups())] == [done, total - 1, total]


def _validator(response: Response) -> str:
    """What tells this version of the file from any other one: a strong ETag or date; empty if there is neither."""
    from email.utils import parsedate_to_datetime

    tag = response.headers.get("ETag", "")
    if tag.startswith('"'):
        return tag
    modified = response.headers.get("Last-Modified", "")
    try:
        sent, changed = map(parsedate_to_datetime, (response.headers.get("Date", ""), modified))
        return modified if (sent - changed).total_seconds() >= 60 else ""
    except (TypeError, ValueError, OverflowError):
        return ""


def _words(error: BaseException) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split())[:200] or type(error).__name__
