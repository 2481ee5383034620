"""Artifacts that a command starts from: files that the user names, or those of the store."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgnn_cli.configs import CONFIGS, feature_source
from cgnn_cli.errors import UpstreamError
from cgnn_cli.models.model_table import config_class
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
