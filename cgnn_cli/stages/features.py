"""Features as networks take them: scaled, with the columns of an encoding or a label walk, whole or in rows."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array, hstack

from cgnn_cli.configs import TrainConfig
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph, Operators
from cgnn_cli.models.option_groups import SamplingOptions
from cgnn_cli.models.parts.feature_rows import FeatureRows, blocks_of
from cgnn_cli.models.parts.label_walk import LabelWalk
from cgnn_cli.models.parts.propagate import Input, as_input, beside
from cgnn_cli.models.parts.sampling import CHUNK_ROWS
from cgnn_cli.operators.normalise import inverse_or_zero, scaled


def batches(config: TrainConfig) -> SamplingOptions | None:
    """The options of a training in batches, none where it takes all nodes at once."""
    return config if isinstance(config, SamplingOptions) and config.batch_nodes else None


def input_of(
    graph: Graph, operators: Operators, config: TrainConfig, walk: LabelWalk | None, device: torch.device
) -> Input | FeatureRows:
    """What a network is given of all nodes, or where batches take it from."""
    if walk is None and (rows := in_rows(graph, operators, config)) is not None:
        return rows
    x = as_input(features_of(graph, operators, config), device)
    return x if walk is None else beside(x, walk.columns)


def in_rows(graph: Graph, operators: Operators, config: TrainConfig) -> FeatureRows | None:
    """The input of a training in batches on a large graph, where it would else be a copy of the features."""
    own, scaling = graph.features, config.feature_scaling
    if not batches(config) or graph.node_count <= CHUNK_ROWS or not isinstance(own, np.ndarray):
        return None
    copied = scaling != "none" or own.dtype != np.float32
    plain = own.dtype.kind == "f" and own.flags.c_contiguous and own.shape[1] > 1
    if not (copied and plain) or "encoding" in operators.matrices:
        return None
    scale = standard_scale(own) if scaling == "standard" else partial(scale_features, scaling=scaling)
    found = FeatureRows(own, scale)
    return found if found.are_dense() else None


def features_of(graph: Graph, operators: Operators, config: TrainConfig) -> np.ndarray | csr_array:
    """The graph's own features, scaled, with the columns of an encoding, which come scaled, or these alone.

    The columns of a label walk come after them, and can do without any.
    """
    encoding = operators.matrices.get("encoding")
    if graph.features is None:
        if encoding is None and config.label_walk:
            return np.empty((graph.node_count, 0), dtype=np.float32)
        if encoding is None:
            raise DataError("this graph has no features", "make its operators with an encoding, as `auto` does")
        return np.asarray(encoding)
    own = scale_features(graph.features, config.feature_scaling)
    if encoding is None:
        return own
    if isinstance(own, np.ndarray):
        return np.hstack([own.astype(np.float32), encoding])
    return csr_array(hstack([own.astype(np.float32), csr_array(encoding)], format="csr"))


def scale_features(
    features: np.ndarray | csr_array, scaling: str, like: np.ndarray | csr_array | None = None
) -> np.ndarray | csr_array:
    """row: rows to absolute sum 1; l2: rows to length 1; standard: columns to mean 0 and variance 1.

    Sparse features are not centred by `standard`, only divided by the deviation of their columns.
    like: the features whose mean and variance are taken, where it is not these.
    """
    if scaling == "none":
        return features
    if scaling == "standard":
        like = features if like is None else like
        if isinstance(features, np.ndarray):
            mean = like.mean(axis=0)
            centred = features - mean
            return centred * inverse_or_zero((centred if like is features else like - mean).std(axis=0))
        sparse = csr_array(like, dtype=np.float64)
        variance = np.asarray(sparse.multiply(sparse).mean(axis=0) - np.square(sparse.mean(axis=0))).ravel()
        deviation = np.sqrt(np.maximum(variance, 0))
        return scaled(csr_array(features, dtype=np.float64), np.ones(features.shape[0]), inverse_or_zero(deviation))
    powers = abs(features) if scaling == "row" else features * features
    totals = np.asarray(powers.sum(axis=1), dtype=np.float64).ravel()
    factor = inverse_or_zero(totals if scaling == "row" else np.sqrt(totals))
    return features * factor[:, None] if isinstance(features, np.ndarray) else scaled(features, factor)


def standard_scale(features: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What brings the columns of some rows to the mean 0 and the variance 1 that all rows have then.

    As numpy's `mean` and `std` add the rows up one after the other, the bits are theirs.
    """
    count = len(features)
    mean = _column_mean(lambda rows: features[rows], count)
    rest = _column_mean(lambda rows: features[rows] - mean, count)
    factor = inverse_or_zero(np.sqrt(_column_mean(lambda rows: np.square(features[rows] - mean - rest), count)))
    return lambda rows: (rows - mean) * factor


def _column_mean(rows_of: Callable[[slice], np.ndarray], count: int) -> np.ndarray:
    total: np.ndarray | None = None
    for block in blocks_of(count):
        rows = rows_of(block)
        total = rows.sum(axis=0) if total is None else np.vstack([total, rows]).sum(axis=0)
    assert total is not None
    return np.true_divide(total, np.intp(count), out=total, casting="unsafe")
