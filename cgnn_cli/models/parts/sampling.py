"""Networks on a part of the graph: sampled neighbours of a batch for training, all neighbours of a chunk otherwise.

A part is the nodes that a batch reaches within as many hops as the network has layers. Of each row of an operator at
most `fanout` entries are drawn, without replacement; a row that has d > fanout is scaled by d / fanout, so that the
expectation of its product is that of the whole row, edge weights included (Hamilton et al., NeurIPS 2017, sample
unweighted neighbours). With fanout >= d nothing is drawn, and the batch's class scores are those of the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from cgnn_cli.models.parts.branch import WithBranch
from cgnn_cli.models.parts.classifier import Classifier, Network, Output
from cgnn_cli.models.parts.feature_rows import FeatureRows
from cgnn_cli.models.parts.propagate import Input, Propagator
from cgnn_cli.ranks.team import Team

CHUNK_ROWS = 1 << 14

Source = Input | FeatureRows
PutTogether = Callable[[Sequence[slice], Callable[[slice], Sequence[Tensor]], int], list[Tensor]]


@dataclass(frozen=True)
class Part:
    """Some nodes of the graph, the batch first, and the rows of each operator among them."""

    nodes: np.ndarray
    operators: list[csr_array]


def operators_in(network: Classifier) -> list[Propagator]:
    """The operators that the layers hold, each once; layers hold them as they are or in a dictionary."""
    held = (value for module in network.modules() for value in vars(module).values())
    items = (item for value in held for item in (value.values() if isinstance(value, dict) else (value,)))
    return list({id(item): item for item in items if isinstance(item, Propagator)}.values())


def sampled_part(
    operators: list[csr_array], batch: np.ndarray, hops: int, fanout: int, rng: np.random.Generator
) -> Part:
    """The batch, what is drawn of its neighbours, of theirs, and so on; the last that are reached have no rows."""
    nodes = frontier = batch
    drawn: list[list[csr_array]] = [[] for _ in operators]
    for _ in range(hops):
        for operator, rows in zip(operators, drawn, strict=True):
            rows.append(drawn_rows(operator, frontier, fanout, rng))
        reached = np.unique(np.concatenate([rows[-1].indices for rows in drawn]))
        frontier = np.setdiff1d(reached, nodes, assume_unique=True)
        nodes = np.concatenate([nodes, frontier])
    order = np.argsort(nodes)
    columns = (np.concatenate([part.indices for part in rows]) for rows in drawn)
    places = (order[np.searchsorted(nodes, found, sorter=order)] for found in columns)
    return Part(nodes, [_square(rows, place, len(nodes)) for rows, place in zip(drawn, places, strict=True)])


def drawn_rows(matrix: csr_array, rows: np.ndarray, fanout: int, rng: np.random.Generator) -> csr_array:
    """Some rows of a matrix with at most `fanout` entries each, scaled where entries are missing."""
    start = matrix.indptr[rows].astype(np.int64)
    count = matrix.indptr[rows + 1].astype(np.int64) - start
    taken = np.minimum(count, fanout)
    offsets = np.concatenate([[0], np.cumsum(taken)])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], taken)
    long = np.flatnonzero(count > fanout)
    place[(offsets[long, None] + np.arange(fanout)).ravel()] = _without_replacement(count[long], fanout, rng).ravel()
    entry = np.repeat(start, taken) + place
    scale = np.repeat(count / np.maximum(taken, 1), taken).astype(matrix.data.dtype)
    return csr_array((matrix.data[entry] * scale, matrix.indices[entry], offsets), shape=(len(rows), matrix.shape[1]))


def _without_replacement(count: np.ndarray, fanout: int, rng: np.random.Generator) -> np.ndarray:
    """`fanout` different numbers below each count, all sets equally likely (Floyd's method), never the whole row."""
    chosen = np.full((len(count), fanout), -1, dtype=np.int64)
    for column in range(fanout if len(count) else 0):
        last = count - fanout + column
        number = rng.integers(0, last + 1)
        repeated = (chosen[:, :column] == number[:, None]).any(axis=1)
        chosen[:, column] = np.where(repeated, last, number)
    return np.sort(chosen, axis=1)


def _square(rows: list[csr_array], columns: np.ndarray, nodes: int) -> csr_array:
    """The first rows of a part as a square matrix over its nodes; the other rows are empty."""
    lengths = np.zeros(nodes + 1, dtype=np.int64)
    counts = np.concatenate([np.diff(part.indptr) for part in rows])
    lengths[1 : len(counts) + 1] = counts
    data = np.concatenate([part.data for part in rows])
    return csr_array((data, columns, np.cumsum(lengths)), shape=(nodes, nodes))


@contextmanager
def on_part(network: Classifier, part: Part, device: torch.device) -> Iterator[None]:
    """Within, the network works on the nodes of a part, given their features."""
    held = operators_in(network)
    for operator, matrix in zip(held, part.operators, strict=True):
        operator.part = Propagator(matrix, device)
    if isinstance(network, WithBranch):
        known, network.known = network.known, dense_rows(network.known, part.nodes, device)
    try:
        yield
    finally:
        for operator in held:
            operator.part = None
        if isinstance(network, WithBranch):
            network.known = known


def rows_of(x: Source, nodes: np.ndarray, device: torch.device) -> Input:
    """The features of some nodes, on a device."""
    if isinstance(x, Propagator):
        return Propagator(csr_array(x.matrix[nodes]), device)
    if isinstance(x, FeatureRows):
        return x.of(nodes).to(device)
    return dense_rows(x, nodes, device)


def dense_rows(x: Tensor, nodes: np.ndarray, device: torch.device) -> Tensor:
    return x[torch.from_numpy(nodes).to(x.device)].to(device)


def takes_chunks(network: Classifier, device: torch.device, size: int = CHUNK_ROWS) -> bool:
    """Whether an output is made in chunks: where the device is another, or the graph is large."""
    return device.type != "cpu" or any(operator.shape[0] > size for operator in operators_in(network))


@torch.no_grad()
def output_by_chunks(
    network: Classifier, x: Source, device: torch.device, size: int = CHUNK_ROWS, team: Team | None = None
) -> Output:
    """The output of all nodes, layer by layer and chunk by chunk of rows; only panels of a chunk are on the device.

    A team makes the chunks in turns.
    """
    if not (takes_chunks(network, device, size) or isinstance(x, FeatureRows)):
        whole: Output = network(x)
        return whole
    put_together = one_by_one if team is None else team.put_together
    if isinstance(network, WithBranch):
        whole_graph = output_by_chunks(network.network, x, device, size, team) if network.config.graph_share else None

        def finished(chunk: slice) -> Output:
            own = None if whole_graph is None else Output(*(tensor[chunk].to(device) for tensor in whole_graph))
            return network.joined(network.known[chunk].to(device), own)

        rows = len(network.known)
    else:
        assert isinstance(network, Network)
        state: Source = x
        outputs: list[Tensor] = []
        for number in range(len(network.layers)):
            state = _layer_by_chunks(network, number, state, device, size, put_together)
            outputs.append(state)

        def finished(chunk: slice) -> Output:
            return network.finish([output[chunk].to(device) for output in outputs])

        rows = len(outputs[0])
    return Output(*put_together(_chunks(rows, size), finished, len(Output._fields)))


def one_by_one(chunks: Sequence[slice], made: Callable[[slice], Sequence[Tensor]], count: int) -> list[Tensor]:
    """The rows of all chunks of so many tensors, put together on the CPU."""
    parts = [[tensor.cpu() for tensor in made(chunk)] for chunk in chunks]
    return [torch.cat([part[number] for part in parts]) for number in range(count)]


def _layer_by_chunks(
    network: Network,
    number: int,
    state: Source,
    device: torch.device,
    size: int,
    put_together: PutTogether,
) -> Tensor:
    operators = [operator.matrix for operator in operators_in(network)]

    def made(chunk: slice) -> tuple[Tensor]:
        part = whole_part(operators, chunk)
        with on_part(network, part, device):
            rows = network.graph_layer(rows_of(state, part.nodes, device), number)
        return (rows[: chunk.stop - chunk.start],)

    (rows,) = put_together(_chunks(operators[0].shape[0], size), made, 1)
    return rows


def whole_part(operators: list[csr_array], chunk: slice) -> Part:
    """The whole rows of a chunk, and the nodes they reach."""
    rows = [csr_array(operator[chunk]) for operator in operators]
    place = np.full(operators[0].shape[0], -1, dtype=np.int64)
    for part in rows:
        place[part.indices] = 0
    place[chunk] = -1
    nodes = np.concatenate([np.arange(chunk.start, chunk.stop), np.flatnonzero(place == 0)])
    place[nodes] = np.arange(len(nodes))
    return Part(nodes, [_square([part], place[part.indices], len(nodes)) for part in rows])


def _chunks(rows: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
