"""Ranks for the tests: those that torchrun starts, forked ones, which begin sooner, and one that this process leads."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch

from cgnn_cli.numerics.distributed import DistributedRows
from cgnn_cli.ranks import leading, team
from tests.faults.processes import Finished, finish, program
from tests.forks import server

SCRIPT = "ranked_cgnn.py"


def variables(rank: int, port: int) -> dict[str, str]:
    """What torchrun tells one of two ranks."""
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    return {**place, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "tests"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def two_ranks(patched: str = "") -> Iterator[leading.Group]:
    """Two ranks, the other a process that runs a patch first. This one leads where `leading.GROUP` is set to them."""
    port = free_port()
    with patch.dict(os.environ, variables(0, port)):
        other = server().start([], patched, {**os.environ, **variables(1, port)}, subprocess.PIPE)
        leading.lead()
    group, leading.GROUP = leading.GROUP, None
    assert group is not None
    try:
        yield group
    finally:
        group.leave(0)
        DistributedRows.known.clear()
        team.GROUPS.clear()
        torch.distributed.destroy_process_group()
    assert finish(other) == Finished(0, "", "")


def start_ranks(*arguments: object, patches: tuple[str, str] = ("", "")) -> list[subprocess.Popen[str]]:
    """Two forked ranks of one command, each with a patch of its own."""
    port, words = free_port(), [*map(str, arguments)]
    return [
        server().start(words, patched, {**os.environ, **variables(rank, port)}, subprocess.PIPE)
        for rank, patched in enumerate(patches)
    ]


def torchrun(*arguments: object, patched: str = "", attempts: int = 1) -> Finished:
    """A command as torchrun starts it in two processes, each of which runs a patch first."""
    how = ["-m", "cgnn_cli"]
    if patched:
        Path(SCRIPT).write_text(program(patched), encoding="utf-8")
        how = [SCRIPT]
    options = ["--nproc-per-node", "2", "--max-restarts", str(attempts - 1), "--master-port", str(free_port())]
    process = subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *options, *how, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    return finish(process)
