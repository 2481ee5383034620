"""The runs that a report is about: evaluations, with the headers of all they were made from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cgnn_cli.datasets.registry import name_of
from cgnn_cli.errors import UpstreamError, UsageError
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from cgnn_cli.store.store import Store

NOT_A_SETTING = ("model", "splits", "verify")
CONFIGURED = ("rewire", "dilap", "commute", "train")


@dataclass(frozen=True)
class Run:
    """One evaluation. `made_from` has the headers of what it was made from, by role, as far as the store has them."""

    path: Path
    header: Header
    made_from: dict[str, Header]
    dataset: str

    @property
    def key(self) -> str:
        return self.header.key

    @property
    def model(self) -> str:
        train = self.made_from.get("train")
        return str(train.config.get("model", "unknown")) if train else "unknown"

    @property
    def direction(self) -> str:
        train = self.made_from.get("train")
        return str(train.config.get("direction", "")) if train else ""

    @property
    def graph_key(self) -> str:
        return self.header.inputs.get("graph", "")

    @property
    def splits(self) -> list[int]:
        return list(self.header.summary["splits"])

    @property
    def accuracies(self) -> list[float]:
        """Test accuracy of each split."""
        return list(self.header.summary["test_accuracy_per_split"])

    @property
    def mean(self) -> float:
        return float(self.header.summary["test_accuracy"]["mean"])

    @property
    def std(self) -> float | None:
        """Population standard deviation over the splits; a single one has none."""
        return float(self.header.summary["test_accuracy"]["std"]) if len(self.splits) > 1 else None

    @property
    def split_count(self) -> int | None:
        """How many splits the dataset has."""
        graph = self.made_from.get("graph")
        return int(graph.summary["splits"]) if graph else None

    @property
    def is_partial(self) -> bool:
        """Whether some split of the dataset is missing."""
        return self.split_count is not None and len(self.splits) < self.split_count

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options that its stages read, of all stages together."""
        return _options(self.made_from)

    @property
    def seconds(self) -> float | None:
        """Cold seconds of one training: the stages before it, and the mean over its splits. None if not all are known.

        They are those recorded when each artifact was made, so a cache hit never counts.
        """
        fits = [header.seconds for role, header in self.made_from.items() if role.startswith("fit-")]
        if "graph" not in self.made_from or len(fits) < len(self.splits):
            return None
        before = [header.seconds for role, header in self.made_from.items() if _prepares(role)]
        return sum(before) + sum(fits) / len(fits)

    @property
    def graph_notes(self) -> dict[str, Any]:
        """What is recorded about the graph: its dataset, protocol, whether it is undirected or a stand-in."""
        graph = self.made_from.get("graph")
        return graph.summary if graph else {}


def _options(made_from: dict[str, Header]) -> dict[str, Any]:
    parts = (made_from[stage].config for stage in CONFIGURED if stage in made_from)
    return {name: value for part in parts for name, value in part.items() if name not in NOT_A_SETTING}


def _prepares(role: str) -> bool:
    return role in ("rewire", "dilap", "commute") or role.startswith("operators-")


@dataclass
class Runs:
    """Evaluations of a store, and of files, with lazily read contents."""

    store: Store
    _seen: dict[tuple[str, str], Header | None] = field(default_factory=dict)

    def named(self, names: Iterable[str]) -> list[Run]:
        """Evaluations by path or beginning of a key, each once, in the order given."""
        found = {}
        for name in names:
            path, header = self._open(name)
            if header.stage != "eval":
                raise UsageError(
                    f"{name} is a {header.stage} artifact, and a report is about evaluations",
                    "name what `cgnn eval` or `cgnn run` printed",
                )
            found[header.key] = self._run(path, header)
        return list(found.values())

    def all(self) -> list[Run]:
        """All evaluations of the store, oldest first; a damaged one counts as missing, and the store says so."""
        headers = [header for header in self.store.headers("eval") if self._find("eval", header.key)]
        return [self._run(self.store.path("eval", header.key), header) for header in headers]

    def content(self, header: Header, path: Path | None = None) -> Artifact:
        """The whole artifact of a header."""
        return files.read(path or self.store.path(header.stage, header.key))

    def commute_headers(self, graph_key: str) -> list[Header]:
        """All commute artifacts of a graph."""
        return [header for header in self.store.headers("commute") if header.inputs.get("graph") == graph_key]

    def options(self, header: Header) -> dict[str, Any]:
        """The options of an artifact and of all it was made from."""
        return _options({**dict(self._upstream(header)), header.stage: header})

    def _open(self, name: str) -> tuple[Path, Header]:
        path = Path(name)
        with contextlib.suppress(OSError):
            if path.is_file():
                return path, files.read(path).header
        if "/" in name or name.endswith((".h5", ".npz")):
            raise UpstreamError(f"there is no file {name}")
        stage, key = self.store.resolve(name)
        path = self.store.path(stage, key)
        return path, files.read(path).header

    def _run(self, path: Path, header: Header) -> Run:
        made_from = dict(self._upstream(header))
        graph = made_from.get("graph")
        return Run(path, header, made_from, self._dataset(header.inputs.get("graph", ""), graph))

    def _upstream(self, header: Header) -> Iterator[tuple[str, Header]]:
        """What an artifact was made from, and what that was made from."""
        for role, key in header.inputs.items():
            found = self._find(role.split("-")[0], key)
            if found is not None:
                yield role, found
                yield from self._upstream(found)

    def _find(self, stage: str, key: str) -> Header | None:
        if (stage, key) not in self._seen:
            self._seen[stage, key] = self.store.find(stage, key)
        return self._seen[stage, key]

    def _dataset(self, key: str, graph: Header | None) -> str:
        recorded = str(graph.summary.get("dataset", "")) if graph else ""
        name = name_of(self.store, key) or recorded or f"graph {key[:12]}"
        return name.replace("+standin", " (stand-in)").replace("+", ", ")
