"""One attempt to get a file over HTTP, into a partial file that a later attempt can go on with."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from cgnn_cli.errors import FetchError
from cgnn_cli.store.disk import read_json, sync

if TYPE_CHECKING:
    from requests import Response, Session

CHUNK_BYTES = 1 << 16
MOST_REDIRECTS = 10
RETRIED_STATUSES = {408, 429}
HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)", re.IGNORECASE)
RETRY_HINT = "check the network and try again later; a proxy is taken from HTTPS_PROXY"
TLS_HINT = "certificates are verified, and that is not to be switched off; check the clock, the proxy and the CA bundle"
ADDRESS_HINT = "open the address in a browser to see what the server has there"

Report = Callable[[int, int], None]


class Cut(Exception):
    """An attempt that failed in a way that another one may not."""

    def __init__(self, reason: str, hint: str = RETRY_HINT) -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True)
class Partial:
    """A file on its way, and beside it where it comes from."""

    path: Path
    known: bool
    """Whether the file's checksum is known, and would tell if two versions of it were put together."""

    @property
    def record(self) -> Path:
        return self.path.with_name(self.path.name + ".json")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self, url: str) -> dict[str, Any]:
        """What was noted of the file when it was begun; empty where it cannot be gone on with."""
        origin = read_json(self.record)
        total, validator = origin.get("total"), origin.get("validator")
        complete = isinstance(total, int) and total > 0 and isinstance(validator, str)
        return origin if complete and origin.get("url") == url and (validator or self.known) and self.size() else {}

    def begin(self, origin: dict[str, Any]) -> None:
        self.path.write_bytes(b"")  # first: the old bytes must never be there with the new origin
        self.record.write_text(json.dumps(origin))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)


def receive(session: "Session", url: str, partial: Partial, timeout: float, limit: int, report: Report) -> None:
    """Get the rest of the file, or all of it; raises `Cut` if it is worth another attempt."""
    import requests
    import urllib3.exceptions as low

    passing = (requests.ConnectionError, requests.Timeout, low.ProtocolError, low.TimeoutError, low.SSLError)
    try:
        _transfer(session, url, partial, timeout, limit, report)
    except passing as error:
        cause = _root_of(error)
        if "CERTIFICATE_VERIFY_FAILED" in str(cause):
            raise FetchError(f"{url}: the server cannot be trusted: {_words(cause)}", TLS_HINT) from error
        if isinstance(error, requests.exceptions.SSLError | low.SSLError):
            raise Cut(f"no secure connection (TLS): {_words(cause)}", TLS_HINT) from error
        if isinstance(error, requests.Timeout | low.TimeoutError) or isinstance(cause, TimeoutError):
            raise Cut(f"the server sent nothing for {timeout:g} s") from error
        what = "the connection was cut" if isinstance(error, low.ProtocolError) else "no connection"
        raise Cut(f"{what}: {_words(cause)}") from error
    except (requests.RequestException, low.HTTPError, ValueError) as error:
        raise FetchError(f"{url} cannot be fetched: {_words(error)}", "check the address") from error


def _transfer(session: "Session", url: str, partial: Partial, timeout: float, limit: int, report: Report) -> None:
    origin = partial.origin(url)
    done = partial.size() if origin else 0
    if done and done == origin["total"] and partial.known:
        return
    headers = {"Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
        if origin["validator"]:
            headers["If-Range"] = origin["validator"]
    with _open(session, url, headers, timeout) as response:
        if done and response.status_code in (206, 416) and not _continues(response, done, origin):
            partial.remove()
            raise Cut("the server did not go on where it was asked to")
        _check_answer(response, url, 206 if done else 200)
        if response.status_code == 200:
            done, total = 0, _whole_number(response.headers.get("Content-Length"))
            partial.begin({"url": url, "validator": _validator_of(response), "total": total})
        else:
            total = origin["total"]
        _store(response, url, partial, done, total, limit, report)
    with partial.path.open("rb") as file:
        if HTML_START.match(file.read(CHUNK_BYTES)):
            raise _not_the_file(url)
    sync(partial.path)


def _open(session: "Session", url: str, headers: dict[str, str], timeout: float) -> "Response":
    """The answer at the end of all redirects, none of which may give up TLS."""
    address = url
    for _ in range(MOST_REDIRECTS):
        response = session.get(address, headers=headers, timeout=timeout, stream=True, allow_redirects=False)
        following = session.get_redirect_target(response)
        if following is None:
            return response
        response.close()
        secure, address = urlsplit(address).scheme == "https", urljoin(address, following)
        if secure and urlsplit(address).scheme != "https":
            raise FetchError(f"{url} leads to {address[:200]!r}, which is not protected by TLS", ADDRESS_HINT)
    raise FetchError(f"{url} was redirected {MOST_REDIRECTS} times and led nowhere", ADDRESS_HINT)


def _continues(response: "Response", done: int, origin: dict[str, Any]) -> bool:
    """Whether this is the rest of the file that was begun."""
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", "").strip())
    return (
        span is not None
        and response.status_code == 206
        and ([int(number) for number in span.groups()] == [done, origin["total"] - 1, origin["total"]])
    )


def _check_answer(response: "Response", url: str, expected: int) -> None:
    status = response.status_code
    if status in RETRIED_STATUSES or status >= 500:
        raise Cut(f"the server answers with status {status}")
    if status not in (200, expected):
        raise FetchError(f"{url} cannot be fetched: the server answers with status {status}", ADDRESS_HINT)
    if response.headers.get("Content-Type", "").strip().lower().startswith("text/html"):
        raise _not_the_file(url)


def _store(response: "Response", url: str, partial: Partial, done: int, total: int, limit: int, report: Report) -> None:
    """Append the body as it was sent: a server that calls a .gz file's own packing an encoding is not obeyed."""
    size = max(done, total)
    with partial.path.open("ab") as file:
        report(done, total)
        chunks = response.raw.stream(CHUNK_BYTES, decode_content=False)
        while size <= limit and (chunk := next(chunks, b"")):
            done += file.write(chunk)
            size = max(done, total)
            report(done, total)
    if size > limit:
        raise FetchError(f"{url} has more than the {limit} bytes that its file may have", ADDRESS_HINT)
    if done < total:
        raise Cut(f"the connection was cut after {done} of {total} bytes")


def _validator_of(response: "Response") -> str:
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


def _whole_number(text: str | None) -> int:
    return int(text) if text and re.fullmatch("[0-9]{1,18}", text.strip()) else 0


def _not_the_file(url: str) -> FetchError:
    hint = f"{ADDRESS_HINT}; it may ask for a login or a confirmation"
    return FetchError(f"{url} gives a web page, not the file", hint)


def _root_of(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _words(error: BaseException) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split())[:200] or type(error).__name__
