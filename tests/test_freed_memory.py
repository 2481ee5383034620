"""Freed blocks of memory are kept where that is asked for, and given back afterwards."""

import os
import resource

import pytest
import torch

from cgnn_cli.freed_memory import keeping_blocks

SIZE = 96 << 20  # beyond what glibc keeps by itself
PAGES = SIZE // resource.getpagesize()
GLIBC = bool(os.confstr_names.get("CS_GNU_LIBC_VERSION") and os.confstr("CS_GNU_LIBC_VERSION"))


def pages_of_a_block() -> int:
    """The fewest pages that the system prepares for one of several blocks; not every block fits where one was freed."""
    fewest = SIZE
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(SIZE, dtype=torch.uint8)
        fewest = min(fewest, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return fewest


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


@pytest.mark.skipif(not GLIBC, reason="another library keeps blocks by its own rules")
def test_a_block_that_was_freed_is_handed_out_again_and_given_back_at_the_end() -> None:
    assert pages_of_a_block() >= PAGES  # each is prepared anew
    with keeping_blocks():
        assert pages_of_a_block() < PAGES / 4
        held = resident()
    assert resident() < held - PAGES / 2
    assert pages_of_a_block() >= PAGES


def test_without_room_nothing_changes() -> None:
    with keeping_blocks(worth_it=False):
        assert pages_of_a_block() >= PAGES
