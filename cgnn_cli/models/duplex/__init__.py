"""DUPLEX."""

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import BOTH_OR_UNDIRECTED, HeadOptions, PerceptronOptions


class DuplexConfig(HeadOptions, PerceptronOptions):
    model: str = "duplex"
    title = "Amplitude and phase embeddings with dual attention"
    label = "DUPLEX"
    paper = "Ke et al., DUPLEX: Dual GAT for Complex Embedding of Directed Graphs, ICML 2024"
    operator = "hermitian"
    directions = BOTH_OR_UNDIRECTED

    fusion_layer: int = option(
        2, "The layer, from 1, in which amplitude and phase meet; beyond --layers: none.", minimum=1
    )

    @property
    def widening(self) -> int:
        return 2 * self.heads
