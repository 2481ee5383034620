"""How long the rest of a computation may take, in words."""

import time


class Pace:
    """How fast something is since it was first heard of: what is resumed does not start at 0."""

    def __init__(self) -> None:
        self._total = self._done = self._first = 0
        self._began = 0.0

    def time_left(self, done: int, total: int) -> str:
        """From the pace so far; nothing until there is something to tell it from.

        Another total, or a step back, is another computation.
        """
        now = time.monotonic()
        if total != self._total or done < self._done:
            self._total, self._first, self._began = total, done, now
        self._done = done
        if done <= self._first:
            return ""
        seconds = (now - self._began) / (done - self._first) * max(0, total - done)
        return f"about {seconds / 60:.0f} min left" if seconds >= 60 else f"about {seconds:.0f} s left"
