"""The files of a test, and the graph that is imported from them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import save_npz

from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.errors import DataError, UsageError
from cgnn_cli.graph import Graph

SQUARE = "0 1\n1 2\n2 3\n3 0\n"


class Folder:
    """Writes the files of a test and imports them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, name: str, content: Any) -> Path:
        path = self.path / name
        if isinstance(content, np.ndarray):
            np.save(path, content, allow_pickle=True)
        elif isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        elif isinstance(content, dict):
            np.savez(path, **content)
        else:
            save_npz(path, content)
        return path

    def load(
        self, edges: Any, *, features: Any = None, labels: Any = None, splits: Any = None, **options: Any
    ) -> Graph:
        given = {"edges": edges, "features": features, "labels": labels, "splits": splits}
        paths: dict[str, Any] = {
            role: self.save(role + suffix_of(content), content)
            for role, content in given.items()
            if content is not None
        }
        return import_graph(ImportOptions(**paths, **options))

    def fails(self, message: str, edges: Any, error: type[DataError | UsageError] = DataError, **files: Any) -> str:
        """Expect an error of one line that holds the message; return its hint."""
        with pytest.raises(error, match=re.escape(message)) as caught:
            self.load(edges, **files)
        assert "\n" not in caught.value.message
        return caught.value.hint


def suffix_of(content: Any) -> str:
    if isinstance(content, np.ndarray):
        return ".npy"
    return ".csv" if isinstance(content, str | bytes) else ".npz"


def dense(graph: Graph) -> list[list[float]]:
    return graph.adjacency.toarray().tolist()


def notes(graph: Graph) -> str:
    return "\n".join(graph.summary["notes"])
