"""Freed blocks of memory are kept where that is asked for, and given back afterwards."""

import json
import os
import subprocess
import sys

import pytest

SIZE = 96 << 20  # beyond what glibc keeps by itself
PAGES = SIZE // os.sysconf("SC_PAGE_SIZE")
GLIBC = "CS_GNU_LIBC_VERSION" in os.confstr_names and bool(os.confstr("CS_GNU_LIBC_VERSION"))
PROGRAM = f"""
import ctypes, json, resource
from cgnn_cli.freed_memory import keeping_blocks

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = ctypes.c_void_p(library.malloc(ctypes.c_size_t({SIZE})))
    ctypes.memset(block, 1, {SIZE})
    library.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

found = [pages(), pages()]
with keeping_blocks(worth_it=False):
    found += [pages(), pages()]
with keeping_blocks():
    found += [pages(), pages()]
    held = resident()
print(json.dumps([*found, held - resident()]))
"""


@pytest.mark.skipif(not GLIBC, reason="another library keeps blocks by its own rules")
def test_a_block_that_was_freed_is_handed_out_again_and_given_back_at_the_end() -> None:
    """Pages that the system prepares for each of several blocks, in a process where nothing was kept before."""
    made = subprocess.run([sys.executable, "-c", PROGRAM], check=True, stdout=subprocess.PIPE, text=True)
    *anew, again, given_back = json.loads(made.stdout)
    assert len(anew) == 5 and again < min(anew) / 4  # of 4 KiB, or of 2 MiB where all memory has such
    assert given_back > PAGES / 2
