"""What a node's neighbours add to its class probabilities: each left out in turn, and the model asked again.

To leave neighbour j of node i out is to remove the entries (i, j) of the matrices that the model propagates over: what
i takes from j itself, in every layer. All else is held: the weights of the model, the input of all nodes, the other
entries of row i with the values they had, and what j says to others, who may pass it on to i. Only attention divides
anew, since its softmax is over the entries that are left. The difference is exact, but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.sparse import block_diag, csr_array
from torch import Tensor

from cgnn_cli.configs import ComputeConfig, TrainConfig
from cgnn_cli.graph import Checkpoint, Graph, Operators
from cgnn_cli.models.model_table import build_network
from cgnn_cli.models.parts.branch import WithBranch
from cgnn_cli.models.parts.classifier import Classifier, Shape
from cgnn_cli.models.parts.sampling import Part, dense_rows, rows_of, sampled_part
from cgnn_cli.numerics.calibration import probabilities_of
from cgnn_cli.stages.task import Task, set_up_torch, with_similar
from cgnn_cli.stages.train import trained_task

ROWS_AT_ONCE = 1 << 14
NOT_MESSAGES = ("twins", "knn")  # input of a branch, and what has been mixed into the others
ROOTS = ("shared-in", "shared-out")  # of products, whose rows are no node's: what comes through them is held


@dataclass(frozen=True)
class Influence:
    """Class probabilities of a node, and what they are without each of some neighbours, a row each.

    heard: all nodes that the node takes messages from, the heaviest first; the rows are of the first of them.
    """

    probabilities: np.ndarray
    heard: np.ndarray
    without: np.ndarray


@dataclass(frozen=True)
class TrainedModels:
    """The models of some splits, ready to be asked what they would say with fewer messages."""

    graph: Graph
    operators: Operators
    checkpoint: Checkpoint
    config: TrainConfig
    splits: Sequence[int]
    compute: ComputeConfig = ComputeConfig()  # noqa: RUF009 - frozen

    @cached_property
    def tasks(self) -> list[Task]:
        """The networks with their input, one a split."""
        device = set_up_torch(self.compute)
        known = self.graph, self.operators, self.checkpoint, self.config
        return [trained_task(*known, split, device) for split in self.splits]

    @cached_property
    def matrices(self) -> dict[str, csr_array]:
        """The matrices that the networks are built over."""
        found = with_similar(self.operators.matrices, self.config)
        return {name: each for name, each in found.items() if name not in NOT_MESSAGES and isinstance(each, csr_array)}

    @property
    def hear(self) -> bool:
        """Whether the models take messages at all."""
        return self.config.learns and bool(self.matrices)

    def heard_by(self, node: int) -> np.ndarray:
        """The other nodes that a node takes messages from, by the sizes of its entries for them, the largest first."""
        weight = np.zeros(self.graph.node_count)
        met = np.zeros(self.graph.node_count, dtype=bool)
        for name in self.matrices.keys() - set(ROOTS):
            row = self.matrices[name][[node]]
            weight[row.indices] += abs(row.data)
            met[row.indices] = True
        met[node] = False
        heard = np.flatnonzero(met)
        return heard[np.argsort(-weight[heard], kind="stable")]

    @torch.no_grad()
    def influence(self, node: int, most: int) -> Influence:
        """The node's probabilities, and without each of its `most` heaviest neighbours: means over the models."""
        heard = self.heard_by(node)
        part, place = self._field(node)
        where = np.full(self.graph.node_count, -1, dtype=np.int64)
        where[part.nodes] = np.arange(len(part.nodes))
        tried: list[int | None] = [None, *where[heard[:most]].tolist()]
        at_once, rows = max(1, ROWS_AT_ONCE // len(part.nodes)), []
        for start in range(0, len(tried), at_once):
            rows.append(self._asked(part, place, tried[start : start + at_once]))
        found = np.concatenate(rows)
        return Influence(found[0], heard, found[1:])

    def _field(self, node: int) -> tuple[Part, int]:
        """The nodes that a node hears within the model's layers, or all, and its place among them."""
        matrices, hops = list(self.matrices.values()), self.config.reach
        if hops is None or not matrices:
            return Part(np.arange(self.graph.node_count), matrices), node
        fanout = max(int(np.diff(matrix.indptr).max(initial=1)) for matrix in matrices)
        return sampled_part(matrices, np.array([node]), hops, fanout, np.random.default_rng(0)), 0

    def _asked(self, part: Part, place: int, without: Sequence[int | None]) -> np.ndarray:
        """The mean probabilities of a node in copies of a part, side by side, each without one neighbour or whole."""
        copies = {}
        for name, matrix in zip(self.matrices, part.operators, strict=True):
            cut = [matrix if name in ROOTS else without_entry(matrix, place, other) for other in without]
            copies[name] = csr_array(block_diag(cut, format="csr")) if len(cut) > 1 else cut[0]
        nodes = np.tile(part.nodes, len(without))
        asked = place + len(part.nodes) * np.arange(len(without))
        whole = np.array_equal(nodes, np.arange(self.graph.node_count))
        total = np.zeros((len(without), self.graph.class_count))
        for split, task in zip(self.splits, self.tasks, strict=True):
            x = task.x if whole and task.x.device == task.device else rows_of(task.x, nodes, task.device)
            with task.reduced_precision():
                output = self._network(task, copies, nodes)(x)
            logits: Tensor = output.logits[torch.from_numpy(asked).to(task.device)]
            total += probabilities_of(logits.float().cpu().numpy(), self.checkpoint.fit(split).divisor)
        return total / len(self.tasks)

    def _network(self, task: Task, matrices: dict[str, csr_array], nodes: np.ndarray) -> Classifier:
        """A trained network over other matrices, with the branch's rows of these nodes."""
        trained, classes = task.network, self.graph.class_count
        made = build_network(matrices, Shape(task.x.shape[1], classes), self.config, task.device)
        if isinstance(trained, WithBranch):
            known = dense_rows(trained.known, nodes, task.device)
            made = WithBranch(made, known, classes, self.config).to(task.device)
        made.load_state_dict(trained.state_dict())
        return made.eval()


def without_entry(matrix: csr_array, row: int, column: int | None) -> csr_array:
    """The matrix without the entry at a row and column; entries that are 0 stay, so that patterns keep agreeing."""
    first, last = matrix.indptr[row : row + 2]
    places = first + np.flatnonzero(matrix.indices[first:last] == (-1 if column is None else column))
    if not len(places):
        return matrix
    offsets = matrix.indptr.copy()
    offsets[row + 1 :] -= len(places)
    parts = np.delete(matrix.data, places), np.delete(matrix.indices, places), offsets
    return csr_array(parts, shape=matrix.shape)
