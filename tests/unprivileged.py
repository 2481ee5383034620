"""Commands run in a process that file permissions hold for, also where the tests run as root."""

import ctypes
import json
import os
import subprocess
import sys

from tests.front_door import Result

PR_CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2
RUN_ALL = """
import contextlib, io, json, sys
from cgnn_cli.commands.main import main
results = []
for command in json.load(sys.stdin):
    sys.argv, out, err, code = ["cgnn", *command], io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


def _drop_root_rights() -> None:
    """What root could do against permissions; it is gone after the exec that follows."""
    library = ctypes.CDLL(None, use_errno=True)
    for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
        if library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def run_unprivileged(*commands: tuple[str, ...]) -> list[Result]:
    """Run commands one after another in a process of their own, which cannot read or write what its user may not."""
    drop = _drop_root_rights if os.geteuid() == 0 else None
    process = [sys.executable, "-c", RUN_ALL]
    done = subprocess.run(
        process, input=json.dumps(commands), capture_output=True, text=True, timeout=120, check=True, preexec_fn=drop
    )
    return [Result(*found) for found in json.loads(done.stdout)]
