"""The three standard streams, made fit to be written to whatever the caller did to them."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys


def prepare_streams() -> None:
    """Nothing that is wrong with standard error ends a command, and any text can be written to standard output.

    A descriptor that the caller closed is taken, so that no file of ours gets its number; what asks for it fails.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - open to the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("cgnn-exact", _exact_or_escaped)
        sys.stdout.reconfigure(errors="cgnn-exact")
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        encoding = sys.stderr.encoding if sys.stderr else None
        sys.stderr = io.TextIOWrapper(Heedless(), encoding, errors="backslashreplace", write_through=True)


def release_output() -> None:
    """Flush standard output after an error. What cannot be written goes nowhere, or it would fail again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Heedless(io.RawIOBase):
    """Standard error: what cannot be written, as the disk is full or the reader has gone, is left out."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2

    def isatty(self) -> bool:
        return os.isatty(2)

    def write(self, data: object) -> int:
        content = memoryview(data)  # type: ignore[arg-type]
        with contextlib.suppress(OSError):
            written = 0
            while written < len(content):
                written += os.write(2, content[written:])
        return len(content)


def _exact_or_escaped(error: UnicodeError) -> tuple[bytes | str, int]:
    """Bytes of a file's name as they are, whatever they mean; other characters that the encoding lacks as escapes."""
    assert isinstance(error, UnicodeEncodeError)
    code = ord(error.object[error.start])
    if 0xDC80 <= code <= 0xDCFF:
        return bytes([code - 0xDC00]), error.start + 1
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}", error.start + 1
