"""Absorption: the class that a random walk meets first. Nothing is trained."""

import dataclasses

from cgnn_cli.configs import DECIDED_LATER, WALK_OPTIONS, Encoding, TrainConfig
from cgnn_cli.errors import UsageError


class AbsorptionConfig(TrainConfig):
    model: str = "absorption"
    title = "The class of the training node that a walk meets first; nothing is trained"
    label = "Absorption"
    paper = "Zhu et al., Semi-Supervised Learning Using Gaussian Fields and Harmonic Functions, ICML 2003"
    learns = False

    @classmethod
    def own_options(cls) -> tuple[str, ...]:
        """The walk, which a network has only as an input."""
        return WALK_OPTIONS[1:]

    def unread(self) -> set[str]:
        """All that is about training, and about input; the walk is its own."""
        common = {field.name for field in dataclasses.fields(TrainConfig)}
        read = {"model", "direction", "metric", "metric_class", *DECIDED_LATER, *WALK_OPTIONS[1:]}
        return (super().unread() - set(WALK_OPTIONS)) | (common - read)

    def check(self) -> None:
        """What would be an input of a network is refused where it was asked for."""
        super().check()
        wanted = [name for name in ("degree_features", "label_input") if getattr(self, name)]
        wanted += ["encoding"] if self.has_encoding else []
        if wanted:
            flag = "--" + wanted[0].replace("_", "-")
            raise UsageError(f"--model absorption has no {flag}: it reads edges and labels alone", f"leave {flag} out")

    def encoding_of(self, features: str) -> Encoding:
        """It needs no input, so that a graph without features gets none; one that is asked for is refused later."""
        return "none" if self.encoding == "auto" else self.encoding

    @property
    def resolved_direction(self) -> str:
        if self.direction not in ("auto", "none"):
            raise UsageError(
                f"--model absorption has no --direction {self.direction}: it takes no messages",
                "--walk-direction says where its walk goes",
            )
        return "none"

    def operator_kinds(self) -> tuple[str, ...]:
        return ()

    def numbers_a_node(self) -> int:
        return 0
