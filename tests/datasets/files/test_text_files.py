"""Text files as bytes: unpacked, and refused where they cannot be read."""

import gzip
from pathlib import Path

import pytest

from cgnn_cli.datasets.files.text_files import plain_text, read_content
from cgnn_cli.errors import DataError


def test_byte_order_mark_and_gzip_by_content(tmp_path: Path) -> None:
    path = tmp_path / "named.csv"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfid,label\n1,\xc3\xa9\n"))
    assert plain_text(read_content(path), path) == "id,label\n1,é\n".encode()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, message in {"empty": "0 bytes", "absent": "No such file", ".": "directory"}.items():
        with pytest.raises(DataError, match=message):
            read_content(tmp_path / name)
