"""Datasets by name: from a name to the step that provides its graph.

A graph's key is the hash of its content, so the same graph has the same key wherever it came from. The store keeps a
record per name: which graph it stands for, and a fingerprint of its source that says when it must be made again. Other
forms of a dataset have records of their own: `citeseer+undirected`, `arxiv-year+standin+per-class`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import FEATURE_NAMES, GraphConfig, SourceConfig, feature_source
from cgnn_cli.datasets.catalogue import BENCHMARKS, DRAWN, READER_VERSION
from cgnn_cli.datasets.generated import DEMO, MADE, generate
from cgnn_cli.errors import UpstreamError, UsageError
from cgnn_cli.keys import artifact_key
from cgnn_cli.pipeline import STAGES, Step
from cgnn_cli.store.store import Store

if TYPE_CHECKING:
    from cgnn_cli.datasets.upstream.locating import Listener
    from cgnn_cli.graph import Graph

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
VERSION_PATTERN = re.compile(NAME_PATTERN.pattern + r"@[1-9][0-9]{0,3}")
RECORD_PATTERN = re.compile(NAME_PATTERN.pattern + r"(@[1-9][0-9]{0,3})?(\+[a-z0-9-]{1,20}){0,4}")
GENERATED_SOURCE = {DEMO: {"demo": 1}} | {name: {"made": 1} for name in MADE}  # raised when another graph comes out
NOT_IMPORTED = {"demo", "made", "benchmark", "base"}  # in the source of a record
RECORDED = ("dataset", "protocol", "undirected", "featureless", "verified", "standin", FEATURE_NAMES)


@dataclass(frozen=True)
class GraphContent:
    """What a graph's key is made of. A stand-in never shares a key with the graph it stands for."""

    content: str
    standin: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"content": self.content, **({"standin": True} if self.standin else {})}


def graph_step(graph: Graph) -> Step:
    """The step that provides a graph which is in memory.

    Its summary has the figures that later stages ask for without loading it, and where it comes from.
    """
    from cgnn_cli.store.elements import checksum

    summary = {
        "nodes": graph.node_count,
        "edges": int(graph.adjacency.nnz),
        "features": 0 if graph.features is None else int(graph.features.shape[1]),
        "feature_source": graph.feature_source,
        "classes": graph.class_count,
        "splits": graph.split_count,
        **{name: graph.summary[name] for name in RECORDED if name in graph.summary},
    }
    content = GraphContent(checksum(graph.to_elements()), "standin" in graph.summary)
    described = dataclasses.replace(graph, summary=summary)
    return _step(content, lambda: described, graph.feature_source, summary.get(FEATURE_NAMES))


def _of_record(record: dict[str, Any], make: Callable[[], Graph]) -> Step:
    """The step of the graph that a record stands for."""
    summary = record.get("summary", {})
    return _step(_content(record), make, feature_source(summary), summary.get(FEATURE_NAMES))


def _step(
    content: GraphContent, make: Callable[[], Graph], features: str = "own", titles: Iterable[str] | None = None
) -> Step:
    """The step of a graph; it is made at most once, also where its figures are asked for before it is published."""
    key = artifact_key("graph", STAGES["graph"].algorithm, content.to_dict(), {})
    return Step(STAGES["graph"], content, {}, key, make=cache(make), features=features, titles=tuple(titles or ()))


def remember(store: Store, name: str, step: Step, source: dict[str, Any], summary: dict[str, Any]) -> None:
    """Write the record of a dataset name."""
    if step.features != "own":
        summary = {**summary, "feature_source": step.features}
    store.set_dataset(name, {"content": step.config.content, "key": step.key, "source": source, "summary": summary})


@dataclass
class Datasets:
    """The datasets that a store and the sources of benchmark graphs provide.

    `obtain` gives the graph of a step from the store, where it is put if it is not there; without it nothing is
    written and nothing is downloaded, as in a dry run.
    """

    store: Store
    source: SourceConfig = field(default_factory=SourceConfig)
    listener: Listener | None = None
    obtain: Callable[[Step], Graph] | None = None

    def __post_init__(self) -> None:
        if self.obtain is None:
            self.source = dataclasses.replace(self.source, offline=True)

    def names(self) -> list[str]:
        """All names that `--dataset` takes here: cgnn's own, then imported ones."""
        own = [*GENERATED_SOURCE, *BENCHMARKS]
        return [*own, *(name for name in self.store.dataset_names() if name not in own and "+" not in name)]

    def step(self, name: str, config: GraphConfig | None = None) -> Step:
        """The step that provides the graph of a name, in the form that is asked for."""
        config = settled(name, config or GraphConfig())
        forms = _form(config)
        if forms and (step := self._form_without_base(name, config)):
            return step
        base_name, base = self._base(name)
        if not forms:
            return base

        def make() -> Graph:
            from cgnn_cli.datasets.forms import variant

            graph = self.obtain(base) if self.obtain else _made(base)
            noted = self.store.dataset(base_name).get("summary", graph.summary)
            return variant(dataclasses.replace(graph, summary=noted), config)

        record_name, source = "+".join([base_name, *forms]), {"base": base.key, **config.to_dict()}
        return self._recorded(record_name, source, make) or self._make(record_name, source, make)

    def record(self, name: str, config: GraphConfig, step: Step) -> dict[str, Any]:
        """What was noted when the graph of a step was read."""
        forms = _form(settled(name, config))
        for base in (name, f"{name}+standin"):
            record = self.store.dataset("+".join([base, *forms]))
            if record.get("key") == step.key:
                return dict(record["summary"])
        return {}

    def _form_without_base(self, name: str, config: GraphConfig) -> Step | None:
        """A form that came here in a pack, without the graph that it was made from."""
        for base in (name, f"{name}+standin") if self.source.accept_standin else (name,):
            record_name = "+".join([base, *_form(config)])
            record = self.store.dataset(record_name)
            if record and not self.store.dataset(base) and record["source"] == {**record["source"], **config.to_dict()}:
                return _of_record(record, partial(_gone, self.store, record_name))
        return None

    def _base(self, name: str) -> tuple[str, Step]:
        is_name = NAME_PATTERN.fullmatch(name) or VERSION_PATTERN.fullmatch(name)
        if is_name and is_imported(self.store, name):
            return name, _of_record(self.store.dataset(name), lambda: _gone(self.store, name))
        if (source := GENERATED_SOURCE.get(name)) is not None:

            def make() -> Graph:
                self._tell(name)
                return generate(name)

            return name, self._recorded(name, source, make) or self._make(name, source, make)
        if name in BENCHMARKS:
            return self._benchmark(name)
        raise self.unknown(name)

    def _benchmark(self, name: str) -> tuple[str, Step]:
        """A benchmark graph: the genuine one, or a stand-in where that is accepted."""
        source: dict[str, Any] = {"benchmark": name, "reader": READER_VERSION}
        content = BENCHMARKS[name].content
        if content is None:
            source["files"] = self._identities(name, name)

        def read() -> Graph:
            self._tell(name)
            from cgnn_cli.datasets.upstream.reading import read_benchmark

            return read_benchmark(name, self.source, self.listener, lock_timeout=self.store.lock_timeout)

        step = self._recorded(name, source, read)
        if step and content in (None, step.config.content):
            return name, step
        if content is not None and not self.source.accept_standin:  # the key is known before anything is read
            return name, _step(GraphContent(content), lambda: _made(self._make(name, source, read)))
        standin = f"{name}+standin"
        if self.source.accept_standin:
            source["files"] = self._identities(name, standin)
            if step := self._recorded(standin, source, read):
                return standin, step
        graph = read()
        source["files"] = self._identities(name, "")
        if "standin" in graph.summary:
            return standin, self._make(standin, source, lambda: graph)
        if content is not None:
            del source["files"]
        return name, self._make(name, source, lambda: graph)

    def _tell(self, name: str) -> None:
        """Say that a graph is read, before anything of that is done."""
        if self.listener is not None:
            self.listener.begins(f"reading {name}")

    def _identities(self, name: str, record_name: str) -> dict[str, list[int]]:
        """What tells whether files are still those of a record: of those on disk, and of the record's for the rest."""
        from cgnn_cli.datasets.upstream.locating import find_files
        from cgnn_cli.store.disk import identity

        known = self.store.dataset(record_name).get("source", {}).get("files", {}) if record_name else {}
        found = find_files(BENCHMARKS[name], self.source)
        return {**known, **{file: list(identity(path) or ()) for file, path in found.items()}}

    def _recorded(self, name: str, source: dict[str, Any], make: Callable[[], Graph]) -> Step | None:
        """The step of a record that was made from this source."""
        record = self.store.dataset(name)
        if record.get("source") != source:
            return None
        content = _content(record)
        return _of_record(record, lambda: _again(name, content, make))

    def _make(self, name: str, source: dict[str, Any], make: Callable[[], Graph]) -> Step:
        """Make a graph now, and record it unless nothing is to be written."""
        graph = make()
        step = graph_step(graph)
        if self.obtain is not None:
            remember(self.store, name, step, source, graph.summary)
        return step

    def unknown(self, name: str) -> UsageError:
        """The error for a name that is none, with the names that there are."""
        from difflib import get_close_matches

        known = self.names()
        near = get_close_matches(name, known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        own = f"; `cgnn data import {name} --edges FILE` adds your own" if NAME_PATTERN.fullmatch(name) else ""
        return UsageError(f"unknown dataset {name!r}{meant}", f"known here: {', '.join(known)}{own}")


def settled(name: str, config: GraphConfig) -> GraphConfig:
    """A protocol that is the dataset's own is its default; one that it does not have is refused."""
    protocols = BENCHMARKS[name].protocols if name in BENCHMARKS else ("", *DRAWN)
    if config.protocol == protocols[0]:
        return dataclasses.replace(config, protocol="default")
    if config.protocol not in ("default", *protocols):
        known = ", ".join(filter(None, protocols))
        raise UsageError(f"{name} has no {config.protocol} splits", f"use --protocol {known}, or leave it out")
    return config


def form_name(name: str, config: GraphConfig) -> str:
    """A dataset in some form, as its record is called: `citeseer+undirected`."""
    return "+".join([name, *_form(settled(name, config))])


def _content(record: dict[str, Any]) -> GraphContent:
    return GraphContent(record["content"], "standin" in record.get("summary", {}))


def _form(config: GraphConfig) -> list[str]:
    """The parts of a record's name that say which form of a dataset it is."""
    drawn = [config.protocol] * (config.protocol != "default")
    return ["undirected"] * config.undirected + drawn + ["featureless"] * config.featureless


def _again(name: str, content: GraphContent, make: Callable[[], Graph]) -> Graph:
    """Make the graph of a record again, whose artifact has gone."""
    step = graph_step(make())
    if step.config != content:
        hint = "it was made from other files or with other library versions; use another --store"
        raise UpstreamError(f"the graph of {name} does not come out as it did when its record was written", hint)
    return _made(step)


def _made(step: Step) -> Graph:
    assert step.make is not None
    return step.make()  # type: ignore[return-value]


def _gone(store: Store, name: str) -> Graph:
    own = own_name(name)
    hint = f"import it again with `cgnn data import {own} ...`" if own else "take it from where it came again"
    moved = store.quarantined("graph", store.dataset(name).get("key", name))
    where = f"; what was there is now {moved[-1]}" if moved else ""
    raise UpstreamError(f"the graph of {name} is no longer in the store{where}", hint)


def check_import_name(name: str) -> None:
    """Refuse names that are taken or that would not be safe as file names."""
    if name in GENERATED_SOURCE or name in BENCHMARKS:
        raise UsageError(f"{name} is a dataset of cgnn's own", "choose another name")
    if not NAME_PATTERN.fullmatch(name):
        hint = "use letters, digits, dots, dashes and underscores, at most 100"
        raise UsageError(f"{name!r} cannot be a dataset name", hint)


def is_imported(store: Store, name: str) -> bool:
    """Whether a name stands for a graph of the user's, also where a later cgnn has a dataset of that name."""
    source = store.dataset(name).get("source")
    return source is not None and not source.keys() & NOT_IMPORTED


def may_stand(name: str, record: dict[str, Any]) -> bool:
    """Whether a record that comes from elsewhere may have its name: a graph of a user's never that of one of cgnn's."""
    return own_name(name) is not None or bool(record["source"].keys() & NOT_IMPORTED)


def own_name(name: str) -> str | None:
    """The imported dataset of a name, also of its version NAME@1 or form NAME+undirected; None for cgnn's own."""
    base = re.split("[@+]", name)[0]
    return None if base in GENERATED_SOURCE or base in BENCHMARKS else base


def name_of(store: Store, graph_key: str, asked: str | None = None) -> str | None:
    """The dataset name that stands for a graph, where the store knows one: `asked`, if it does."""
    names = store.names_of(graph_key)
    return asked if asked in names else next(iter(names), asked)
