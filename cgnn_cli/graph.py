"""The data that flows between the stages: plain numpy arrays and scipy CSR matrices, with their invariants.

    Graph -> Rewired -> Dilap -> CommuteTimes -> Operators -> Checkpoint -> Scores

Each type knows how to become the elements of an artifact and back; none of them reads or writes a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cgnn_cli import mapped, scratch
from cgnn_cli.configs import OF_A_CLASS, TrainConfig, feature_source
from cgnn_cli.errors import DataError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator

    from cgnn_cli.numerics.walk import Walk

UNUSED, TRAIN, VALIDATION, TEST = 0, 1, 2, 3
PADDED_BYTES, PADDED_SHARE = 1 << 20, 4
BATCH_NAMES = 1 << 16
SHOWN_CLASSES = 12
SPLIT_PARTS = {"train": TRAIN, "val": VALIDATION, "test": TEST}


def byte_strings(names: Iterable[object]) -> np.ndarray:
    """Names as an array of UTF-8: of fixed width, or of objects where a few long ones would make all others long."""
    encoded = [str(name).encode() for name in names]
    padded = len(encoded) * max(map(len, encoded), default=0)
    if padded <= PADDED_BYTES or padded <= PADDED_SHARE * sum(map(len, encoded)):
        return np.array(encoded, dtype=np.bytes_)
    return np.array(encoded, dtype=object)


def packed_strings(names: Any) -> np.ndarray:
    """The same of names as Arrow has them, a batch at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if names.type == pa.int64():
        names = names.cast(pa.large_string())
    lengths = pc.binary_length(names)
    width, size = max(pc.max(lengths).as_py() or 0, 1), pc.sum(lengths).as_py() or 0
    if len(names) * width > max(PADDED_BYTES, PADDED_SHARE * size):
        return byte_strings(names.to_pylist())
    padded = mapped.empty(len(names), f"S{width}")
    for start in range(0, len(names), BATCH_NAMES):
        padded[start : start + BATCH_NAMES] = names.slice(start, BATCH_NAMES).cast(pa.large_binary()).to_pylist()
    return padded


def texts(names: np.ndarray) -> np.ndarray:
    """Such an array as objects: each string takes its own length, and a place that repeats it a pointer."""
    return np.array([name.decode() for name in names.tolist()], dtype=object)


def column_order(wanted: Sequence[str] | None, found: Sequence[str] | None, where: str) -> list[int] | None:
    """Where columns of features are among those found, by their titles; None where they stand so, or have none."""
    if not wanted or not found or list(wanted) == list(found):
        return None
    if missing := [name for name in wanted if name not in found]:
        names = ", ".join(repr(name) for name in missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise DataError(f"{where} has no column of features {names}", "import it with the same columns")
    return [list(found).index(name) for name in wanted]


@dataclass(frozen=True, kw_only=True)
class StageData:
    """Base of the types below. `summary` holds figures and notes about the data, and is not an element."""

    summary: dict[str, Any] = field(default_factory=dict, compare=False)

    def to_elements(self) -> dict[str, Any]:
        fields = (item.name for item in dataclasses.fields(self) if item.name != "summary")
        return {name: getattr(self, name) for name in fields if getattr(self, name) is not None}

    @classmethod
    def from_elements(cls, elements: dict[str, Any], summary: dict[str, Any]) -> Self:
        """What elements hold; optional ones of a later cgnn are left out."""
        known = {item.name for item in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in elements.items() if name in known}, summary=summary)


@dataclass(frozen=True, kw_only=True)
class Graph(StageData):
    """A directed graph with what is known about its nodes.

    adjacency: N x N CSR, entry (i, j) is the weight of the edge i -> j (1 when unweighted); sorted, no repeats.
    features: N x F array or CSR matrix; absent where the graph has none.
    labels: class index of every node, -1 where unknown; class_names: their names.
    node_ids: the user's ids; absent where they are 0..N-1.
    splits: one row a split; 0 unused, 1 train, 2 validation, 3 test.
    times: when each node was first there, NaN where that is not known; only where splits are by a date.
    """

    adjacency: csr_array
    features: np.ndarray | csr_array | None = None
    labels: np.ndarray | None = None
    class_names: np.ndarray | None = None
    node_ids: np.ndarray | None = None
    splits: np.ndarray | None = None
    times: np.ndarray | None = None

    def __post_init__(self) -> None:
        count = self.node_count
        if self.adjacency.shape != (count, count):
            raise DataError(f"the adjacency matrix has shape {self.adjacency.shape}, which is not square")
        if count == 0:
            raise DataError("the graph has no nodes")
        for name in ("features", "labels", "node_ids", "times"):
            value = getattr(self, name)
            if value is not None and value.shape[0] != count:
                raise DataError(f"{name} has {value.shape[0]} rows, but the graph has {count} nodes")
        if self.splits is not None and (self.splits.ndim != 2 or self.splits.shape[1] != count):
            raise DataError(f"splits has shape {self.splits.shape}, but the graph has {count} nodes")

    @property
    def node_count(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def class_count(self) -> int:
        return 0 if self.class_names is None else len(self.class_names)

    @property
    def split_count(self) -> int:
        return 0 if self.splits is None else len(self.splits)

    @cached_property
    def edges(self) -> csr_array:
        """The adjacency without self-loops: the edges that carry commute times, weights and messages."""
        from cgnn_cli.numerics.csr import without_self_loops

        return without_self_loops(self.adjacency)

    @property
    def feature_source(self) -> str:
        """Where the features come from: `own`, `structural`, or `none`."""
        return "none" if self.features is None else feature_source(self.summary)

    @property
    def is_weighted(self) -> bool:
        weights = self.adjacency.data
        return scratch.count(len(weights), lambda part: weights[part] != 1) > 0

    def ids(self) -> np.ndarray:
        """The user's node ids as strings, in an array of objects."""
        if self.node_ids is None:
            return np.array([str(node) for node in range(self.node_count)], dtype=object)
        return texts(self.node_ids)

    def class_number(self, name: str) -> int:
        """The number of a class that an option names."""
        known = self.class_labels()
        if name not in known:
            shown = ", ".join(known[:SHOWN_CLASSES]) + (" ..." if len(known) > SHOWN_CLASSES else "")
            raise UsageError(f"the graph has no class {name}", f"its classes are {shown}")
        return known.index(name)

    def class_in_focus(self, config: TrainConfig) -> int | None:
        """The class that the metric of a training is about, where it is about one."""
        focused = config.metric in OF_A_CLASS and config.metric_class is not None
        return self.class_number(str(config.metric_class)) if focused else None

    def class_labels(self) -> list[str]:
        """The names of the classes as strings."""
        return [] if self.class_names is None else texts(self.class_names).tolist()


@dataclass(frozen=True, kw_only=True)
class Rewired(StageData):
    """The graph that is walked: a strongly connected adjacency over `nodes` (all of them for `--method path`).

    gamma: for `--method teleport` the share of steps along edges, as one number; jump: for `--method escape` the chance
    of each state to jump to any state. The adjacency has then the graph's own edges, and the jumps connect it.
    """

    adjacency: csr_array
    nodes: np.ndarray
    order: np.ndarray | None = None
    gamma: np.ndarray | None = None
    jump: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Dilap(StageData):
    """The walk and its digraph Laplacian: transition P, its Perron vector pi, and the DiLap T, over `nodes`.

    A walk that jumps has a `jump`, the chance of each state to jump to any state. Then transition is the part of P
    along edges, laplacian is the sparse part of T, and `form` names which T it is (as bytes).
    """

    transition: csr_array
    perron: np.ndarray
    laplacian: csr_array
    nodes: np.ndarray
    jump: np.ndarray | None = None
    form: np.ndarray | None = None

    def state_of_nodes(self, node_count: int) -> np.ndarray:
        """The state of each node of the graph, -1 for nodes outside the walk."""
        state = np.full(node_count, -1, dtype=np.int64)
        state[self.nodes] = np.arange(len(self.nodes))
        return state

    def walk(self) -> Walk:
        """P as an operator."""
        from cgnn_cli.numerics.walk import Walk

        return Walk(self.transition, self.jump)

    def laplacian_operator(self) -> csr_array | LinearOperator:
        """T: the sparse matrix itself, or an operator that adds the low-rank part of a walk that jumps."""
        from cgnn_cli.numerics.transition import jumping_laplacian

        if self.jump is None:
            return self.laplacian
        incidence = self.form is not None and self.form[0] == b"incidence"
        return jumping_laplacian(self.laplacian, self.jump, incidence=incidence)


@dataclass(frozen=True, kw_only=True)
class CommuteTimes(StageData):
    """Hitting times both ways, commute time and both weights for each edge of the original graph, in CSR order.

    hitting is h(source, target), hitting_back is h(target, source); weight_out is C_out[source, target], the weight
    the source gives its out-neighbour; weight_in is C_in[target, source]. Edges that the walk does not reach hold NaN
    times and weight 0. error is the standard error of commute, for solvers that have one. popularity, direct and
    indirect are what commute is made of, popularity - direct - indirect, for those that know; 0.1.0 wrote none.
    """

    source: np.ndarray
    target: np.ndarray
    hitting: np.ndarray
    hitting_back: np.ndarray
    commute: np.ndarray
    weight_out: np.ndarray
    weight_in: np.ndarray
    error: np.ndarray | None = None
    popularity: np.ndarray | None = None
    direct: np.ndarray | None = None
    indirect: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Operators(StageData):
    """What models multiply their panels with: sparse matrices over the nodes by name, in float32.

    Row i of a matrix holds what node i takes from other nodes. `degrees` of `--degree-features` is a dense array.
    """

    matrices: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Fit(StageData):
    """One trained model: the weights of its best epoch and the history of its training.

    Within a checkpoint also what was decided on it, a number each: the temperature of `--calibrate`, and the threshold
    of `--target-precision` or `--target-recall`.
    """

    weights: dict[str, np.ndarray]
    history: dict[str, np.ndarray]
    temperature: np.ndarray | None = None
    threshold: np.ndarray | None = None

    @property
    def divisor(self) -> float:
        """What class scores are divided by before they become probabilities."""
        return 1.0 if self.temperature is None else float(self.temperature[0])


@dataclass(frozen=True, kw_only=True)
class Checkpoint(StageData):
    """The models trained on several splits: `fits` maps the number of a split to its weights and history."""

    fits: dict[str, Any]

    def fit(self, split: int) -> Fit:
        return Fit(**self.fits[str(split)])


@dataclass(frozen=True, kw_only=True)
class Scores(StageData):
    """What the models of a checkpoint reach: one row a split in each array. 0.1.0 wrote none of those from `auc` on.

    auc, average_precision: of each class against the rest, NaN where not defined. curve: of each class the precision
    where recall reaches 0, 0.01, ... 1. reliability: nodes, sum of probabilities and right ones in bins of the
    probability of the likeliest class; reliability_before: the same without the temperature of `--calibrate`.
    """

    splits: np.ndarray
    predictions: np.ndarray
    confusion: np.ndarray
    accuracy: np.ndarray
    validation_accuracy: np.ndarray
    train_accuracy: np.ndarray
    macro_f1: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    auc: np.ndarray | None = None
    average_precision: np.ndarray | None = None
    curve: np.ndarray | None = None
    reliability: np.ndarray | None = None
    reliability_before: np.ndarray | None = None
