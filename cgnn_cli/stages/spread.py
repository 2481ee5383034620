"""Tasks that all ranks of torchrun hold: each takes its part of every batch, and of the chunks of an output.

Rank 0 decides and remembers as a single process does. The others make the same task of the same artifacts, take its
weights and the state of its optimiser, and from then on move them by the same averaged gradients.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import train_config
from cgnn_cli.models.parts.adam import Adam
from cgnn_cli.models.parts.label_walk import Fold, LabelWalk
from cgnn_cli.ranks import leading
from cgnn_cli.ranks.team import Team, device_of_rank
from cgnn_cli.stages.features import batches
from cgnn_cli.stages.operators import merged
from cgnn_cli.stages.task import Task, prepare, set_up_torch
from cgnn_cli.watch import Watch

Held = dict[int, Any]
Arrays = Sequence[np.ndarray]
Result = TypeVar("Result")
SHARE_OUTPUT = f"{__name__}:share_output"


@dataclass(frozen=True, eq=False)
class SharedTask:
    """A task of rank 0 that the others hold as well, under a number."""

    group: leading.Group
    number: int
    task: Task

    def together(self, function: str, own: Callable[[], Result], **values: Any) -> Result:
        """What rank 0 makes, while the others carry out a function with the task."""
        team = self.task.team
        assert team is not None

        def guarded() -> Result:
            with team.at_work():
                return own()

        return self.group.call(function, guarded, {"number": self.number, **values})[0]


def share_out(
    task: Task, split: int, compute: ComputeConfig, watch: Watch, walk: LabelWalk | None, optimiser: Adam | None = None
) -> SharedTask | None:
    """The task with all ranks, where there are several and it is in batches; a training has an optimiser."""
    group = leading.GROUP
    if group is None or not batches(task.config) or (lent := watch.lend()) is None:
        return None
    if ":" in compute.device:
        raise UsageError(f"--device {compute.device} is one GPU for {group.size} ranks", "use --device cuda")
    device_of_rank(task.device.type)
    number = group.number()
    names, arrays = _sent(task, walk, optimiser)
    values = {
        "number": number,
        "lent": lent,
        "config": dataclasses.asdict(task.config),
        "split": split,
        "compute": dataclasses.asdict(compute),
        "device": task.device.type,
        "names": names,
    }
    group.call(f"{__name__}:hold_task", lambda: None, values, arrays)
    joined, _ = group.call(f"{__name__}:join_team", lambda: _joined(task, optimiser), {"number": number})
    shared = SharedTask(group, number, joined)
    weakref.finalize(shared, group.forget, number)
    return shared


def _joined(task: Task, optimiser: Adam | None) -> Task:
    """The task with the team of all ranks, as each of them makes it at the same time."""
    team = Team.gathered(task.device)
    with team.at_work():
        averaging = None if optimiser is None else team.averaged(task.network, leaves_out=task.leaves_out)
    return dataclasses.replace(task, team=team, averaging=averaging)


def _sent(task: Task, walk: LabelWalk | None, optimiser: Adam | None) -> tuple[list[str], list[np.ndarray]]:
    """What the others cannot read from artifacts, by name."""
    sent = {f"weight {name}": tensor.detach().cpu().numpy() for name, tensor in task.network.state_dict().items()}
    for number, parts in ({} if optimiser is None else optimiser.state()).items():
        sent |= {f"optimiser {number} {name}": array for name, array in parts.items()}
    if walk is not None:
        sent["walk"] = walk.columns
        for place, fold in enumerate(walk.folds):
            sent |= {f"nodes {place}": fold.nodes, f"columns {place}": fold.columns}
    return list(sent), [np.ascontiguousarray(array).reshape(array.shape) for array in sent.values()]


def hold_task(held: Held, values: dict[str, Any], arrays: Arrays) -> Arrays:
    """In another rank: make the task of the artifacts that it holds, and of what it is sent."""
    sent = dict(zip(values["names"], arrays, strict=True))
    compute = ComputeConfig(**{**values["compute"], "device": device_of_rank(values["device"])})
    config, walk = train_config(**values["config"]), None
    if "walk" in sent:
        count = sum(name.startswith("nodes ") for name in sent)
        walk = LabelWalk(sent["walk"], [Fold(sent[f"nodes {k}"], sent[f"columns {k}"]) for k in range(count)])
    graph, *parts = (held[number] for number in values["lent"])
    task = prepare(graph, merged(parts), config, values["split"], set_up_torch(compute), walk)
    weights = {name: torch.from_numpy(sent[f"weight {name}"]) for name in task.network.state_dict()}
    task.network.load_state_dict(weights)
    optimiser = None
    if any(name.startswith("optimiser ") for name in sent):
        optimiser = Adam(task.network.parameters(), config.lr, config.weight_decay, task.network.undecayed)
        optimiser.load_state(
            {
                number: {name: sent[f"optimiser {number} {name}"] for name in parts}
                for number, parts in optimiser.state().items()
            }
        )
    held[values["number"]] = task, optimiser
    return ()


def join_team(held: Held, values: dict[str, Any], arrays: Arrays) -> Arrays:
    """In another rank: be one of the team."""
    task, optimiser = held[values["number"]]
    held[values["number"]] = _joined(task, optimiser), optimiser
    return ()


def share_output(held: Held, values: dict[str, Any], arrays: Arrays) -> Arrays:
    """In another rank: its part of the class scores of all nodes."""
    task, _ = held[values["number"]]
    task.network.eval()
    with task.team.at_work():
        task.output()
    return ()
