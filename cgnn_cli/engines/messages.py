"""What goes between a pool and its workers: lines of JSON that describe steps, results and errors."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from cgnn_cli.configs import TrainConfig
from cgnn_cli.errors import CgnnError, ResourceError
from cgnn_cli.pipeline import STAGES, EvaluationOf, FitConfig, Step, TrainingOf

SENT = {"fit": FitConfig, "train": TrainingOf, "eval": EvaluationOf}
ERRORS = {kind.__name__: kind for kind in CgnnError.__subclasses__()}


class WorkerFault(Exception):
    """Something went wrong in a worker that a user cannot act on."""


def described(step: Step) -> dict[str, Any]:
    """A step as JSON: those of a training with their configuration, the stages before it by their keys."""
    values: dict[str, Any] = {"stage": step.stage.name, "key": step.key, "file": str(step.file) if step.file else None}
    if step.stage.name in SENT:
        values["config"] = dataclasses.asdict(step.config)
        values["inputs"] = {role: described(needed) for role, needed in step.inputs.items()}
    return values


def step_of(values: dict[str, Any]) -> Step:
    """The step that `described` described; its key comes out the same, or the two sides disagree about the code."""
    name, file = values["stage"], Path(values["file"]) if values["file"] else None
    if name not in SENT or file:
        return Step(STAGES[name], None, {}, values["key"], file=file)
    config = {**values["config"], "train": TrainConfig(**values["config"]["train"])}
    if "splits" in config:
        config["splits"] = tuple(config["splits"])
    step = Step.of(name, SENT[name](**config), {role: step_of(needed) for role, needed in values["inputs"].items()})
    assert step.key == values["key"], "a worker runs other code than the process that started it"
    return step


def described_error(error: BaseException) -> dict[str, str]:
    """An error as JSON; lack of memory becomes one that says so."""
    if isinstance(error, CgnnError):
        return {"error": type(error).__name__, "message": error.message, "hint": error.hint}
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        hint = "use fewer --jobs, a smaller --hidden or fewer --layers"
        return {"error": ResourceError.__name__, "message": "not enough memory for a training", "hint": hint}
    return {"error": "", "message": f"{type(error).__name__}: {error}", "hint": ""}


def error_of(values: dict[str, str]) -> Exception:
    """The error that `described_error` described."""
    kind = ERRORS.get(values["error"])
    return kind(values["message"], values["hint"]) if kind else WorkerFault(values["message"])
