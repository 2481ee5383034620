"""What goes between a pool and its workers: lines of JSON that describe steps, results and errors."""

import dataclasses
from pathlib import Path
from typing import Any

from cgnn_cli.errors import CgnnError, ResourceError
from cgnn_cli.models.model_table import train_config
from cgnn_cli.pipeline import STAGES, Step
from cgnn_cli.resources import lacks_memory
from cgnn_cli.store.store import OUT_OF_SPACE

MEMORY_HINT = "use fewer --jobs, a smaller --hidden or fewer --layers"
ERRORS = {kind.__name__: kind for kind in CgnnError.__subclasses__()}


class WorkerFault(Exception):
    """Something went wrong in a worker that a user cannot act on."""


def encode_step(step: Step) -> dict[str, Any]:
    """A step as JSON: those of a training with their configuration, the stages before it by their keys."""
    file = str(step.file.absolute()) if step.file else None  # workers may be in other folders
    values: dict[str, Any] = {"stage": step.stage.name, "key": step.key, "file": file}
    if step.stage.sent:
        values["config"] = dataclasses.asdict(step.config)
        values["inputs"] = {role: encode_step(needed) for role, needed in step.inputs.items()}
    return values


def decode_step(values: dict[str, Any]) -> Step:
    """The step that `encode_step` wrote; its key comes out the same, or the two sides disagree about the code."""
    name, file = values["stage"], Path(values["file"]) if values["file"] else None
    sent = STAGES[name].sent
    if sent is None or file:
        return Step(STAGES[name], None, {}, values["key"], file=file)
    config = {**values["config"], "train": train_config(**values["config"]["train"])}
    if "splits" in config:
        config["splits"] = tuple(config["splits"])
    step = Step.of(name, sent(**config), {role: decode_step(needed) for role, needed in values["inputs"].items()})
    assert step.key == values["key"], "a worker runs other code than the process that started it"
    return step


def encode_error(error: BaseException) -> dict[str, str]:
    """An error as JSON; lack of memory becomes one that says so."""
    if isinstance(error, CgnnError):
        return {"error": type(error).__name__, "message": error.message, "hint": error.hint}
    if lacks_memory(error):
        return {"error": ResourceError.__name__, "message": "not enough memory for a training", "hint": MEMORY_HINT}
    if isinstance(error, OSError) and error.errno in OUT_OF_SPACE:
        return {"error": ResourceError.__name__, "message": f"no room to write: {error}", "hint": "free some space"}
    message = str(error) if isinstance(error, WorkerFault) else f"{type(error).__name__}: {error}"
    return {"error": "", "message": message, "hint": ""}


def decode_error(values: dict[str, str]) -> Exception:
    """The error that `encode_error` wrote."""
    kind = ERRORS.get(values["error"])
    return kind(values["message"], values["hint"]) if kind else WorkerFault(values["message"])
