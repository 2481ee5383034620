"""`--cluster FILE.toml`: jobs of Slurm as workers, which dask-jobqueue submits and cancels."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

from cgnn_cli.errors import ClusterError
from cgnn_cli.resources import settings_text

FIELDS: dict[str, type] = {
    "workers": int,
    "memory": str,
    "cores": int,
    "walltime": str,
    "queue": str,
    "account": str,
    "interface": str,
    "python": str,
    "log_directory": str,
    "directives": list,
    "prologue": list,
}
SAME_NAME = ("memory", "walltime", "queue", "account", "interface", "python", "log_directory")


def read_slurm(path: Path) -> dict[str, Any]:
    """The file that says which jobs to ask for."""
    try:
        values = tomllib.loads(settings_text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ClusterError(
            f"--cluster {path} cannot be read: {error}", "docs/batch-jobs.md shows such a file"
        ) from error
    for name, value in values.items():
        if type(value) is not FIELDS.get(name):
            raise ClusterError(f"--cluster {path}: {name} = {value!r} is not one of {', '.join(FIELDS)} or of its type")
        if isinstance(value, list) and not all(isinstance(line, str) for line in value):
            raise ClusterError(f"--cluster {path}: {name} is not a list of lines", 'write it like ["--gres=gpu:1"]')
    for name in ("workers", "memory"):
        if name not in values:
            raise ClusterError(f"--cluster {path} does not say {name}", "docs/batch-jobs.md shows such a file")
    for name in ("workers", "cores"):
        if values.get(name, 1) < 1:
            raise ClusterError(f"--cluster {path}: {name} must be at least 1, got {values[name]}")
    return values


def certificates(folder: Path) -> Any:
    """Certificates of one cluster, written into a folder that its machines share and nobody else may read."""
    from distributed.security import Security

    made = Security.temporary().get_tls_config_for_role("worker")
    files = {name: folder / f"{name}.pem" for name in ("ca_file", "cert", "key")}
    for name, file in files.items():
        file.write_text(made[name])
    roles = ("client", "scheduler", "worker")
    named = {f"tls_{role}_{name}": str(files[name]) for role in roles for name in ("cert", "key")}
    return Security(require_encryption=True, tls_ca_file=str(files["ca_file"]), **named)


def start_slurm(path: Path, private: Path, preload: str) -> SlurmJobs:
    """Submit the jobs that a file asks for, a worker each; in a private folder they find their certificates."""
    from dask_jobqueue.slurm import SLURMCluster, SLURMJob

    values, refused = read_slurm(path), list[str]()

    class NotedJob(SLURMJob):
        """A job of which it is known why it could not be submitted: dask only logs it."""

        async def start(self) -> None:
            try:
                await super().start()
            except (OSError, RuntimeError, ValueError) as error:
                refused.append(str(error))
                raise

    job_class: Any = NotedJob
    try:
        cluster = SLURMCluster(
            n_workers=values["workers"],
            job_cls=job_class,
            cores=1,
            processes=1,
            job_cpu=values.get("cores", 1),
            job_extra_directives=values.get("directives", []),
            job_script_prologue=values.get("prologue", []),
            worker_extra_args=["--preload", preload],
            scheduler_options={"dashboard_address": None},
            protocol="tls://",
            security=certificates(private),
            silence_logs="critical",
            **{name: values[name] for name in SAME_NAME if name in values},
        )
    except (OSError, ValueError) as error:
        raise ClusterError(f"--cluster {path}: {error}", "docs/batch-jobs.md shows such a file") from error
    return SlurmJobs(cluster, values["workers"], refused)


class SlurmJobs:
    """A dask cluster of Slurm jobs. One whose time is over is replaced, but not for ever."""

    MOST_RENEWALS = 3  # without a sign of work in between
    RENEWAL_SECONDS = 30.0

    def __init__(self, cluster: Any, count: int, refused: list[str]) -> None:
        self.cluster, self.count, self.refused = cluster, count, refused
        self.renewals, self._renewed = 0, time.monotonic()

    def check(self) -> None:
        """Say why a job could not be submitted."""
        if self.refused:
            said = " ".join(self.refused[0].split())
            raise ClusterError(f"a job could not be submitted: {said}", "check the file, and that `sbatch` works here")

    def renew(self) -> None:
        """Submit jobs in the place of those that have ended."""
        is_due = time.monotonic() - self._renewed >= self.RENEWAL_SECONDS
        if is_due and len(self.cluster.workers) < self.count and self.renewals < self.MOST_RENEWALS:
            self.renewals, self._renewed = self.renewals + 1, time.monotonic()
            self.cluster.scale(self.count)

    def is_over(self) -> bool:
        """Whether no job works or waits, and none will be submitted."""
        if self.cluster.scheduler_info["workers"]:
            return False
        return bool(self.refused) or (not self.cluster.workers and self.renewals >= self.MOST_RENEWALS)
