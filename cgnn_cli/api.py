"""The Python interface: the stages as functions over numpy arrays and scipy matrices.

Only `import_graph` and `load_dataset` touch files, and nothing prints; randomness comes from the seeds in the
configurations. Importing it imports torch.
"""

import numpy as np
from scipy.sparse import csr_array, issparse

from cgnn_cli.analysis.prediction import Predictions, predict_classes
from cgnn_cli.configs import CommuteConfig, DilapConfig, GraphConfig, RewireConfig, SourceConfig, TrainConfig
from cgnn_cli.datasets.adjacency import WEIGHT_RANGE, usable_weights
from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.datasets.demo import demo_graph
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.forms import variant
from cgnn_cli.datasets.from_networkx import graph_from_networkx
from cgnn_cli.datasets.generated import TITLES, generate
from cgnn_cli.datasets.registry import settled
from cgnn_cli.datasets.splits import DEFAULT_RATIO, ratio_splits
from cgnn_cli.datasets.upstream.reading import read_benchmark
from cgnn_cli.errors import CgnnError, DataError, UsageError
from cgnn_cli.execution.results import Run
from cgnn_cli.graph import Checkpoint, CommuteTimes, Dilap, Fit, Graph, Operators, Rewired, Scores, byte_strings
from cgnn_cli.models.model_table import register, train_config
from cgnn_cli.numerics.csr import canonical_csr
from cgnn_cli.stages.commute import commute
from cgnn_cli.stages.dilap import dilap
from cgnn_cli.stages.evaluate import evaluate
from cgnn_cli.stages.operators import make_operators
from cgnn_cli.stages.rewire import rewire
from cgnn_cli.stages.train import collect, fit
from cgnn_cli.tuning.budget import Budget
from cgnn_cli.watch import Watch
from cgnn_cli.workspace import Workspace


def load_dataset(name: str, config: GraphConfig | None = None, source: SourceConfig | None = None) -> Graph:
    """A graph that the package makes, or a benchmark graph, whose files are downloaded and verified where missing."""
    if name not in (known := (*TITLES, *BENCHMARKS)):
        raise UsageError(f"unknown dataset {name!r}", f"known: {', '.join(known)}")
    graph = generate(name) if name in TITLES else read_benchmark(name, source or SourceConfig())
    return variant(graph, settled(name, config or GraphConfig()))


def graph_from_arrays(
    adjacency: object,
    features: object = None,
    labels: object = None,
    splits: np.ndarray | None = None,
    *,
    ratio: tuple[float, float, float] = DEFAULT_RATIO,
    split_count: int = 10,
    seed: int = 0,
) -> Graph:
    """A graph from plain arrays.

    adjacency: N x N, sparse or dense; entry (i, j) is the positive weight of the edge i -> j.
    features: N x F, sparse or dense; without them a training takes an encoding of the graph.
    labels: one a node, of any kind; -1, None or "" where unknown.
    splits: S x N with 0 unused, 1 train, 2 validation, 3 test; without them drawn from the labels by `ratio`.
    """
    matrix = canonical_csr(csr_array(adjacency))
    if not usable_weights(matrix.data).all():
        raise DataError(f"the weights of edges must be {WEIGHT_RANGE}", "scale the weights")
    columns = None if features is None else csr_array(features) if issparse(features) else np.asarray(features)
    if columns is not None and not np.isfinite(columns.data if issparse(columns) else columns).all():
        raise DataError("features must be finite")
    codes, names = (None, None) if labels is None else _class_codes(np.asarray(labels, dtype=object))
    if codes is not None and splits is None:
        splits = ratio_splits(codes, ratio, split_count, seed)
    drawn = None if splits is None else np.atleast_2d(np.asarray(splits, dtype=np.uint8))
    return Graph(adjacency=matrix, features=columns, labels=codes, class_names=names, splits=drawn)


def _class_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers with -1 for unknown, and the names of the classes in sorted order."""
    known = np.array([label is not None and label not in ("", -1) for label in labels])
    distinct = sorted(set(labels[known]))
    number = {label: code for code, label in enumerate(distinct)}
    codes = np.array([number[label] if is_known else -1 for label, is_known in zip(labels, known, strict=True)])
    return codes.astype(np.int64), byte_strings(distinct)


__all__ = ["collect", "commute", "dilap", "evaluate", "fit", "make_operators", "predict_classes", "rewire"]
__all__ += ["demo_graph", "graph_from_arrays", "graph_from_networkx", "import_graph", "load_dataset"]
__all__ += [
    "CommuteConfig",
    "DilapConfig",
    "GraphConfig",
    "ImportOptions",
    "RewireConfig",
    "SourceConfig",
    "TrainConfig",
]
__all__ += ["Checkpoint", "CommuteTimes", "Dilap", "Fit", "Graph", "Operators", "Predictions", "Rewired", "Scores"]
__all__ += ["Budget", "CgnnError", "Run", "Watch", "Workspace", "register", "train_config"]
