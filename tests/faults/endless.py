"""A call of compiled code that neither ends nor hears a signal nor lets another thread run, as some of LAPACK's."""

from itertools import repeat

from cgnn_cli.apart import Arrays, Telling


def spin(arrays: Arrays, telling: Telling) -> None:
    telling.expect(1e6, "seconds of an endless call")
    sum(repeat(1, 1 << 62))
