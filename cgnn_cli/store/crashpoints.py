"""Crash points: named steps of publishing and of clean-up at which a test can kill the process.

A no-op unless the environment variable CGNN_CRASH_AT names the point.
"""

import os
import signal

POINTS = ("temporary-opened", "half-written", "written", "verified", "synced", "renamed", "protected", "recorded")


def crash_point(name: str) -> None:
    """Kill this process without any clean-up if a test asked for it."""
    if os.environ.get("CGNN_CRASH_AT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
