"""What may be told of addresses, commands and messages: never a password or a token, and no places where they travel.

`https://user:password@host/x?token=T` is told as `https://***@host/x?token=***`. What leaves the machine, such as a
pack, does not say where things lie on it either: of absolute paths and of addresses only the last name stays.
"""

import contextlib
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

HIDDEN = "***"
ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://?")  # of two slashes a path keeps one
ADDRESS_IN_TEXT = re.compile(ADDRESS.pattern + r"[^\s'\"<>()]+")
# All up to the last @, for a password may hold a slash; or, where it holds spaces, all from its colon on.
USER_OF_ADDRESS = re.compile(r"(:/{1,2})(?:\S*@|[^\s/:@]*:[^/@\n]*@)")
USER_WITHOUT_SCHEME = re.compile(r"(?<![\w/*])[\w.%+-]+:[^\s/@]+@(?=[\w\[])")
QUERY = re.compile(r"(:/{1,2}[^\s'\"<>?#]*[?#])([^\s'\"<>]*)")
VALUE = re.compile(r"([?&][\w.%~-]+=)[^\s&'\"()<>]+")
PLACE = re.compile(r"(?<![\w./:~=-])(?:~[\w.-]*|\.\.)?(?:/[^\s/:;,'\"()<>]+)+/?")
PATH_IN_WORD = re.compile(r"(?s)([^/=]*=)?((?:~|/|\.\./).*)")


def redacted_address(address: str) -> str:
    """An address without its credentials: user, password and all that it asks for after a ? or #."""
    scheme = ADDRESS.match(address)
    if not scheme:
        return redacted(address)
    _, at, place = address[scheme.end() :].rpartition("@")
    base, *query = re.split("([?#])", place, maxsplit=1)
    shown = f"{scheme[0]}{HIDDEN if at else ''}{at}{base}"
    return shown + query[0] + _hidden(query[1]) if query else shown


def _hidden(query: str) -> str:
    """The names of what is asked for; a lone word may be a token itself."""
    parts = [part.partition("=") for part in re.split("[&#]", query)] if query else []
    return "&".join(f"{name}={HIDDEN}" if equals else HIDDEN for name, equals, _ in parts)


def redacted(text: str) -> str:
    """A message or a part of one without the credentials of the addresses in it."""
    text = USER_OF_ADDRESS.sub(rf"\1{HIDDEN}@", text)
    text = USER_WITHOUT_SCHEME.sub(f"{HIDDEN}@", text)
    text = QUERY.sub(lambda found: found[1] + _hidden(found[2]), text)
    return VALUE.sub(rf"\1{HIDDEN}", text)


def redacted_command(words: Iterable[str]) -> str:
    """A command line without credentials, as it would be typed."""
    return shlex.join(_redacted_word(word) for word in words)


def _redacted_word(word: str) -> str:
    """One word may hold anything, also spaces; an address in it goes to its end."""
    start = found.start() if (found := ADDRESS.search(word)) else len(word)
    return redacted(word[:start]) + (redacted_address(word[start:]) if found else "")


def recorded_command(command: str, *, places: bool) -> str:
    """A command line from a record without credentials, and without `places` unless they are asked for."""
    try:
        words = shlex.split(command)
    except ValueError:
        return redacted(command) if places else placeless(command)
    return redacted_command(words if places else map(_placeless_word, words))


def _placeless_word(word: str) -> str:
    if found := ADDRESS.search(word):
        return word[: found.start()] + _short_address(redacted_address(word[found.start() :]))
    if found := PATH_IN_WORD.fullmatch(word):
        return (found[1] or "") + (Path(found[2]).name or HIDDEN)
    return placeless(word)


def _short_address(address: str) -> str:
    """The last name of an address, without its server."""
    scheme = ADDRESS.match(address)
    assert scheme
    name = re.split("[?#]", address[scheme.end() :])[0].rstrip("/").partition("/")[2].rpartition("/")[2]
    return f"{scheme[0]}..." + (f"/{name}" if name else "")


def placeless(text: str) -> str:
    """A message without credentials and without the folders of the paths in it; relative ones stay as they are."""
    for folder, short in ((Path.cwd, ""), (Path.home, "~/")):  # their names may hold what ends a path elsewhere
        with contextlib.suppress(OSError, RuntimeError):
            text = re.sub(rf"(?<![\w.~/]){re.escape(str(folder()))}/(?=.)", short, text)
    text = ADDRESS_IN_TEXT.sub(lambda found: _short_address(found[0]), redacted(text))
    return PLACE.sub(lambda found: Path(found[0]).name or HIDDEN, text)
