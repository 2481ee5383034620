"""How much memory and disk a stage needs, from the sizes of its inputs.

A process holds the inputs of a stage, then either what it works with or its result and the copy that is read back
before it is published, whichever is more. The figures here are bytes an entry or a node of all arrays that live at the
moment of the peak, counted in the code; benchmarks/memory.py and tests/test_resources.py compare the sums with
measured peaks.
"""

from __future__ import annotations

from dataclasses import replace
from math import expm1
from typing import TYPE_CHECKING, Any

from cgnn_cli.configs import CommuteConfig, ComputeConfig, TrainConfig
from cgnn_cli.models.option_groups import SamplingOptions
from cgnn_cli.operators.operator_table import OPERATORS
from cgnn_cli.resources import block_entries, local_ranks, memory_limit, private_bytes, thread_count
from cgnn_cli.solver_table import SOLVERS, WalkSize, solving_memory

if TYPE_CHECKING:
    from cgnn_cli.graph import Dilap, Graph

CSR_ENTRY = 12  # a float64 and an int32
WHOLE = 3  # matrices that are there beside the blocks of one that is made: its transpose, what it is made of, itself
SLICE = 1 << 18  # numbers that are worked on at a time: scratch.py
OPERATOR_ENTRY = 40  # in float64 with its row and column, a copy of it, and the float32 that is kept
RANKED = 32  # of a node and class: its probability in float64, with what it is made of
SMALL = 4 << 20  # what does not grow with the graph: HDF5, thread stacks
LEAST = 64 << 20  # of any estimate: the memory of the interpreter itself varies by about as much
COMPUTE = ComputeConfig()

# glibc keeps freed blocks below this size for later ones, but blocks that are aligned, as those of torch are, rarely
# fit where one of their size was freed (mended in glibc 2.38). Panels of a training pile up to 2.2 to 3.8 times of what
# lives; to return them at once makes it 2.4 times as slow.
KEPT_BELOW = 32 << 20
PILED_UP, PILED_UP_EVALUATING = 2.6, 1.5
CHUNK_ROWS = 1 << 14  # of an output, where a training is in batches: models/parts/sampling.py


def _bytes(data: Any) -> int:
    """What the arrays of a stage's data hold, of their elements and those within; those of files are no memory."""
    from cgnn_cli.mapped import is_mapped

    if hasattr(data, "to_elements"):
        data = data.to_elements()
    if isinstance(data, dict):
        return sum(map(_bytes, data.values()))
    parts = (data.data, data.indices, data.indptr) if hasattr(data, "indptr") else (data,)
    return sum(int(part.nbytes) for part in parts if not is_mapped(part))


def _matrix(copies: float, entries: int, compute: ComputeConfig, fixed: int = CSR_ENTRY) -> float:
    """Copies of a matrix that live while it is made; of a large one those of a block of rows, and what is no file."""
    most = block_entries(memory_limit(compute.memory_limit))
    if entries <= most:
        return copies * fixed * entries
    return copies * fixed * most + WHOLE * private_bytes(8 * entries, 4 * entries)


def _arrays(each: float, edges: int) -> float:
    """Arrays over the edges of so many bytes an edge; large ones lie in files, and are made in slices."""
    return each * edges if private_bytes(8 * edges) == 8 * edges else each * SLICE + private_bytes(edges)


def _needed(inputs: dict[str, Any], work: float, result: float = 0) -> int:
    """The inputs with the work, or with the result and its copy that is read back."""
    held = sum(map(_bytes, inputs.values()))
    return max(LEAST, held + int(max(work, 2 * result)) + SMALL)


def rewire_memory(inputs: dict[str, Any], config: Any, compute: ComputeConfig = COMPUTE) -> int:
    """Features in float64 with their squares; a sum of matrices with a copy; both directions of a symmetric walk."""
    graph: Graph = inputs["graph"]
    nodes, entries, work = graph.node_count, int(graph.adjacency.nnz), 0.0
    base = 0.0  # beside the graph
    if config.walk == "symmetric":
        work, base = _matrix(5, entries, compute), _matrix(2, entries, compute)
        entries = 2 * entries
    if config.method == "teleport":
        return _needed(inputs, max(work, base + _matrix(1, entries, compute)) + 40 * nodes)
    if config.method == "none":
        return _needed(inputs, max(work, base + _matrix(2, entries, compute, 13) + 80 * nodes))
    if config.method == "escape":
        return _needed(inputs, max(work, base + _matrix(3, entries + nodes, compute) + 140 * nodes))
    features = 0.0
    if graph.features is None:
        from cgnn_cli.operators.structural import work_bytes

        features = work_bytes(graph.adjacency)
    else:
        features = _matrix(1, int(graph.features.size), compute, 20 if hasattr(graph.features, "nnz") else 8)
    joined = _matrix(2, entries + 3 * nodes, compute) + 200 * nodes
    return _needed(inputs, max(work, base + max(features + 60 * nodes, joined)))


def dilap_memory(inputs: dict[str, Any], config: Any, compute: ComputeConfig = COMPUTE) -> int:
    """The walk and its Laplacian, with their transposes, a difference and a copy, to tell whether it is symmetric.

    The incidence form is a sum of both directions, with twice the entries.
    """
    entries, nodes = int(inputs["rewire"].adjacency.nnz), int(inputs["rewire"].adjacency.shape[0])
    arrays = 8 if config.form == "incidence" else 6
    return _needed(inputs, _matrix(arrays, entries, compute) + 200 * nodes)


def commute_memory(inputs: dict[str, Any], config: CommuteConfig, compute: ComputeConfig = COMPUTE) -> int:
    """The pairs with what the solver needs, then some 18 arrays over the edges for the weights and their figures.

    What c is made of is six more: three over the pairs, and three over the edges. Cosines of common neighbours are made
    before all of these, in no more memory, and kept. A verification solves when the weights are made.
    """
    graph, dilap = inputs["graph"], inputs["dilap"]
    edges, nodes, walk = int(graph.adjacency.nnz), graph.node_count, dilap.transition
    import numpy as np

    from cgnn_cli.numerics.csr import count_columns, diagonal_of

    ways = np.diff(walk.indptr).astype(float)  # out of each state
    size = WalkSize(
        states=len(dilap.perron),
        steps=int(walk.nnz),
        edges=edges,
        two_steps=float(ways @ count_columns(walk)),
        waits=bool((diagonal_of(walk) > 0).all()),
        jobs=thread_count(compute.threads, 0),
        memory=memory_limit(compute.memory_limit) // 2,
    )
    loops = private_bytes(8 * edges, 4 * edges) if graph.edges is not graph.adjacency else 0
    weights = _arrays(146 + (48 if SOLVERS[config.solver].parts else 0), edges) + 60 * nodes
    cosines = 146 * edges if config.proximity == "neighbours" else 0
    verifying = solving_memory(size, 2 * config.verify) if config.verify else 0
    work = _arrays(21, edges) + max(SOLVERS[config.solver].memory(size, config), verifying)
    return _needed(inputs, loops + max(cosines, max(weights, work) + (private_bytes(8 * edges) if cosines else 0)))


def operators_memory(inputs: dict[str, Any], config: Any, compute: ComputeConfig = COMPUTE) -> int:
    """A few copies of each matrix while it is put together."""
    return _needed(inputs, OPERATOR_ENTRY * OPERATORS[config.kind].entries(inputs["graph"], config.train))


def fit_memory(inputs: dict[str, Any], config: Any, compute: ComputeConfig = COMPUTE) -> int:
    """The transposes of the operators and of sparse features, and the panels of all layers for the gradient.

    In batches the panels are those of the nodes that a batch reaches; the validation of a larger graph has the outputs
    of all layers, in chunks and put together. The columns of a label walk are there six times, for the folds and the
    rest, and are found before anything is trained.
    """
    graph, train = inputs["graph"], config.train
    if not train.learns:
        return _needed(inputs, _walk_to_classes(graph))
    nodes, numbers = graph.node_count, numbers_of_a_node(graph, train)
    kept = _operator_entries(inputs, train)
    panels, work = nodes * numbers * _piling_up(nodes, graph, train), float(kept * (12 + 4 * train.numbers_an_entry()))
    if isinstance(train, SamplingOptions) and train.batch_nodes:
        ways = 2 if train.resolved_direction == "both" else 1
        draws = train.batch_nodes * (1 + min(ways * train.fanout, kept / nodes)) ** train.layers
        reached = nodes * -expm1(-draws / nodes)  # many are drawn more than once
        panels = reached * numbers * _piling_up(reached, graph, train) + _chunked_outputs(nodes, train)
        work = 12 * kept + 60 * min(kept, ways * reached * train.fanout)
    columns, walk = 6 * 4 * _walk_columns(graph, train), _walk_to_classes(graph) if train.label_walk else 0
    needed = _needed(inputs, columns + max(walk, work + _feature_work(graph, train, inputs) + 4 * panels))
    return needed * _holders(train)


def train_memory(inputs: dict[str, Any], config: Any, compute: ComputeConfig = COMPUTE) -> int:
    """Where something is decided on the models, they are run as for their scores; else they are put side by side."""
    return eval_memory(inputs, config) if config.train.decides_later else _needed(inputs, 0)


def eval_memory(inputs: dict[str, Any], config: Any, compute: ComputeConfig = COMPUTE) -> int:
    """As a training, without what only a gradient needs: a few panels, and the outputs of layers that are joined.

    Probabilities in float64 are ranked when the panels, which are more, are gone.
    """
    graph, train = inputs["graph"], config.train
    if not train.learns:
        return _needed(inputs, (8 + RANKED) * graph.node_count * graph.class_count + 40 * graph.node_count)
    kept, width = _operator_entries(inputs, train), getattr(train, "width", graph.class_count)
    joined = train.layers if getattr(train, "jumping_knowledge", "none") != "none" else 0
    branch = 5 * train.branch_hidden // 2 if train.has_branch else 0
    panels = graph.node_count * (width * (4 + joined) + branch + 8 * graph.class_count)
    heads = getattr(train, "heads", 1) if train.numbers_an_entry() else 0
    seen = replace(train, input_dropout=0.0)  # nothing is hidden
    work = kept * (12 + 4 * 5 * heads) + _feature_work(graph, seen, inputs, passes=0)
    panels *= min(_piling_up(graph.node_count, graph, train), PILED_UP_EVALUATING)
    chunked = _chunked_outputs(graph.node_count, train)
    return _needed(inputs, work + 4 * (panels + chunked)) * (_holders(train) if chunked else 1)


def set_times_memory(dilap: Dilap, sets: int, jobs: int) -> int:
    """Times to sets of nodes: for each that is solved for at a time, the walk without it in 64 and in 80 bits, and some
    vectors; and what was found of all sets, with the chances that each is met first."""
    entries, states, together = int(dilap.transition.nnz), len(dilap.perron), min(jobs, sets + (sets > 1))
    return together * (52 * entries + 160 * states) + 40 * states * sets


def _walk_to_classes(graph: Graph) -> int:
    """A walk both ways with its parts among nodes without a label, and panels of class chances in float64."""
    return 8 * CSR_ENTRY * int(graph.edges.nnz) + 6 * 8 * graph.node_count * graph.class_count + 60 * graph.node_count


def _walk_columns(graph: Graph, train: TrainConfig) -> int:
    """Numbers of the columns of a label walk."""
    return graph.node_count * graph.class_count if train.label_walk else 0


def _holders(train: TrainConfig) -> int:
    """The ranks of torchrun on this machine that share a training in batches, each of which holds all of it."""
    return local_ranks() if isinstance(train, SamplingOptions) and train.batch_nodes else 1


def _chunked_outputs(nodes: int, train: TrainConfig) -> int:
    """Numbers of the outputs of all layers, in chunks and put together, where a training is in batches."""
    if isinstance(train, SamplingOptions) and train.batch_nodes and nodes > CHUNK_ROWS:
        return nodes * train.width * 2 * (train.layers + 1)
    return 0


def numbers_of_a_node(graph: Graph, train: TrainConfig) -> int:
    """Those of the layers, and class scores with their gradients, of each step where they are propagated."""
    return train.numbers_a_node() + graph.class_count * (8 + 2 * getattr(train, "propagation_steps", 0))


def _operator_entries(inputs: dict[str, Any], train: TrainConfig) -> float:
    """Of the operators that are propagated over at a time."""
    entries = (int(data.summary["entries"]) for data in inputs.values() if "entries" in data.summary)
    return train.share_in_use * sum(entries)


def _feature_work(graph: Graph, train: TrainConfig, inputs: dict[str, Any], passes: int = 1) -> int:
    """Sparse features with their transpose; rows of dense ones for each direction, and a copy in 32 bits or scaled.

    An encoding is copied beside them. With the columns of a label walk there is a copy of all, and one for each pass.
    Batches of a large graph take the rows that they read from where these lie.
    """
    matrices = [matrix for data in inputs.values() for matrix in getattr(data, "matrices", {}).items()]
    size, copies = (
        sum(int(matrix.size) for name, matrix in matrices if name == "encoding"),
        2 * bool(train.input_dropout),
    )
    if graph.features is not None:
        in_rows = _chunked_outputs(graph.node_count, train) and not (size or train.label_walk)
        if not in_rows or hasattr(graph.features, "nnz"):
            copies += (size > 0) + (graph.features.dtype.itemsize != 4 or train.feature_scaling != "none")
        size += int(graph.features.size)
    if train.label_walk:
        size, copies = size + _walk_columns(graph, train), copies + passes + (passes > 0 or not copies)
    if hasattr(graph.features, "nnz"):
        return size * 8 * (1 + copies)
    return size * 4 * (min(len(matrices), 2) + copies)


def _piling_up(nodes: float, graph: Graph, train: TrainConfig) -> float:
    """How much more than what lives the panels of so many nodes take."""
    panel = 4 * nodes * getattr(train, "width", graph.class_count)
    return PILED_UP if panel < KEPT_BELOW else 1.0


def commute_disk(inputs: dict[str, Any], config: Any) -> int:
    return (72 if SOLVERS[config.solver].parts else 48) * int(inputs["graph"].adjacency.nnz)


def rewire_disk(inputs: dict[str, Any], config: Any) -> int:
    return CSR_ENTRY * (int(inputs["graph"].adjacency.nnz) + 3 * inputs["graph"].node_count)


def dilap_disk(inputs: dict[str, Any], config: Any) -> int:
    return 3 * CSR_ENTRY * int(inputs["rewire"].adjacency.nnz) + 16 * int(inputs["rewire"].adjacency.shape[0])
