"""A batch system for tests: the programs of Slurm that scripts call, and jobs that run on this machine.

`sbatch`, `srun`, `scontrol` and `scancel` are `programs.py`, and leave what they are asked for in a folder. A `Slurm`
reads it there: it starts jobs when what they depend on is done, and sends the signals of a time limit or a preemption.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clusters import free_port
from tests.faults.processes import program, wait_for

NAMES = ("sbatch", "srun", "scontrol", "scancel")
PROGRAMS = Path(__file__).with_name("programs.py")
MEGABYTES = {"M": 1, "G": 1024}


@dataclass
class Job:
    """A script that was submitted, or one task of an array of it."""

    number: int
    asked: dict[str, Any]
    variables: dict[str, str]
    folder: Path
    task: int | None = None
    process: subprocess.Popen[bytes] | None = None
    codes: list[int] = field(default_factory=list)
    state: str = "pending"

    @property
    def name(self) -> str:
        return str(self.number) if self.task is None else f"{self.number}_{self.task}"

    @property
    def attempt(self) -> int:
        """How often it was requeued, if it runs; -1 if it does not."""
        return len(self.codes) if self.state == "running" else -1

    @property
    def output(self) -> str:
        """What its script and its tasks have printed, of all its attempts."""
        return (self.folder / f"{self.name}.out").read_text(encoding="utf-8")


def free_number() -> int:
    """The number of a job by which our scripts, which add 20000 to its last four digits, find a free port."""
    while True:
        number = free_port() % 10_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", 20_000 + number))
            return number


class Slurm:
    """A cluster of one machine."""

    def __init__(self, folder: Path, patch: str = "") -> None:
        """Put the programs, and a `cgnn` that runs a patch first, into a folder."""
        self.folder, self.jobs = folder, list[Job]()
        for name in ("bin", "submitted", "requeued", "cancelled", "tasks"):
            (folder / name).mkdir(parents=True)
        (folder / "submitted" / "first").write_text(str(free_number()))
        for name in NAMES:
            self._write(name, f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAMS}" {name} "$@"\n')
        self._write("cgnn", f"#!{sys.executable}\n{program(patch)}\n")
        self._write("torchrun", f'#!/bin/sh\nexec "{sys.executable}" -m torch.distributed.run "$@"\n')

    def _write(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """In which its programs are found."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        here = str(PROGRAMS.parents[2])
        return {**os.environ, "PATH": path, "STUB_SLURM": str(self.folder), "PYTHONPATH": here, "OMP_NUM_THREADS": "1"}

    def shell(self, script: str) -> str:
        """What a script prints that somebody runs on the login node."""
        done = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        return done.stdout

    def run(self) -> list[Job]:
        """Let jobs run until none is left that could."""
        wait_for(lambda: not self.step())
        return self.jobs

    def end(self) -> None:
        """Leave no process behind."""
        for job in self.jobs:
            if job.process is not None and job.process.poll() is None:
                os.killpg(job.process.pid, signal.SIGKILL)

    def step(self) -> bool:
        """Start what can be started and see what has ended; whether anything is under way."""
        before = [job.state for job in self.jobs]
        self._read()
        for job in self.jobs:
            if job.state == "pending":
                self._begin(job)
            elif job.state == "running":
                self._look_at(job)
        return "running" in (states := [job.state for job in self.jobs]) or states != before

    def _read(self) -> None:
        """Take up what was submitted."""
        known = {str(job.number) for job in self.jobs}
        for path in sorted((self.folder / "submitted").glob("*.json")):
            if path.stem in known:
                continue
            asked = json.loads(path.read_text())
            tasks = asked["array"]
            first, last = map(int, tasks.split("-")) if tasks else (0, 0)
            for task in range(first, last + 1):
                variables = _variables(asked)
                if tasks:
                    more = {"JOB_ID": path.stem, "TASK_ID": task, "TASK_MIN": first, "TASK_MAX": last}
                    more |= {"TASK_COUNT": last - first + 1, "TASK_STEP": 1}
                    variables |= {f"SLURM_ARRAY_{name}": str(value) for name, value in more.items()}
                self.jobs.append(Job(int(path.stem), asked, variables, self.folder, task if tasks else None))

    def _begin(self, job: Job) -> None:
        """Start a job whose dependencies allow it; one that can never start is cancelled where it asks for that."""
        kind, _, numbers = (job.asked["dependency"] or "afterok:").partition(":")
        assert kind == "afterok", job
        before = [other for other in self.jobs if str(other.number) in numbers.split(":")]
        if any(other.state in ("failed", "cancelled") for other in before):
            if job.asked["kill_on_invalid_dep"] == "yes":
                job.state = "cancelled"
        elif all(other.state == "completed" for other in before):
            variables = {**job.variables, "SLURM_JOB_ID": str(job.number), "SLURM_RESTART_COUNT": str(len(job.codes))}
            variables["STUB_JOB"] = job.name
            with open(self.folder / f"{job.name}.out", "ab") as out:
                job.process = subprocess.Popen(
                    ["bash", self.folder / "submitted" / f"{job.number}.sh"],
                    env={**job.asked["environment"], **variables},
                    cwd=job.asked["folder"],
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            job.state = "running"

    def _look_at(self, job: Job) -> None:
        assert job.process is not None
        cancelled = (self.folder / "cancelled" / job.name).exists()
        if cancelled:
            os.killpg(job.process.pid, signal.SIGTERM)
        if job.process.poll() is None and not cancelled:
            return
        job.codes.append(job.process.wait())
        mark = self.folder / "requeued" / job.name
        if cancelled:
            job.state = "cancelled"
        elif mark.exists():
            assert job.asked["requeue"], "Slurm requeues only what may be requeued"
            mark.unlink()
            job.state = "pending"
        else:
            job.state = "failed" if job.codes[-1] else "completed"

    def time_is_short(self, job: Job) -> None:
        """Send what `--signal` asks for: to the tasks of `srun`, with `B:` to the script alone."""
        name = job.asked["signal"].partition("@")[0]
        number = signal.Signals[f"SIG{name.removeprefix('B:')}"]
        if name.startswith("B:"):
            assert job.process is not None
            job.process.send_signal(number)
        else:
            self._send(job, number)

    def preempt(self, job: Job) -> None:
        """Tell the tasks of a job to end, as for a more important one."""
        self._send(job, signal.SIGTERM)

    def _send(self, job: Job, number: signal.Signals) -> None:
        for path in (self.folder / "tasks").glob(f"{job.name}.*"):
            os.kill(int(path.name.rpartition(".")[2]), number)


def _variables(asked: dict[str, Any]) -> dict[str, str]:
    """What Slurm tells a job of what it was granted."""
    nodes, tasks = int(asked["nodes"]), int(asked["nodes"]) * int(asked["ntasks_per_node"])
    told = {"JOB_NUM_NODES": nodes, "NNODES": nodes, "NTASKS": tasks, "JOB_NODELIST": f"here[1-{nodes}]"}
    told |= {
        "CPUS_PER_TASK": asked["cpus_per_task"],
        "MEM_PER_NODE": int(asked["mem"][:-1]) * MEGABYTES[asked["mem"][-1]],
    }
    return {f"SLURM_{name}": str(value) for name, value in told.items()}
