"""The file that says which jobs of Slurm to ask for; tests/faults/test_clusters.py submits some."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cgnn_cli.errors import ClusterError
from cgnn_cli.execution.slurm import SlurmJobs, read_slurm

GOOD = 'workers = 4\nmemory = "8GB"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workers = ", "cannot be read"),
        (GOOD + "worker = 4", "worker = 4 is not one of workers, memory"),
        (GOOD.replace("4", '"4"'), "workers = '4' is not one of .* or of its type"),
        (GOOD.replace("4", "true"), "workers = True is not"),
        (GOOD.replace("4", "0"), "workers must be at least 1, got 0"),
        (GOOD + "cores = 0", "cores must be at least 1, got 0"),
        (GOOD + 'directives = "--gres"', "directives = '--gres' is not"),
        (GOOD + "directives = [1]", "directives is not a list of lines"),
        ("workers = 4", "does not say memory"),
        ('memory = "8GB"', "does not say workers"),
    ],
)
def test_a_file_with_a_slip_is_refused(text: str, message: str) -> None:
    path = Path("slurm.toml")
    path.write_text(text)
    with pytest.raises(ClusterError, match=message):
        read_slurm(path)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"missing.toml cannot be read"):
        read_slurm(Path("missing.toml"))


def test_all_that_can_be_said() -> None:
    path = Path("slurm.toml")
    path.write_text(GOOD + 'cores = 2\nwalltime = "1:00"\ndirectives = ["--gres=gpu:1"]\nprologue = ["module load x"]')
    assert read_slurm(path)["directives"] == ["--gres=gpu:1"]


def test_jobs_that_end_are_replaced_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlurmJobs, "RENEWAL_SECONDS", 0.0)
    scaled: list[int] = []
    cluster: Any = SimpleNamespace(workers={"a": 1, "b": 2}, scale=scaled.append, scheduler_info={"workers": {}})
    jobs = SlurmJobs(cluster, 2, [])
    jobs.renew()
    assert not scaled and not jobs.is_over()
    cluster.workers.clear()
    for _ in range(10):
        jobs.renew()
    assert scaled == [2, 2, 2] and jobs.is_over()
    jobs.renewals = 0  # a sign of work
    assert not jobs.is_over()
    jobs.refused.append("no such account")
    assert jobs.is_over()
    cluster.scheduler_info["workers"]["tls://worker"] = {}
    assert not jobs.is_over(), "one works on"


def test_jobs_are_not_replaced_at_once() -> None:
    """While the first are being submitted, none of them is known yet."""
    scaled: list[int] = []
    cluster: Any = SimpleNamespace(workers={}, scale=scaled.append, scheduler_info={"workers": {}})
    jobs = SlurmJobs(cluster, 2, [])
    jobs.renew()
    assert not scaled and not jobs.is_over()


def test_a_refused_job_is_told() -> None:
    cluster: Any = SimpleNamespace(workers={})
    with pytest.raises(ClusterError, match="could not be submitted: no such partition"):
        SlurmJobs(cluster, 1, ["no such\npartition"]).check()
