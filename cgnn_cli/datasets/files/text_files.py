"""The user's text files as bytes: read whole or in blocks of lines, unpacked, and checked to be UTF-8."""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cgnn_cli.errors import DataError, ResourceError
from cgnn_cli.resources import check_reading, gather, readable_bytes

GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
BLOCK_BYTES, LONGEST_LINE = 1 << 24, 1 << 26
CODE_HINT = "convert it first, for example: iconv -f LATIN1 -t UTF-8 OLD > NEW"
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
    return _checked(_without_mark(_gunzip(content, path), path), path)


def text_blocks(path: Path) -> Iterator[bytes]:
    """The same in blocks of whole lines, of about BLOCK_BYTES each; a file without bytes has none."""
    rest, line = b"", 1
    for block in _unpacked_blocks(path):
        rest += block if rest or line > 1 else _without_mark(block, path)
        stop = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, len(rest) - 1)) + 1
        if stop:
            text = _checked(rest[:stop], path, line)
            line, rest = line + text.count(b"\n"), rest[stop:]
            yield text
        elif len(rest) > LONGEST_LINE:
            message = f"{path}, line {line}: the line has more than {readable_bytes(LONGEST_LINE)}"
            raise DataError(message, "check that it is a table")
    if rest:
        yield _checked(rest, path, line)


def _unpacked_blocks(path: Path) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            source: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
            yield from iter(lambda: source.read(BLOCK_BYTES), b"")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged_gzip(path, error) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path} cannot be read: {reason}", "check the path and its permissions") from error


def _without_mark(content: bytes, path: Path) -> bytes:
    """The beginning of a text without a byte-order mark, which is that of UTF-8 or none."""
    if content.startswith(UTF16_MARKS):
        raise DataError(f"{path} is UTF-16 text, but only UTF-8 is read", CODE_HINT.replace("LATIN1", "UTF-16"))
    return content.removeprefix(UTF8_MARK)


def _checked(content: bytes, path: Path, first_line: int = 1) -> bytes:
    bad = _first_bad_byte(content)
    if bad is not None:
        line = content.count(b"\n", 0, bad) + first_line
        message = f"{path}, line {line}: the file is not UTF-8 text, which is the only encoding read"
        raise DataError(message, CODE_HINT)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + first_line
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
        raise _damaged_gzip(path, error) from error


def _damaged_gzip(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is a damaged gzip file: {error}", "fetch or compress it again")


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
