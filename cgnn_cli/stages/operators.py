"""operators: the sparse matrices that a model propagates over, made once for all splits and trainings."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cgnn_cli.configs import TrainConfig
from cgnn_cli.graph import CommuteTimes, Graph, Operators
from cgnn_cli.operators.operator_table import OPERATORS


def make_operators(graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> Operators:
    """All operators that a training reads."""
    config.check()
    config = replace(config, encoding=config.encoding_of(graph.feature_source))
    return merged(make_operator(kind, graph, times, config) for kind in config.operator_kinds())


def make_operator(kind: str, graph: Graph, times: CommuteTimes | None, config: TrainConfig) -> Operators:
    """The operator of one kind, in float32."""
    made = OPERATORS[kind].make(graph, times, config)
    made = made if isinstance(made, Operators) else Operators(matrices=made)
    matrices = {name: _compact(matrix) for name, matrix in made.matrices.items()}
    entries = sum(matrix.nnz for matrix in matrices.values() if isinstance(matrix, csr_array))
    return Operators(matrices=matrices, summary={"kind": kind, "entries": entries, **made.summary})


def merged(parts: Any) -> Operators:
    """Several operators as one, with the figures of an encoding; their matrices have different names."""
    parts = list(parts)
    told = {name: part.summary[name] for part in parts for name in ("encoding",) if name in part.summary}
    return Operators(matrices={name: each for part in parts for name, each in part.matrices.items()}, summary=told)


def _compact(matrix: csr_array | np.ndarray) -> csr_array | np.ndarray:
    if isinstance(matrix, np.ndarray):
        return matrix.astype(np.float32)
    integer = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    parts = matrix.data.astype(np.float32), matrix.indices.astype(integer), matrix.indptr.astype(integer)
    return csr_array(parts, shape=matrix.shape)
