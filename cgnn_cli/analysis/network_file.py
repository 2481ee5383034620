"""A trained network for programs without cgnn: its weights with a plan in plain words, or a program of torch.export.

Both come with the features and operators of its own graph as inputs. docs/export.md specifies them, and has a loader.
"""

import dataclasses
import io
import json
from typing import Any, Literal

import torch
from scipy.sparse import coo_array
from torch import Tensor

from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.errors import UsageError
from cgnn_cli.graph import Checkpoint, Graph, Operators
from cgnn_cli.models.parts.layout import PlainNetwork, Sparse, operators_of
from cgnn_cli.models.parts.propagate import Input, Propagator
from cgnn_cli.stages.task import set_up_torch, with_similar
from cgnn_cli.stages.train import trained_task

FORMAT, VERSION = "cgnn-network", 1
NetworkKind = Literal["state-dict", "torch-export"]


def network_file(
    graph: Graph,
    operators: Operators,
    checkpoint: Checkpoint,
    config: TrainConfig,
    split: int,
    kind: NetworkKind,
    key: str,
) -> bytes:
    """The content of a file with the network of a split; key: of the checkpoint, which the file names."""
    if not config.learns:
        raise UsageError(f"{config.model} trains no network", "`cgnn predict` writes its probabilities")
    task = trained_task(graph, operators, checkpoint, config, split, set_up_torch(ComputeConfig(device="cpu")))
    layout = task.network.layout()
    if layout is None:
        raise UsageError(
            f"this {config.model} cannot be written out: it does more than to add up what neighbours say, each with a "
            "fixed weight",
            "networks with attention, complex numbers or a branch cannot; `--to npz` writes the weights alone",
        )
    fit, matrices = checkpoint.fit(split), with_similar(operators.matrices, config)
    edges = {name: _edges(matrices[name]) for name in sorted(operators_of(layout))}
    about = {
        "model": config.model,
        "classes": graph.class_labels(),
        "split": split,
        "train": key,
        "temperature": fit.divisor,
        "threshold": None if fit.threshold is None else float(fit.threshold[0]),
        "threshold_class": None if fit.threshold is None else config.metric_class,
        "layout": dataclasses.asdict(layout),
    }
    told = json.dumps(about, ensure_ascii=False)
    weights = {name: tensor.detach().clone().contiguous() for name, tensor in task.network.state_dict().items()}
    content = io.BytesIO()
    if kind == "state-dict":
        inputs = {"x": _features(task.whole_input), "edges": edges}
        file = {"format": FORMAT, "version": VERSION, "config": told, "state_dict": weights, "inputs": inputs}
        torch.save(file, content)
    else:
        network = PlainNetwork(layout, {name: value for name, value in weights.items() if value.is_floating_point()})
        torch.export.save(
            _program(network, _features(task.whole_input).to_dense(), edges), content, extra_files={"about": told}
        )
    return content.getvalue()


def _edges(matrix: Any) -> Sparse:
    """An operator as places and values."""
    found = coo_array(matrix)
    rows, columns = (torch.from_numpy(places.astype("int64")) for places in found.coords)
    return torch.stack([rows, columns]), torch.from_numpy(found.data.astype("float32"))


def _features(x: Input) -> Tensor:
    """The input of a network; a sparse one as torch has it."""
    if not isinstance(x, Propagator):
        return x
    places, values = _edges(x.matrix)
    return torch.sparse_coo_tensor(places, values, x.shape, is_coalesced=True, check_invariants=True)


def _program(network: PlainNetwork, x: Tensor, edges: dict[str, Sparse]) -> Any:
    """What torch.export makes of a network, for any number of nodes and edges."""
    nodes = torch.export.Dim("nodes", min=2)
    counts = {name: torch.export.Dim(f"{name}_edges", min=2) for name in edges}
    shapes = {"x": {0: nodes}, "edges": {name: ({1: count}, {0: count}) for name, count in counts.items()}}
    return torch.export.export(network.eval(), (x, edges), dynamic_shapes=shapes)
