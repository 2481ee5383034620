"""DirGNN: two directed message channels without weights."""

from typing import Literal

from cgnn_cli.configs import option
from cgnn_cli.errors import UsageError
from cgnn_cli.models.option_groups import (
    BOTH_FIRST,
    AttentionOptions,
    SamplingOptions,
    SimilarityOptions,
    TwoWayOptions,
)


class DirgnnConfig(TwoWayOptions, AttentionOptions, SimilarityOptions, SamplingOptions):
    model: str = "dirgnn"
    title = "Directed GNN, the control without weights"
    label = "DirGNN"
    paper = "Rossi et al., Edge Directionality Improves Learning on Heterophilic Graphs, LoG 2023"
    operator = "directed"
    directions = BOTH_FIRST

    variant: Literal["sage", "gcn", "gat"] = option("sage", "Which layer is made directional.")

    @property
    def widening(self) -> int:
        return super().widening if self.variant == "gat" else 1

    def numbers_an_entry(self) -> int:
        return super().numbers_an_entry() if self.variant == "gat" else 0

    def unread(self) -> set[str]:
        return super().unread() | (set() if self.variant == "gat" else {"heads", "attention_dropout"})

    def check(self) -> None:
        super().check()
        if self.variant == "gat" and (self.knn or self.batch_nodes):
            raise UsageError("--variant gat weighs its neighbours itself", "leave --knn and --batch-nodes out")
