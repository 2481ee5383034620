"""Small artifacts for the tests of the store."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.keys import artifact_key
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header

ELEMENTS: dict[str, Any] = {
    "commute": np.linspace(1.5, 80.0, 12).reshape(3, 4),
    "matrix": csr_array(np.diag([1.0, 2.0, 3.0])),
    "names": np.char.encode(np.array(["ä", "b", "日本"]), "utf-8"),
    "scalar": np.array(7, dtype=np.int16),
    "nothing": np.zeros((0, 3), dtype=np.float32),
    "weights": {"first": {"bias": np.arange(3, dtype=np.float32)}, "second": np.array([True, False])},
}


def header_of(
    stage: str = "commute",
    *,
    config: dict[str, Any] | None = None,
    inputs: dict[str, str] | None = None,
    summary: dict[str, Any] | None = None,
    started: str = "2026-01-01T00:00:00",
) -> Header:
    """A header as the runner makes it, with a true key."""
    config, inputs = config or {"solver": "exact"}, inputs or {}
    return Header(
        stage=stage,
        key=artifact_key(stage, 1, config, inputs),
        algorithm=1,
        config=config,
        inputs=inputs,
        summary=summary or {"median": 13420.673267558646, "notes": ["ä"]},
        provenance={"started": started, "seconds": 0.25},
    )


def sample(stage: str = "commute", elements: dict[str, Any] | None = None, **parts: Any) -> Artifact:
    """A sealed artifact."""
    return files.sealed(Artifact(header_of(stage, **parts), ELEMENTS if elements is None else elements))


def write(path: Path, artifact: Artifact) -> Path:
    """Write an artifact in the format of the file's name."""
    if path.suffix == ".h5":
        files.write_h5(path, artifact)
    else:
        with open(path, "wb") as file:
            files.write_npz(file, artifact)
    return path
