"""The user's text files as bytes: read whole, unpacked, and checked to be UTF-8."""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from cgnn_cli.errors import DataError, ResourceError
from cgnn_cli.resources import check_reading, gather

GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
BLOCK_BYTES = 1 << 24
MEMORY_HINT = "use a machine with more, or a smaller graph"
TEXT_MEMORY = 6  # a byte of text takes up to about so many while it becomes a table


def read_content(path: Path) -> bytes:
    """The bytes of a user's file, which must not be empty."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            check_reading(path, size)
            blocks = iter(lambda: file.read(BLOCK_BYTES), b"")  # a device or a pipe does not tell its size
            content = file.read() if size else gather(blocks, path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path} cannot be read: {reason}", "check the path and its permissions") from error
    except MemoryError as error:
        raise ResourceError(f"not enough memory to read {path}", MEMORY_HINT) from error
    if not content:
        raise DataError(f"{path} is empty (0 bytes)", "check how the file was made or copied")
    return content


def plain_text(content: bytes, path: Path) -> bytes:
    """The content of a text file, unpacked and checked, without its byte-order mark, and with \\n as its line ends."""
    content = _gunzip(content, path)
    hint = "convert it first, for example: iconv -f LATIN1 -t UTF-8 OLD > NEW"
    if content.startswith(UTF16_MARKS):
        raise DataError(f"{path} is UTF-16 text, but only UTF-8 is read", hint.replace("LATIN1", "UTF-16"))
    content = content.removeprefix(UTF8_MARK)
    bad = _first_bad_byte(content)
    if bad is not None:
        line = content.count(b"\n", 0, bad) + 1
        raise DataError(f"{path}, line {line}: the file is not UTF-8 text, which is the only encoding read", hint)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise DataError(f"{path}, line {line}: a NUL byte; the file is not UTF-8 text", "give text, .npy or .npz")
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in content else content


def line_blocks(content: bytes) -> Iterator[bytes]:
    """The content in pieces of whole lines, of about BLOCK_BYTES each."""
    start = 0
    while start < len(content):
        stop = content.find(b"\n", start + BLOCK_BYTES) + 1 or len(content)
        yield content[start:stop]
        start = stop


def _gunzip(content: bytes, path: Path) -> bytes:
    if not content.startswith(GZIP_MAGIC):
        check_reading(path, TEXT_MEMORY * len(content))
        return content
    try:
        file = gzip.GzipFile(fileobj=io.BytesIO(content))
        return gather(iter(lambda: file.read(BLOCK_BYTES), b""), path, TEXT_MEMORY)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file: {error}", "fetch or compress it again") from error


def _first_bad_byte(content: bytes) -> int | None:
    """Where the content stops being UTF-8; looked for in blocks, which saves memory."""
    if content.isascii():
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(content), BLOCK_BYTES):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(content[start : start + BLOCK_BYTES], final=start + BLOCK_BYTES >= len(content))
        except UnicodeDecodeError as error:
            return start - held + error.start
    return None
