"""CPU time of `cgnn --help` and of a cache hit, as ratios to importing the libraries they cannot do without.

    python benchmarks/startup.py

All sides run in turns, each in a process of its own, after a round without a clock; the median of the rounds counts.
"""

import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 15
COMMANDS = {
    "import typer, rich, numpy, h5py": ["-c", "import typer, rich, numpy, h5py"],
    "cgnn --help": ["-m", "cgnn_cli", "--help"],
    "cgnn commute (cache hit)": ["-m", "cgnn_cli", "commute", "--dataset", "demo", "--quiet"],
}


def cpu_seconds(arguments: list[str], folder: str) -> float:
    """User and system time of one process."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS + 1):
            for name, arguments in COMMANDS.items():
                taken = cpu_seconds(arguments, folder)
                if number:
                    times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    reference = next(iter(medians.values()))
    for name, seconds in medians.items():
        print(f"{name:<34} {seconds:6.3f} s   {seconds / reference:5.2f} x")


if __name__ == "__main__":
    main()
