"""DiGCN without inception: h' = L W h + b, with the PageRank operator of operators/pagerank.py (NeurIPS 2020)."""

from typing import Any

import torch

from cgnn_cli.configs import TrainConfig
from cgnn_cli.models.gcn import ConvolutionLayer
from cgnn_cli.models.network import Classifier, Network
from cgnn_cli.models.propagate import Propagator
from cgnn_cli.models.table import Shape


def build(operators: dict[str, Any], shape: Shape, config: TrainConfig, device: torch.device) -> Classifier:
    """A DiGCN over its PageRank operator."""
    step = Propagator(operators["step"], device)
    return Network(lambda inputs, outputs: ConvolutionLayer(inputs, outputs, step), shape, config).to(device)
