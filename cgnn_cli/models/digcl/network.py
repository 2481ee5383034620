"""DiGCL: an encoder trained by contrast of two PageRank views, then a linear classifier (Tong et al., NeurIPS 2021).

Without labels: two views of the graph, the operators L(t) of operators/views.py with teleport t = 0.1 and with one
that moves from 0.9 to 0.1, and of the features, whose columns are hidden at random. The encoder's layers h' = L W h + b
have widths F -> 2d -> ... -> d, with an activation after each; the loss of contrast.py sees ELU(z U_1) U_2.
Then the encoder is left as it is: class scores are linear in its embeddings over L(0.1), scaled to the length d. With
one learning rate for both, the classifier so takes steps that are long enough; its first weights are small.
"""

import math
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor, nn

from cgnn_cli.models.digcl import GRID, DigclConfig, view_name
from cgnn_cli.models.digcl.contrast import contrastive_loss
from cgnn_cli.models.parts.classifier import Classifier, Output, Shape, activated
from cgnn_cli.models.parts.propagate import Input, Propagator

FIRST, LAST = GRID[-1], GRID[0]


def teleport_at(epoch: int, epochs: int, pacing: str) -> float:
    """The teleport of the second view: a - (a - b) g(u), u = epoch / (epochs + 1), from a = 0.9 towards b = 0.1.

    g is u, (e^3u - 1)/(e^3 - 1), or 1 + ln(u + e^-3)/3; published codes lack the 1 of the last, and start above 1.
    """
    done = epoch / (epochs + 1)
    if pacing == "exp":
        done = math.expm1(3 * done) / math.expm1(3)
    elif pacing == "log":
        done = 1 + math.log(done + math.exp(-3)) / 3
    return FIRST - (FIRST - LAST) * done


class Contrasted(Classifier):
    """The encoder, its projection and the classifier on top."""

    def __init__(self, views: dict[str, csr_array], device: torch.device, shape: Shape, config: DigclConfig) -> None:
        super().__init__()
        self.views, self.device, self.config = views, device, config
        self.pretrain_epochs = config.pretrain_epochs
        width = config.hidden
        widths = [shape.features, *[2 * width] * (config.layers - 1), width]
        self.encoder = nn.ModuleList()
        for inputs, outputs in pairwise(widths):
            linear = nn.Linear(inputs, outputs)
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)  # torch's own would drown features whose rows sum to 1
            self.encoder.append(linear)
        self.projection = nn.Sequential(
            nn.Linear(width, config.projection), nn.ELU(), nn.Linear(config.projection, width)
        )
        self.classifier = nn.Linear(width, shape.classes)
        self.classifier.weight.data.div_(width)
        self._steps: dict[str, Propagator] = {}
        self._embedded: tuple[Input, Tensor] | None = None
        self.register_load_state_dict_post_hook(lambda module, keys: module.forget())

    def forward(self, x: Input) -> Output:
        hidden = self._embedding(x)
        return Output(self.classifier(hidden), hidden)

    def pretrain_loss(self, x: Input, epoch: int) -> Tensor:
        """The contrastive loss of two views of all nodes, or of `--anchors` random ones among themselves."""
        self.forget()
        config = self.config
        moving = view_name(teleport_at(epoch, config.pretrain_epochs, config.pacing))
        first = self._encode(x, view_name(LAST), config.mask_first)
        second = self._encode(x, moving, config.mask_second)
        if 0 < config.anchors < len(first):
            chosen = torch.randperm(len(first), device=first.device)[: config.anchors]
            first, second = first[chosen], second[chosen]
        return contrastive_loss(self.projection(first), self.projection(second), config.temperature)

    def forget(self) -> None:
        """The encoder changes: what was computed with it is no longer true."""
        self._embedded = None

    @torch.no_grad()
    def _embedding(self, x: Input) -> Tensor:
        """Embeddings of one length; they stay the same while the classifier is trained, so they are kept."""
        if self._embedded is None or self._embedded[0] is not x:
            unit = F.normalize(self._encode(x, view_name(LAST), 0.0), dim=1)
            self._embedded = x, unit * self.config.hidden
        return self._embedded[1]

    def _encode(self, x: Input, view: str, masked: float) -> Tensor:
        """Embeddings over a view; hiding a feature is leaving out its column of the first weights."""
        step = self._step(view)
        state: Input = x
        for number, linear in enumerate(self.encoder):
            assert isinstance(linear, nn.Linear)
            weight = linear.weight
            if number == 0 and masked:
                weight = weight * (torch.rand(weight.shape[1], device=weight.device) >= masked)
            state = activated(step.after(state, weight) + linear.bias, self.config)
        assert isinstance(state, Tensor)
        return state

    def _step(self, view: str) -> Propagator:
        """The product with a view; the two that are in use are kept."""
        if view not in self._steps:
            self._steps = {name: step for name, step in self._steps.items() if name == view_name(LAST)}
            self._steps[view] = Propagator(self.views[view], self.device)
        return self._steps[view]


def build(operators: dict[str, Any], shape: Shape, config: DigclConfig, device: torch.device) -> Classifier:
    """A DiGCL over its views."""
    views = {name: matrix for name, matrix in operators.items() if name.startswith("view-")}
    return Contrasted(views, device, shape, config).to(device)
