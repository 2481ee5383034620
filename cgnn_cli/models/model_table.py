"""The table of models. Each has a folder of its own, which nothing else knows; models from outside are registered.

Nothing here imports torch or scipy until a network is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import TrainConfig, check_limits, option_name
from cgnn_cli.errors import UsageError
from cgnn_cli.models.absorption import AbsorptionConfig
from cgnn_cli.models.appnp import AppnpConfig
from cgnn_cli.models.cgnn import CgnnConfig
from cgnn_cli.models.dgcn import DgcnConfig
from cgnn_cli.models.digcl import DigclConfig
from cgnn_cli.models.digcn import DigcnConfig
from cgnn_cli.models.digcn_ib import DigcnIbConfig
from cgnn_cli.models.dirgnn import DirgnnConfig
from cgnn_cli.models.duplex import DuplexConfig
from cgnn_cli.models.gat import GatConfig
from cgnn_cli.models.gcn import GcnConfig
from cgnn_cli.models.gcnii import GcniiConfig
from cgnn_cli.models.gprgnn import GprgnnConfig
from cgnn_cli.models.linear import LinearConfig
from cgnn_cli.models.magnet import MagnetConfig
from cgnn_cli.models.mixhop import MixhopConfig
from cgnn_cli.models.mlp import MlpConfig
from cgnn_cli.models.sage import SageConfig

if TYPE_CHECKING:
    import torch

    from cgnn_cli.graph import Fit, Graph
    from cgnn_cli.models.parts.classifier import Classifier, Shape
    from cgnn_cli.watch import Watch

MODELS: dict[str, type[TrainConfig]] = {
    config.model: config
    for config in (
        *(CgnnConfig, DirgnnConfig, GcnConfig, GatConfig, SageConfig, AppnpConfig, MixhopConfig, GprgnnConfig),
        *(GcniiConfig, DgcnConfig, DigcnConfig, DigcnIbConfig, MagnetConfig, DigclConfig, DuplexConfig),
        *(MlpConfig, LinearConfig, AbsorptionConfig),
    )
}
LISTENERS: list[Callable[[type[TrainConfig]], None]] = []  # who else keeps what a model declares


def register(config: type[TrainConfig]) -> None:
    """Add a model from outside the package; settings, and command lines that are built later, know its options."""
    if config.model in MODELS:
        raise UsageError(f"there is a model {config.model} already", "choose another name")
    for listener in LISTENERS:
        listener(config)
    MODELS[config.model] = config


def learners() -> tuple[str, ...]:
    """The models whose networks are trained."""
    return tuple(name for name, model in MODELS.items() if model.learns)


def config_class(model: str) -> type[TrainConfig]:
    """The configuration that a model takes."""
    if model not in MODELS:
        raise UsageError(f"unknown model {model}", f"known: {', '.join(MODELS)}")
    return MODELS[model]


def train_config(model: str = "cgnn", **options: Any) -> TrainConfig:
    """The configuration of a model; options that only other models have are left out, as the command line does."""
    config = config_class(model)
    own = {field.name for field in dataclasses.fields(config)}
    for name in options.keys() - own:
        others = {other: entry for other, entry in MODELS.items() if name in entry.own_options()}
        if not others:
            raise UsageError(f"a training has no option {name}", "`cgnn config show` lists them")
        field = next(iter(others.values())).__dataclass_fields__[name]
        check_limits(field, options[name])
        if field.metadata.get("refused") and options[name]:
            raise UsageError(f"--model {model} has no {option_name(name)}", f"models that have it: {', '.join(others)}")
    return config(model=model, **{name: value for name, value in options.items() if name in own})


def build_network(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
    """The seeded network of a configuration, by the module `network` beside it."""
    network: Classifier = import_module(f"{config.__module__}.network").build(operators, shape, config, device)
    return network


def solve_model(graph: Graph, config: TrainConfig, split: int, watch: Watch) -> Fit:
    """What a model that learns nothing finds on a split, by the module `solution` beside its configuration."""
    found: Fit = import_module(f"{config.__module__}.solution").solve(graph, config, split, watch)
    return found


def solved_scores(weights: dict[str, Any], config: TrainConfig) -> Any:
    """The class scores of all nodes, an array, from the weights of what `solve_model` found."""
    return import_module(f"{config.__module__}.solution").class_scores(weights)
