"""The graphs that the package makes from fixed seeds: the demo graph, and made graphs that differ in one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cgnn_cli.graph import Graph

DEMO = "demo"


@dataclass(frozen=True)
class Design:
    """What tells the ties of a made graph from its casual links, and whether its classes are its communities.

    mutual: every tie goes both ways; circles: ties join all of a small circle, so that they close triangles.
    """

    mutual: bool
    circles: bool
    told: bool = True

    @property
    def name(self) -> str:
        """As `--dataset` takes it."""
        ties = "mutual" if self.mutual else "one-way"
        return f"{'made' if self.told else 'mixed'}-{ties}-{'circles' if self.circles else 'scattered'}"

    @property
    def title(self) -> str:
        """What it is, in words."""
        ties = f"{'mutual' if self.mutual else 'one-way'} ties {'in circles' if self.circles else 'at random'}"
        classes = "are the" if self.told else "have nothing to do with"
        return f"made: communities with {ties}; classes {classes} communities"


DESIGNS = [
    Design(mutual, circles, told) for told in (True, False) for mutual in (True, False) for circles in (True, False)
]
MADE: dict[str, Design] = {design.name: design for design in DESIGNS}
TITLES = {DEMO: "embedded social graph with celebrities, generated from a fixed seed"}
TITLES |= {name: design.title for name, design in MADE.items()}


def generate(name: str) -> Graph:
    """The graph of a name; always the same one."""
    if name == DEMO:
        from cgnn_cli.datasets.demo import demo_graph  # not needed where the graph is in the store

        return demo_graph()
    from cgnn_cli.datasets.made import made_graph

    return made_graph(MADE[name])
