"""Artifacts that a command starts from: files that the user names, or those of the store."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgnn_cli.configs import CONFIGS, Facts, feature_source
from cgnn_cli.errors import UpstreamError, UsageError
from cgnn_cli.models.model_table import config_class, train_config
from cgnn_cli.pipeline import STAGES, CheckpointConfig, Step, stage_in_role
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.lineage import walk
from cgnn_cli.store.store import Store


def given_step(store: Store, header: Header, named: dict[str, Path]) -> Step:
    """A step whose artifact exists, with all it was made from: in named files, or in the store."""

    def find(stage: str, key: str) -> Header | None:
        if STAGES[stage].no_start:  # the results of a training, and what its plan makes again
            return None
        found = files.read(named[key]).header if key in named else store.find(stage, key)
        if found is None and stage == "graph":
            raise UpstreamError(
                f"{header.stage} {header.key[:12]} was made from the graph {key[:12]}, which is not in the store "
                f"{store.root}",
                "name the store that has it with --store, or the graph's file with another --input",
            )
        return found

    steps: dict[str, Step] = {}
    for made in (*(found for _, found in walk(header, find)), header):
        inputs = {
            role: steps.get(key) or Step(STAGES[role], None, {}, key)
            for role, key in made.inputs.items()
            if not STAGES[stage_in_role(role)].no_start
        }
        given = Step(STAGES[made.stage], _read_config(made), inputs, made.key, file=named.get(made.key))
        steps[made.key] = replace(given, features=_features(store, made)) if made.stage == "graph" else given
    return steps[header.key]


def _features(store: Store, graph: Header) -> str:
    """Where the features of a graph come from. One of 0.1.0 does not say it, but the record of its name may."""
    records = (store.dataset(name).get("summary", {}) for name in store.names_of(graph.key))
    found = (feature_source(summary) for summary in (graph.summary, *records))
    return next((source for source in found if source != "own"), "own")


def _read_config(header: Header) -> Any:
    """The configuration of an artifact, as its stage takes it."""
    if not STAGES[header.stage].settings:
        return None
    if header.stage == "train":
        train = config_class(header.config["model"]).from_dict(header.config)
        return CheckpointConfig(train, tuple(header.config["splits"]))
    return CONFIGS[header.stage].from_dict(header.config)


def newest_run(
    store: Store,
    made_from: str | None = None,
    settings: Mapping[str, Any] | None = None,
    splits: Iterable[int] = (),
    files: dict[str, Path] | None = None,
) -> Step | None:
    """The trained models that were made or asked for last, as a train step that cannot be computed; None without any.

    made_from: the key of a graph or of another artifact that they were made from. settings: by their paths, as
    `train.hidden`; they must be those of the run, and what is left out may be anything. splits: among those trained.
    files: those that the user named, by their keys.
    """
    last, asked = store.latest("train"), dict(settings or {})
    older = (header for header in reversed(store.headers("train")) if last and header.key != last.key)
    for header in (last, *older) if last else ():
        made = {found.stage: found for _, found in walk(header, store.recorded)} | {"train": header}
        keys = {header.key, *(key for found in made.values() for key in found.inputs.values())}
        fits = (made_from is None or made_from in keys) and set(splits) <= set(header.config["splits"])
        if fits and _has_settings(store, made, asked):
            return given_step(store, header, files or {})
    return None


def _has_settings(store: Store, made: Mapping[str, Header], settings: Mapping[str, Any]) -> bool:
    """Whether a run, by the headers of its stages, would be the same with some settings over its own."""
    facts = Facts(_features(store, made["graph"]) if "graph" in made else "")
    if "commute" in made:
        facts = replace(facts, proximity=made["commute"].config["proximity"])
    by_stage: dict[str, dict[str, Any]] = {}
    for path, value in settings.items():
        stage, _, name = path.partition(".")
        by_stage.setdefault(stage, {})[name] = value
    return all(stage in made and _stays(made[stage], values, facts) for stage, values in by_stage.items())


def _stays(header: Header, values: dict[str, Any], facts: Facts) -> bool:
    """Whether some options leave what an artifact was made with as it is."""
    try:
        config = _read_config(header)
        if isinstance(config, CheckpointConfig):
            config = config.train
        options = {item.name: getattr(config, item.name) for item in dataclasses.fields(config)} | values
        other = train_config(**options) if header.stage == "train" else type(config)(**options)
        return bool(other.resolved(facts).to_dict() == config.to_dict())
    except UsageError:  # the run cannot have such a value
        return False


def named_steps(store: Store, paths: Iterable[Path]) -> list[Step]:
    """The artifacts in files that the user named; they must belong together."""
    headers: dict[str, Header] = {}
    named: dict[str, Path] = {}
    for path in paths:
        header = files.read(path).header
        if no_start := STAGES[header.stage].no_start:
            what, hint = no_start
            raise UpstreamError(f"{path} holds {what}, from which no stage goes on", hint)
        headers[header.key], named[header.key] = header, path
    steps = [given_step(store, header, named) for header in headers.values()]
    graphs = {graph.key for step in steps if (graph := step.find("graph"))}
    if len(graphs) > 1:
        raise UpstreamError(
            "the artifacts named by --input belong to different graphs: " + ", ".join(sorted(k[:12] for k in graphs))
        )
    order = list(STAGES)
    steps.sort(key=lambda step: order.index(step.stage.name))
    for step in steps:
        used = steps[-1].find(step.stage.name)
        if used and used.key != step.key:
            raise UpstreamError(
                f"--input names {step.stage.name} {step.key[:12]}, but {steps[-1].stage.name} "
                f"{steps[-1].key[:12]} comes from {used.stage.name} {used.key[:12]}",
                "name files that were made from each other",
            )
    return steps
