"""Many small trainings while their processes are killed at random, and the store is cleaned and verified beside them.

python -m tests.faults.soak [TRAININGS] [SEED]      prints what was done to them, and what was lost

The moments are counted in results: after so many new ones, drawn from a seed, a worker or the driver gets SIGKILL.
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from tests.faults.processes import artifacts_of, payload_of, wait_for

SHARE_OF_DRIVERS = 0.3
SPLITS = 2
Kills = Iterator[tuple[int, str]]
"""After so many new results, who is killed: a `worker` or the `driver`."""


@dataclass
class Tally:
    """What was done, and what was lost: results that are missing or not those of the undisturbed trainings."""

    trainings: int
    rounds: int = 0
    workers_killed: int = 0
    drivers_killed: int = 0
    gc_runs: int = 0
    verify_runs: int = 0
    lost: int = 0
    left_running: int = 0
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0


def drawn(seed: int, most: int) -> Kills:
    """Kills without end, each after 1 to `most` new results."""
    random = Random(seed)
    while True:
        yield random.randint(1, most), "driver" if random.random() < SHARE_OF_DRIVERS else "worker"


def sweep(trainings: int, store: Path, jobs: int = 2) -> list[object]:
    """The command of so many trainings: on two splits with as many learning rates as it takes."""
    rates = ",".join(f"{0.001 * (1 + number):.3f}" for number in range(trainings // SPLITS))
    splits = [word for split in range(SPLITS) for word in ("--split", split)]
    tiny = ("--solver", "pi-only", "--epochs", 2, "--hidden", 4, "--set", f"train.lr={rates}")
    return ["sweep", "--dataset", "demo", *splits, *tiny, "--jobs", jobs, "--store", store, "--json", "--quiet"]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "cgnn_cli", *map(str, arguments)]


def complete(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, however long it takes."""
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False)


def soak(folder: Path, trainings: int, kills: Kills) -> Tally:
    """Train undisturbed in one process, then disturbed on two workers, again and again until all is done."""
    began, tally = time.monotonic(), Tally(trainings)
    calm, store = folder / "calm", folder / "store"
    undisturbed = complete(*sweep(trainings, calm, jobs=1))
    assert all_done(undisturbed.stdout), undisturbed.stderr
    seen: set[psutil.Process] = set()
    with beside(tally, store):
        done = False
        while not done:
            tally.rounds += 1
            output = folder / f"round-{tally.rounds}.json"
            with output.open("w") as out, output.with_suffix(".err").open("w") as err:
                driver = subprocess.Popen(command(*sweep(trainings, store)), stdout=out, stderr=err)
                try:
                    disturb(driver, store, kills, tally, seen)
                finally:
                    driver.kill()
                    driver.wait()
            note_complaints(tally, output.with_suffix(".err").read_text())
            done = driver.returncode == 0 and all_done(output.read_text())
    wait_for(lambda: not any(process.is_running() for process in seen))
    tally.left_running = sum(process.is_running() for process in seen)
    tally.lost = len(set(payloads(calm).items()) ^ set(payloads(store).items())) + trainings - len(payloads(store))
    tally.seconds = round(time.monotonic() - began, 1)
    return tally


def disturb(
    driver: subprocess.Popen[bytes], store: Path, kills: Kills, tally: Tally, seen: set[psutil.Process]
) -> None:
    """Kill workers, and at last the driver, unless it ends before."""
    for more, victim in kills:
        enough = count(store) + more
        wait_for(lambda enough=enough: driver.poll() is not None or count(store) >= enough)  # type: ignore[misc]
        workers = children(driver)
        seen.update(workers)
        if driver.poll() is not None:
            return
        if victim == "driver":
            driver.kill()
            driver.wait()
            tally.drivers_killed += 1
            return
        if workers:
            workers[0].kill()
            tally.workers_killed += 1
    driver.wait()


@contextmanager
def beside(tally: Tally, store: Path) -> Iterator[None]:
    """Run `cgnn cache gc` and `cgnn cache verify` in turn meanwhile, each at least once."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set() or not tally.verify_runs:
            for what in ("gc", "verify"):
                result = complete("cache", what, "--store", store)
                note_complaints(tally, result.stdout + result.stderr, result.returncode)
            tally.gc_runs += 1
            tally.verify_runs += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def note_complaints(tally: Tally, said: str, code: int = 0) -> None:
    """Whatever speaks of damage: nothing may ever be found damaged, and every clean-up and check succeeds."""
    if code or "damaged" in said or "quarantin" in said or "Traceback" in said:
        tally.complaints.append(f"exit code {code}: {said}")


def children(driver: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(driver.pid).children()
    except psutil.NoSuchProcess:
        return []


def count(store: Path) -> int:
    return len(list(store.glob("fit/*.h5")))


def payloads(store: Path) -> dict[str, str]:
    """The content of all trainings by key."""
    return {path.stem: payload_of(path) for path in artifacts_of(store, "fit")}


def all_done(output: str) -> bool:
    return bool(output) and all(row["status"] == "done" for row in json.loads(output)["summary"]["configurations"])


def main(trainings: int = 200, seed: int = 0) -> int:
    """Soak, and say what came of it; the exit code is 1 where anything was lost."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        tally = soak(Path(folder), trainings, drawn(seed, most=max(2, trainings // 15)))
    print(json.dumps(dataclasses.asdict(tally)))
    return int(bool(tally.lost or tally.complaints or tally.left_running))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
