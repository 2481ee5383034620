"""What ranks compute together: batches of which each has a part, averaged gradients, rows that are put together.

Nothing here goes through rank 0. Whoever fails lets the others know (`give_up`), who would wait for it otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

from cgnn_cli.errors import UsageError
from cgnn_cli.ranks.link import ANSWER_SECONDS, HINT, RankLost

GROUPS: dict[str, Any] = {}  # of all ranks, by backend, for as long as this process is one of them
KINDS = (torch.float32, torch.bfloat16, torch.float64)


@dataclass(frozen=True)
class Team:
    """All ranks at the same work. averaging: the processes by which gradients on their device are averaged."""

    rank: int
    size: int
    group: Any
    averaging: Any

    @classmethod
    def gathered(cls, device: torch.device) -> Team:
        """The team of all ranks, each of which calls this at the same time."""
        return cls(
            distributed.get_rank(),
            distributed.get_world_size(),
            _group("gloo"),
            _group("nccl" if device.type == "cuda" else "gloo"),
        )

    def averaged(self, network: nn.Module, *, leaves_out: bool) -> nn.Module:
        """The network, whose gradients are then the mean over the ranks; it starts with the weights of rank 0.

        leaves_out: whether some of its parameters have no gradient, which must be looked for in every step.
        """
        return nn.parallel.DistributedDataParallel(
            network, process_group=self.averaging, find_unused_parameters=self.mean(leaves_out) > 0
        )

    def part(self, batch: np.ndarray) -> tuple[np.ndarray, float]:
        """This rank's part of a batch, and the weight of its mean loss, so that the mean over ranks is the batch's.

        Every rank takes part in every step: where there are too few nodes it has one that counts for nothing.
        """
        own = np.array_split(batch, self.size)[self.rank]
        return (own, self.size * len(own) / len(batch)) if len(own) else (batch[:1], 0.0)

    def mean(self, value: float) -> float:
        """The mean of a number over the ranks."""
        total = torch.tensor([value, 0.0], dtype=torch.float64)
        distributed.all_reduce(total, group=self.group)
        if total[1]:
            raise RankLost(f"another of {self.size} ranks has failed", HINT)
        return float(total[0]) / self.size

    def give_up(self) -> None:
        """Let the others know that this rank has failed, where they wait for its `mean`."""
        distributed.all_reduce(torch.tensor([0.0, 1.0], dtype=torch.float64), group=self.group)

    def put_together(
        self, chunks: Sequence[slice], made: Callable[[slice], Sequence[Tensor]], count: int
    ) -> list[Tensor]:
        """The rows of all chunks of so many tensors, which the ranks make in turns.

        No rank waits for more than one chunk of another, so that the patience for a message is that for a chunk.
        """
        whole: list[Tensor] = []
        for start in range(0, len(chunks), self.size):
            turn = chunks[start : start + self.size]
            own = made(turn[self.rank]) if self.rank < len(turn) else ()
            whole = whole or self._room(own, count, chunks[-1].stop)
            for tensor, rows in zip(whole, own, strict=False):
                tensor[turn[self.rank]] = rows
            for tensor in whole:
                for rank, chunk in enumerate(turn):
                    distributed.broadcast(tensor[chunk].view(torch.uint8), rank, group=self.group)
        return whole

    def _room(self, first: Sequence[Tensor], count: int, rows: int) -> list[Tensor]:
        """Room for all rows; a rank that has made none hears from the others how wide they are, and of what numbers."""
        shapes = torch.zeros(count, 2, dtype=torch.int64)
        for shape, tensor in zip(shapes, first, strict=False):
            shape[:] = torch.tensor([tensor.shape[1], KINDS.index(tensor.dtype)])
        distributed.all_reduce(shapes, distributed.ReduceOp.MAX, group=self.group)
        return [torch.empty(rows, width, dtype=KINDS[kind]) for width, kind in shapes.tolist()]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Tell of a rank that is lost in the middle of what all do together; tell the others if this one fails."""
        try:
            yield
        except RankLost:
            raise
        except Exception as error:
            if not _is_of_others(error):
                with suppress(RuntimeError):  # where they are lost as well
                    self.give_up()
                raise
            silent = "imed out" in str(error)
            what = f"has not answered for {ANSWER_SECONDS:.0f} s" if silent else "has ended, or cannot be reached"
            raise RankLost(f"another of {self.size} ranks {what}", HINT) from error


def device_of_rank(kind: str) -> str:
    """The device of this rank, of those of its machine, where rank 0 works on one of a kind."""
    if kind != "cuda":
        return kind
    ranks, found = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
    if ranks > found:
        raise UsageError(
            f"each of {ranks} ranks needs a GPU of its own, and this machine has {found}",
            "start as many ranks as there are GPUs, or use --device cpu",
        )
    name = f"cuda:{os.environ['LOCAL_RANK']}"
    torch.cuda.set_device(name)
    return name


def _group(backend: str) -> Any:
    if backend not in GROUPS:
        GROUPS[backend] = distributed.new_group(backend=backend, timeout=timedelta(seconds=ANSWER_SECONDS))
    return GROUPS[backend]


def _is_of_others(error: Exception) -> bool:
    """Whether an error comes from what ranks say to each other; gloo raises plain ones, which name its files."""
    return isinstance(error, distributed.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error))
