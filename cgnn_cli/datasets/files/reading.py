"""From a path to a table, whatever lies there: a text or Parquet file, or a folder of such files."""

from pathlib import Path

from cgnn_cli.datasets.files.arrays import NPY_MAGIC, ZIP_MAGIC, read_array_or_text
from cgnn_cli.datasets.files.folders import folder_table
from cgnn_cli.datasets.files.tables import Reading, Table, parse_table


def read_array_or_table(path: Path, reading: Reading) -> bytes | Table:
    """The bytes of a numpy file, or else a table; the header of a text, if any, is still its first row."""
    if path.is_dir():
        return folder_table(path, reading)
    content = read_array_or_text(path)
    return content if content.startswith((NPY_MAGIC, ZIP_MAGIC)) else parse_table(content, path, reading)
