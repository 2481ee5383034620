"""From a path to a table, whatever lies there: a text or Parquet file, a folder of such files, GraphML, or a query."""

from pathlib import Path

from cgnn_cli.datasets.files.arrays import NPY_MAGIC, ZIP_MAGIC, read_array_or_text
from cgnn_cli.datasets.files.folders import folder_table
from cgnn_cli.datasets.files.graphml import Part, graphml_table, is_graphml
from cgnn_cli.datasets.files.tables import Reading, Table, parse_table


def read_array_or_table(path: Path, reading: Reading, part: Part = "node") -> bytes | Table:
    """The bytes of a numpy file, or else a table; the header of a text, if any, is still its first row.

    part: what is read of a file that holds both nodes and edges.
    """
    if reading.queries is not None:
        return reading.queries.table(path, reading)
    if path.is_dir():
        return folder_table(path, reading)
    if is_graphml(path):
        return graphml_table(path, part, reading)
    content = read_array_or_text(path)
    return content if content.startswith((NPY_MAGIC, ZIP_MAGIC)) else parse_table(content, path, reading)
