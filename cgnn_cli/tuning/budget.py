"""How much a search may try."""

from dataclasses import dataclass

MINUTES = 5.0


@dataclass(frozen=True)
class Budget:
    """A time, or a number of configurations; with the second a search does not depend on time."""

    minutes: float = MINUTES
    trials: int | None = None

    def __str__(self) -> str:
        return f"{self.trials} trials" if self.trials is not None else f"{self.minutes:g} minutes"

    def words(self) -> list[str]:
        """As a command line takes it."""
        return ["--minutes", f"{self.minutes:g}"] if self.trials is None else ["--trials", str(self.trials)]
