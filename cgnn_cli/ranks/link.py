"""What ranks say to each other: headers of JSON and the bytes of arrays, by torch.distributed (gloo, on CPU)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cgnn_cli.errors import ResourceError
from cgnn_cli.resources import LEAST_TORCH_SPACE, check_address_space

if TYPE_CHECKING:
    import numpy as np

    Arrays = Sequence[np.ndarray]

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")  # which torchrun sets
START_SECONDS = 300.0  # within which all ranks have found each other
ANSWER_SECONDS = 45.0
HEAD_BYTES, LENGTH_BYTES = 1 << 14, 16  # of a message, and of its lengths in it; a longer one goes on in another
SMALL_BYTES = HEAD_BYTES - 1024  # of arrays that go in the same message
CHUNK_BYTES = 1 << 26  # of an array, each of which is to arrive in time
HINT = "what was saved is kept; run the same command again to go on"


class RankLost(ResourceError):
    """A rank has ended, or does not answer."""


def place(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """The number of this process among the ranks of torchrun, and how many there are: 0 of 1 without it."""
    rank, size = (environment.get(name, "") for name in VARIABLES[:2])
    if not (all(environment.get(name) for name in VARIABLES) and rank.isdecimal() and size.isdecimal()):
        return 0, 1
    return int(rank), int(size)


class Link:
    """Messages to and from other ranks."""

    def __init__(self) -> None:
        """Find the others."""
        check_address_space(LEAST_TORCH_SPACE, "the libraries that ranks speak through")
        import torch
        from torch import distributed

        self.rank, self.size = place()
        self._torch, self._distributed = torch, distributed
        self._expected: dict[int, tuple[np.ndarray, Any]] = {}
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # it is only read
        try:
            with _prints_on_standard_error(), _ended_by_sigterm():
                self._meet(timedelta(seconds=START_SECONDS))
                # By now all are there, so that a shorter patience will do.
                self._group = distributed.new_group(backend="gloo", timeout=timedelta(seconds=ANSWER_SECONDS))
        except (RuntimeError, ValueError) as error:
            raise RankLost(
                f"the {self.size} ranks of torchrun did not find each other: {_first_line(error)}",
                "start the same command on all of them; `env -u RANK cgnn ...` is a single process",
            ) from error

    def _meet(self, patience: timedelta) -> None:
        """Make the default group of all ranks; what an earlier attempt of torchrun left in its store is not read."""
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store, rank, size = next(self._distributed.rendezvous("env://", timeout=patience))
        own = self._distributed.PrefixStore(f"cgnn-{attempt}", store)
        self._distributed.init_process_group("gloo", store=own, rank=rank, world_size=size, timeout=patience)

    def send(
        self, rank: int, header: dict[str, Any], common: Arrays, own: Arrays, seconds: float = ANSWER_SECONDS
    ) -> None:
        """Send a header with arrays: those for all ranks, which are broadcast later if they are large, and its own.

        What is small goes in one message: each costs some changes between processes.
        """
        import numpy as np

        text = json.dumps({**header, "common": _layout(common), "own": _layout(own)}).encode()
        inside = [array.tobytes() for arrays in (common, own) if _are_small(arrays) for array in arrays]
        content = b"".join([text, *inside])
        whole = np.concatenate([np.array([len(text), len(content)]).view(np.uint8), np.frombuffer(content, np.uint8)])
        head = np.zeros(HEAD_BYTES, np.uint8)
        head[: len(whole)] = whole[:HEAD_BYTES]
        for part in (head, whole[HEAD_BYTES:], *(() if _are_small(own) else own)):
            self._move(part, rank, seconds, lambda chunk: self._distributed.isend(chunk, rank, self._group))

    def expect(self, rank: int) -> None:
        """Be ready for the next header of a rank, which then need not wait for it."""
        import numpy as np

        if rank not in self._expected:
            head = np.empty(HEAD_BYTES, np.uint8)
            with self._reaching(rank, ANSWER_SECONDS):
                self._expected[rank] = head, self._receive(self._torch.from_numpy(head), rank)

    def receive(self, rank: int, seconds: float) -> tuple[dict[str, Any], Arrays, Arrays]:
        """The next header of a rank, for which it has so many seconds, with the arrays for all and its own."""
        import numpy as np

        def fill(array: np.ndarray) -> np.ndarray:
            self._move(array, rank, ANSWER_SECONDS, lambda chunk: self._receive(chunk, rank))
            return array

        self.expect(rank)
        head, work = self._expected.pop(rank)
        with self._reaching(rank, seconds):
            work.wait(timedelta(seconds=seconds))
        length, size = head[:LENGTH_BYTES].view(np.int64).tolist()
        rest = fill(np.empty(max(0, LENGTH_BYTES + size - HEAD_BYTES), np.uint8))
        content = np.concatenate([head[LENGTH_BYTES:], rest])
        header, place = json.loads(content[:length].tobytes()), length
        common, own = (_empty(header.pop(name)) for name in ("common", "own"))
        for array in (array for arrays in (common, own) if _are_small(arrays) for array in arrays):
            array.reshape(-1).view(np.uint8)[:] = content[place : place + array.nbytes]
            place += array.nbytes
        for array in () if _are_small(own) else own:
            fill(array)
        return header, common, own

    def broadcast(self, common: Arrays) -> None:
        """Give the arrays for all ranks that are large to the others, who have such arrays to fill."""
        send = self._distributed.broadcast
        for array in () if _are_small(common) else common:
            self._move(array, None, ANSWER_SECONDS, lambda chunk: send(chunk, 0, self._group, async_op=True))

    def _receive(self, chunk: Any, rank: int) -> Any:
        return self._distributed.irecv(chunk, rank, self._group)

    def _move(self, array: np.ndarray, rank: int | None, seconds: float, begin: Callable[[Any], Any]) -> None:
        """Begin to move each chunk of an array, and wait for it."""
        import numpy as np

        flat = array.reshape(-1).view(np.uint8)
        with self._reaching(rank, seconds):
            for start in range(0, len(flat), CHUNK_BYTES):
                chunk = self._torch.from_numpy(flat[start : start + CHUNK_BYTES])
                begin(chunk).wait(timedelta(seconds=seconds))

    @contextlib.contextmanager
    def _reaching(self, rank: int | None, seconds: float) -> Iterator[None]:
        """Tell of a rank that cannot be reached."""
        try:
            yield
        except RuntimeError as error:
            who = "another rank" if rank is None else f"rank {rank}"
            silent = "imed out" in str(error)
            what = f"has not answered for {seconds:.0f} s" if silent else "has ended, or its machine cannot be reached"
            raise RankLost(f"{who} of {self.size} {what}", HINT) from error


def _are_small(arrays: Arrays) -> bool:
    return sum(array.nbytes for array in arrays) <= SMALL_BYTES


def _layout(arrays: Arrays) -> list[tuple[str, tuple[int, ...]]]:
    return [(array.dtype.str, array.shape) for array in arrays]


def _empty(layout: list[tuple[str, list[int]]]) -> list[np.ndarray]:
    """Arrays to be filled."""
    import numpy as np

    return [np.empty(tuple(shape), kind) for kind, shape in layout]


def _first_line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0]


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let the system end this process: compiled code waits for minutes, where no other handler would come to run."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _prints_on_standard_error() -> Iterator[None]:
    """What a library prints while it starts is no result."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
