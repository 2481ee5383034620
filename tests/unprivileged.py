"""Commands run in a process that file permissions hold for, also where the tests run as root."""

import ctypes
import os
import subprocess
import sys

PR_CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2


def _drop_root_rights() -> None:
    """What root could do against permissions; it is gone after the exec that follows."""
    library = ctypes.CDLL(None, use_errno=True)
    for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
        if library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def run_unprivileged(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which cannot read or write what its user may not."""
    command = [sys.executable, "-m", "cgnn_cli", *map(str, arguments)]
    drop = _drop_root_rights if os.geteuid() == 0 else None
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, preexec_fn=drop)
