"""The lowest supported versions, really run: a fast part of the tests in an environment of nothing newer.

    python -m tests.oldest

torch alone is the one of constraints.txt, not its lower bound: older builds for a CPU are in no plain index.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.wheel import CONSTRAINTS, PIP, ROOT, Unavailable, installed, run

TOOLS = ("hypothesis", "networkx", "pytest", "pytest-timeout")
TESTS = (
    "tests/numerics",
    "tests/solvers",
    "tests/operators",
    "tests/datasets/files",
    "tests/store",
    "tests/models/test_every_model.py",
    "tests/stages/test_golden.py",
    "tests/cli/test_init.py",
)
BOUND = re.compile(r"([a-z0-9-]+)>=([0-9.]+)")


def lowest() -> list[str]:
    """What is needed, each in the series that its lowest supported version begins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["plot"], *(line for line in extras["dev"] if line.startswith(TOOLS))]
    bounds = {match[1]: match[2] for line in lines if (match := BOUND.fullmatch(line))}
    pinned = re.search(r"^torch==(\S+)$", CONSTRAINTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert pinned is not None
    return [*(f"{name}=={version}.*" for name, version in bounds.items() if name != "torch"), f"torch=={pinned[1]}"]


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "oldest", folder=folder)
        python = folder / "oldest" / "bin" / "python"
        try:
            installed(python, *PIP, "install", *lowest(), folder=folder)
        except Unavailable as reason:
            print(f"oldest: skipped, for the packages cannot be installed here: {reason}")
            return 0
        print(run(python, "-m", "pip", "list", "--format", "freeze", folder=folder))
        inherited = {**os.environ, "PYTHONPATH": str(ROOT)}  # for the processes that tests start elsewhere
        command = [str(python), "-m", "pytest", "-n", "auto", "--dist", "worksteal", *TESTS]  # as `make test` does
        return subprocess.run(command, cwd=ROOT, env=inherited, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
