"""The scripts of docs/batch-jobs.md and docs/ranks.md do what these say, with a batch system of one machine."""

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.docs.test_docs import blocks_of
from tests.faults.processes import artifacts_of, payload_of, run, wait_for
from tests.faults.test_jobs import ENDLESS, epochs_in
from tests.faults.test_resume import HOLD
from tests.graphs import random_edges
from tests.slurm import Job, Slurm

NODES = 40
EPOCHS = 6
# Attempt 0 of a job waits for a signal after 3 epochs, attempt 1 after 5 more; then the training is not disturbed.
HELD = "import os" + HOLD.format(count='{"0": 3, "1": 5}.get(os.environ.get("SLURM_RESTART_COUNT"), 0)')
Start = Callable[..., Slurm]


def payloads(store: str) -> dict[str, str]:
    return {f"{path.parent.name}/{path.name}": payload_of(path) for path in artifacts_of(Path(store))}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a small graph of payments."""
    folder = tmp_path_factory.mktemp("imported")
    edges = "".join(f"{payer},{payee},{1 + payer % 7}\n" for payer, payee in random_edges(NODES, 4, 0))
    labels = "".join(f"{node},{'ok' if node % 3 else 'fraud'}\n" for node in range(NODES))
    (folder / "edges.csv").write_text("payer,payee,amount\n" + edges)
    (folder / "labels.csv").write_text("account,status\n" + labels)
    tables = ("--edges", folder / "edges.csv", "--labels", folder / "labels.csv", "--split-count", 2)
    done = run("data", "import", "payments", *tables, "--weight-column", "amount", "--store", folder / "store")
    assert done.code == 0, done
    return folder / "store"


@pytest.fixture(autouse=True)
def _settings(imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the page beside a store, and another copy of it for plain commands."""
    for page in ("batch-jobs.md", "ranks.md", "sweep.md"):
        for block in blocks_of(page):
            if len(block.info) == 2:
                Path(block.info[1]).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
    for store in ("cgnn", "plain"):
        shutil.copytree(imported, store)
    monkeypatch.setenv("SCRATCH", str(tmp_path))
    monkeypatch.setenv("CGNN_TRAIN_EPOCHS", str(EPOCHS))
    monkeypatch.setenv("CGNN_COMPUTE_THREADS", "1")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a batch system, whose `cgnn` runs a patch first."""
    started: list[Slurm] = []

    def begin(patch: str = "") -> Slurm:
        started.append(Slurm(tmp_path / "slurm", patch))
        return started[-1]

    yield begin
    for each in started:
        each.end()


def plainly(*lines: str) -> None:
    """Run commands one after another in a store of their own."""
    for line in lines:
        done = run(*shlex.split(line), "--store", "plain")
        assert done.code == 0, done


def test_a_gpu_job_follows_a_cpu_job_and_goes_on_after_each_signal(start: Start) -> None:
    slurm = start(HELD)
    slurm.shell(Path("submit.sh").read_text())
    signals: list[Callable[[Job], None]] = [slurm.time_is_short, slurm.preempt]
    for attempt, send in enumerate(signals):
        seen = (3, 8)[attempt]

        def is_held(attempt: int = attempt, seen: int = seen) -> bool:
            slurm.step()
            return slurm.jobs[-1].attempt == attempt and sum(epochs_in("cgnn")) >= seen

        wait_for(is_held)
        send(slurm.jobs[-1])
    commute, train = slurm.run()
    assert (commute.codes, train.codes) == ([0], [75, 75, 0]), train.output
    assert train.output.count("going on with") == 2 and "taking the newest commute artifact" in train.output
    plainly("commute --dataset payments --rank 5", "train --layers 2 --hidden 64")
    assert payloads("cgnn") == payloads("plain")


def test_no_gpu_job_starts_after_a_cpu_job_that_failed(start: Start) -> None:
    slurm = start()
    shutil.rmtree("cgnn")  # where payments were imported
    slurm.shell(Path("submit.sh").read_text())
    commute, train = slurm.run()
    assert (commute.state, commute.codes) == ("failed", [2]) and "unknown dataset 'payments'" in commute.output
    assert (train.state, train.codes) == ("cancelled", [])


def test_the_tasks_of_an_array_do_a_sweep_once(start: Start) -> None:
    slurm = start()
    slurm.shell("sbatch --array=1-2 --cpus-per-task=1 sweep.sbatch")
    tasks = slurm.run()
    assert [task.codes for task in tasks] == [[0], [0]], tasks[0].output
    done = [re.findall(r"^\d of 2  (layers=\d  lr=\S+)  validation", task.output, re.MULTILINE) for task in tasks]
    whole = run("sweep", "layers.toml", "--max-minutes", 0, "--store", "cgnn", "--json").json
    told = whole["summary"]["configurations"]
    assert all(row["status"] == "done" for row in told)
    assert [*map(len, done)] == [2, 2] and sorted(chain(*done)) == sorted(row["name"] for row in told)
    plainly("sweep layers.toml")
    assert payloads("cgnn") == payloads("plain")


def test_a_script_uses_the_path_that_is_printed(start: Start) -> None:
    start().shell("export CGNN_STORE=$SCRATCH/cgnn\n" + Path("train.sh").read_text())
    told = json.loads(Path("train.json").read_text())
    plainly("train --dataset payments")
    assert payloads("cgnn") == payloads("plain") and Path(told["artifact"]).is_file()


def on_two_machines(slurm: Slurm) -> None:
    """Submit what is to run over ranks, one on each machine."""
    script = Path("ranks.sbatch")
    script.write_text(script.read_text().replace("--nproc-per-node 8", "--nproc-per-node 1"))
    slurm.shell("sbatch ranks.sbatch")


@pytest.mark.slow
def test_ranks_on_two_machines_are_requeued_when_time_is_short(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CGNN_COMMUTE_PROBES", str(ENDLESS))
    monkeypatch.setenv("CGNN_COMPUTE_SNAPSHOT_SECONDS", "0")
    slurm = start()
    on_two_machines(slurm)
    wait_for(lambda: slurm.step() and any(Path("cgnn/partial").glob("*.h5")))
    (job,) = slurm.jobs
    slurm.time_is_short(job)
    wait_for(lambda: slurm.step() and job.attempt == 1 and "going on with" in job.output)
    assert job.codes == [75], job.output
    slurm.shell(f"scancel {job.name}")
    slurm.run()


@pytest.mark.slow
def test_ranks_on_two_machines_make_what_one_process_makes(start: Start) -> None:
    slurm = start()
    on_two_machines(slurm)
    (job,) = slurm.run()
    assert job.codes == [0], job.output
    plainly("commute --dataset payments --solver sketch")
    assert payloads("cgnn") == payloads("plain")


@pytest.mark.slow
def test_a_sweep_on_jobs_that_dask_submits(start: Start) -> None:
    slurm = start()
    Path("slurm.toml").write_text(
        'workers = 1\nmemory = "2GB"\ninterface = "lo"\nqueue = "short"\nwalltime = "04:00:00"\n'
    )
    slurm.shell("sbatch driver.sbatch")
    driver, worker = slurm.run()
    assert (driver.codes, worker.state) == ([0], "cancelled"), driver.output
    plainly("sweep layers.toml")
    assert payloads("cgnn") == payloads("plain")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("snakemake") is None, reason="snakemake is not installed: `make snakemake` does it")
def test_five_rules_of_snakemake(start: Start) -> None:
    slurm = start()
    slurm.shell(Path("snakemake.sh").read_text())
    told = json.loads(Path("scores.json").read_text())
    plainly("eval --dataset payments --rank 5 --layers 2 --hidden 64")
    assert payloads("cgnn") == payloads("plain") and told["command"] == "eval"
