"""CGNN's layer with torch-geometric's calling convention."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from cgnn_cli.errors import UsageError
from cgnn_cli.models.parts.directed_layer import DirectedLayer
from cgnn_cli.models.parts.propagate import Input, Propagator
from cgnn_cli.operators.weighted import aggregated
from cgnn_cli.pyg.conversion import scipy_of


class CGNNConv(nn.Module):
    """CGNN's layer over torch-geometric's edges, with the weights that `AddCommuteTimes` makes.

        h_i' = s W_self h_i + (1 - s) (alpha m_out(i) + (1 - alpha) m_in(i))        combine="mean"
        h_i' =   W_self h_i +          alpha m_out(i) + (1 - alpha) m_in(i)         combine="sum"

    m_out(i) aggregates C_out[i, j] W_out h_j over the out-neighbours of i, and m_in(i) C_in[i, j] W_in h_j over its
    in-neighbours; torch-geometric's own layers take messages from in-neighbours only. Without weights it is DirGNN's
    layer. The edges and weights are constants: no gradient reaches them. With `cached` they are those of the first
    call, which saves sorting them in each; use it where the graph is always the same.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        alpha: float = 0.5,
        self_share: float = 1 / 3,
        combine: str = "mean",
        aggregation: str = "mean",
        cached: bool = False,
    ) -> None:
        super().__init__()
        if combine not in ("mean", "sum") or aggregation not in ("mean", "weighted-mean", "sym", "sym-out"):
            raise UsageError(f"CGNNConv has no combine={combine!r} with aggregation={aggregation!r}")
        share, message_share = (self_share, 1 - self_share) if combine == "mean" else (1.0, 1.0)
        self.layer = DirectedLayer(
            in_channels, out_channels, {}, alpha=alpha, self_share=share, message_share=message_share
        )
        self.aggregation, self.cached = aggregation, cached

    def reset_parameters(self) -> None:
        """New weights; the edges of a cached layer are forgotten too."""
        self.layer.ways = {}
        for linear in (self.layer.from_out, self.layer.from_in, self.layer.from_self):
            if linear is not None:
                linear.reset_parameters()
        nn.init.zeros_(self.layer.bias_out)
        nn.init.zeros_(self.layer.bias_in)

    def forward(
        self, x: Tensor, edge_index: Tensor, weight_out: Tensor | None = None, weight_in: Tensor | None = None
    ) -> Tensor:
        if not (self.cached and self.layer.ways):
            ends = edge_index.cpu().numpy()
            matrices = {
                "out": _weights_on(ends[0], ends[1], weight_out, x.shape[0]),
                "in": _weights_on(ends[1], ends[0], weight_in, x.shape[0]),
            }
            self.layer.ways = {
                name: Propagator(aggregated(matrices, name, self.aggregation), x.device) for name in matrices
            }
        out: Tensor = self.layer(_input_of(x))
        return out


def _weights_on(row: np.ndarray, column: np.ndarray, weights: Tensor | None, count: int) -> csr_array:
    """Weights as a matrix in which every neighbour has an entry, also one of weight 0; self-loops have none."""
    values = np.ones(len(row)) if weights is None else weights.detach().cpu().numpy().astype(np.float64)
    key, first = np.unique(row * np.int64(count) + column, return_index=True)
    apart = key // count != key % count
    key, first = key[apart], first[apart]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(key // count, minlength=count))])
    return csr_array((values[first], key % count, offsets), shape=(count, count))


def _input_of(x: Tensor) -> Input:
    if x.layout is not torch.sparse_csr:
        return x
    return Propagator(scipy_of(x), x.device)
