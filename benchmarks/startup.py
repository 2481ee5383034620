"""CPU time of `cgnn --help` and of a cache hit, as ratios to importing the libraries they cannot do without.

    python benchmarks/startup.py

All sides run interleaved in one process after the other; the least of several rounds counts.
"""

import os
import subprocess
import sys
import tempfile

ROUNDS = 7
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
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(COMMANDS["cgnn commute (cache hit)"], folder)
        rounds = [{name: cpu_seconds(arguments, folder) for name, arguments in COMMANDS.items()} for _ in range(ROUNDS)]
    least = {name: min(times[name] for times in rounds) for name in COMMANDS}
    reference = next(iter(least.values()))
    for name, seconds in least.items():
        print(f"{name:<34} {seconds:6.3f} s   {seconds / reference:5.2f} x")


if __name__ == "__main__":
    main()
