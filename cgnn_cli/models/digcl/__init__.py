"""DiGCL, and the grid of teleports whose PageRank operators are its views."""

from typing import Literal

from cgnn_cli.configs import option
from cgnn_cli.models.option_groups import BOTH_OR_UNDIRECTED, ActivationOption

GRID = tuple(hundredths / 100 for hundredths in range(10, 95, 5))


class DigclConfig(ActivationOption):
    model: str = "digcl"
    title = "Contrastive training over PageRank views, then a linear classifier"
    label = "DiGCL"
    paper = "Tong et al., Directed Graph Contrastive Learning, NeurIPS 2021"
    operator = "views"
    directions = BOTH_OR_UNDIRECTED
    widening = 2
    share_in_use = 2 / len(GRID)

    pretrain_epochs: int = option(300, "Epochs of contrastive training before the classifier's.", minimum=1)
    pacing: Literal["linear", "exp", "log"] = option("linear", "How the second view moves towards the first.")
    temperature: float = option(0.4, "Temperature of the contrastive loss.", above=0)
    mask_first: float = option(0.3, "Share of features hidden in the first view.", minimum=0, maximum=0.99)
    mask_second: float = option(0.4, "Share of features hidden in the second view.", minimum=0, maximum=0.99)
    projection: int = option(64, "Width of the projection that the loss sees.", minimum=1)
    anchors: int = option(0, "Random nodes that are compared in a step; 0: all, which takes time of N x N.", minimum=0)

    def numbers_a_node(self) -> int:
        """The loss sees both views through the projection, with its gradient; or a few anchors, which count nothing."""
        return super().numbers_a_node() + (0 if self.anchors else 8 * self.projection)


def view_name(teleport: float) -> str:
    """The name of the view that is nearest to a teleport."""
    nearest = min(GRID, key=lambda known: abs(known - teleport))
    return f"view-{nearest:.2f}"
