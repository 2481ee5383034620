"""Trainings on a dask cluster: the results of one process, and nothing lost when workers or the scheduler die."""

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.clusters import DaskCluster, dask_cluster
from tests.faults.processes import Finished, artifacts_of, finish, payload_of, run, start, wait_for
from tests.faults.test_jobs import ENDLESS, epochs_in
from tests.faults.test_reproductions import tables_in

LINEAR = ("--dataset", "demo", "--model", "linear", "--split", 0, "--quiet")
SWEEP = ("sweep", *LINEAR, "--split", 1, "--set", "train.lr=0.1,0.01", "--epochs", 3, "--json")
EXPERIMENT = ("reproduce", "weights", "--quick", "--models", "cgnn-paper,cgnn-paper-none", "--quiet")
LONG = ("train", *LINEAR, "--epochs", ENDLESS, "--patience", ENDLESS, "--snapshot-seconds", 0, "--store", "store")
SBATCH = """#!/bin/sh
cp "$1" script.sh
setsid sh script.sh > job.out 2>&1 &
echo $! > job.pid
echo "Submitted batch job 7"
"""
SCANCEL = """#!/bin/sh
echo "$1" > cancelled
kill -- -$(cat job.pid)
"""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as found:
        yield found


def payloads(store: str) -> dict[str, str]:
    return {path.name: payload_of(path) for path in artifacts_of(Path(store))}


def test_a_sweep_on_two_workers_here_is_that_of_one_process() -> None:
    alone = run(*SWEEP, "--store", "alone").json
    together = run(*SWEEP, "--store", "together", "--cluster", "local:2").json
    for told in (alone["summary"], together["summary"]):
        for row in told["configurations"]:
            del row["seconds"]
    assert alone["summary"]["configurations"] == together["summary"]["configurations"]
    assert payloads("alone") == payloads("together")


def test_a_reproduction_loses_nothing_with_a_worker(cluster: DaskCluster) -> None:
    """It is killed with its process at work; dask gives its step to the other."""
    assert run(*EXPERIMENT, "--store", "alone", "--output", "alone-out").code == 0
    process = start(*EXPERIMENT, "--store", "store", "--output", "out", "--cluster", cluster.address)
    wait_for(lambda: len(cluster.computing()) == 2 and any(epochs_in("store")))
    cluster.workers[0].kill()
    done = finish(process)
    assert done.code == 0, done
    assert tables_in(Path("out")) == tables_in(Path("alone-out"))
    assert payloads("store") == payloads("alone")


def test_a_scheduler_that_dies_ends_it_with_75_and_a_rerun_goes_on(cluster: DaskCluster) -> None:
    def begun(least: int) -> subprocess.Popen[str]:
        process = start(*LONG, "--cluster", cluster.address)
        wait_for(lambda: sum(epochs_in("store")) > least)
        return process

    process = begun(3)
    cluster.kill_scheduler()
    lost = finish(process)
    assert (lost.code, lost.out) == (75, ""), lost
    assert "is lost; what its workers had finished and saved is kept" in lost.err
    wait_for(lambda: all(worker.poll() is not None for worker in cluster.workers))
    wait_for(lambda: bool(list(Path("store/partial").glob("*.h5"))))

    cluster.start(1)
    process = begun(sum(epochs_in("store")))
    process.send_signal(signal.SIGINT)
    stopped = finish(process)
    assert (stopped.code, stopped.out) == (130, ""), stopped
    assert "going on with" in stopped.err and "run the same command again" in stopped.err
    wait_for(lambda: not cluster.computing())
    assert cluster.workers[-1].poll() is None, "what was there stays"


def test_a_process_that_is_killed_is_tried_again(cluster: DaskCluster) -> None:
    """Three times: then it is a failure of that step, and the worker lives."""
    process = start(*LONG, "--cluster", cluster.address)
    killed = set[int]()
    while len(killed) < 3:
        child = next_process(cluster, killed)
        child.kill()
        killed.add(child.pid)
    failed = finish(process)
    assert (failed.code, failed.out) == (7, ""), failed
    assert "of split 0, in 3 attempts: a worker process was killed" in failed.err.splitlines()[-1]
    assert all(worker.poll() is None for worker in cluster.workers)


def next_process(cluster: DaskCluster, killed: set[int]) -> psutil.Process:
    """The process that takes the place of those that were killed."""
    found: list[psutil.Process] = []

    def is_there() -> bool:
        found[:] = [child for child in cluster.computing() if child.pid not in killed]
        return bool(found)

    wait_for(is_there)
    return found[0]


def on_slurm(*words: object, sbatch: str = SBATCH) -> Finished:
    """Run a command where the commands of Slurm run the job here."""
    Path("bin").mkdir()
    for name, script in (("sbatch", sbatch), ("scancel", SCANCEL)):
        path = Path("bin", name)
        path.write_text(script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return run(*words, "--cluster", "slurm.toml", PATH=f"{Path('bin').absolute()}:{os.environ['PATH']}")


def test_jobs_of_slurm_are_submitted_and_cancelled() -> None:
    lines = ("workers = 1", 'memory = "2GB"', "cores = 2", 'queue = "short"', 'walltime = "01:00:00"')
    more = ('prologue = ["echo begun > prologue"]', 'directives = ["--constraint=fast"]', 'interface = "lo"')
    Path("slurm.toml").write_text("\n".join((*lines, *more)))
    words = ("train", *LINEAR, "--epochs", 2)
    done = on_slurm(*words, "--store", "store")
    assert done.code == 0, (done, Path("job.out").read_text())
    script = Path("script.sh").read_text()
    for line in ("-p short", "--cpus-per-task=2", "--mem=2G", "-t 01:00:00", "--constraint=fast"):
        assert f"#SBATCH {line}\n" in script
    assert Path("prologue").exists() and Path("cancelled").read_text() == "7\n"
    assert run(*words, "--store", "alone").code == 0
    assert payloads("store") == payloads("alone")
    assert not list(Path("store").glob(".*")), "certificates and answers are gone"


def test_a_job_that_slurm_refuses_is_one_line() -> None:
    Path("slurm.toml").write_text('workers = 1\nmemory = "2GB"\ninterface = "lo"')
    refused = on_slurm(
        "train", "--dataset", "demo", "--quiet", sbatch="#!/bin/sh\necho 'invalid account' >&2\nexit 1\n"
    )
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert "a job could not be submitted" in refused.err and "invalid account" in refused.err
