"""The programs of Slurm for scripts in tests: each leaves what it is asked for in the folder STUB_SLURM.

They take the options that our scripts use, and refuse others, as Slurm refuses what it does not know.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from argparse import ArgumentParser
from itertools import count
from pathlib import Path

FOLDER = Path(os.environ["STUB_SLURM"])
OPTIONS = {  # their short forms and defaults
    "job-name": ("-J", None),
    "output": ("-o", None),
    "error": ("-e", None),
    "partition": ("-p", None),
    "account": ("-A", None),
    "time": ("-t", None),
    "ntasks": ("-n", "1"),
    "nodes": ("-N", "1"),
    "array": ("-a", None),
    "dependency": ("-d", None),
    "ntasks-per-node": (None, "1"),
    "cpus-per-task": ("-c", "1"),
    "mem": (None, "1G"),
    "gres": (None, None),
    "signal": (None, None),
    "open-mode": (None, "truncate"),
    "kill-on-invalid-dep": (None, "no"),
}


def sbatch(words: list[str]) -> int:
    """Submit a script: options of the command line win over those of its lines `#SBATCH`."""
    parser = ArgumentParser("sbatch", allow_abbrev=False)
    for name, (short, default) in OPTIONS.items():
        parser.add_argument(*filter(None, (short, f"--{name}")), default=default)
    parser.add_argument("--parsable", action="store_true")
    parser.add_argument("--requeue", action="store_true")
    parser.add_argument("script", nargs="?")
    text = Path(str(parser.parse_args(words).script)).read_text(encoding="utf-8")
    lines = [line.removeprefix("#SBATCH") for line in text.splitlines() if line.startswith("#SBATCH")]
    asked = vars(parser.parse_args([*(word for line in lines for word in shlex.split(line)), *words]))
    folder = FOLDER / "submitted"
    for number in count(int((folder / "first").read_text())):
        try:
            (folder / f"{number}.sh").open("x").write(text)
        except FileExistsError:
            continue
        unfinished = folder / f"{number}.tmp"
        unfinished.write_text(json.dumps({**asked, "folder": os.getcwd(), "environment": dict(os.environ)}))
        unfinished.rename(folder / f"{number}.json")
        print(number if asked["parsable"] else f"Submitted batch job {number}")
        return 0
    return 1


def srun(command: list[str]) -> int:
    """Start a command once for each task of the job, pass signals on to them, and end with the worst exit code."""
    tasks = int(os.environ["SLURM_NTASKS"])
    per_node = tasks // int(os.environ["SLURM_NNODES"])
    started = []
    for task in range(tasks):
        place = {"PROCID": task, "NODEID": task // per_node, "LOCALID": task % per_node}
        own = {f"SLURM_{name}": str(value) for name, value in place.items()}
        started.append(subprocess.Popen(command, env={**os.environ, **own}))
        (FOLDER / "tasks" / f"{os.environ['STUB_JOB']}.{started[-1].pid}").touch()

    def pass_on(number: int, frame: object) -> None:
        for process in started:
            process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, pass_on)
    codes = [process.wait() for process in started]
    for process in started:
        (FOLDER / "tasks" / f"{os.environ['STUB_JOB']}.{process.pid}").unlink()
    return max(code if code >= 0 else 128 - code for code in codes)


def scontrol(words: list[str]) -> int:
    """Requeue a job, or write out the machines of a list."""
    match words:
        case ["requeue", job]:
            (FOLDER / "requeued" / job).touch()
        case ["show", "hostnames", nodes] if nodes == os.environ["SLURM_JOB_NODELIST"]:
            print("\n".join(["localhost"] * int(os.environ["SLURM_NNODES"])))
        case _:
            return 1
    return 0


def scancel(words: list[str]) -> int:
    """Cancel jobs."""
    for job in words:
        (FOLDER / "cancelled" / job).touch()
    return 0


if __name__ == "__main__":
    sys.exit({"sbatch": sbatch, "srun": srun, "scontrol": scontrol, "scancel": scancel}[sys.argv[1]](sys.argv[2:]))
