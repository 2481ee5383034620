"""Training starts light: nothing but `cgnn_cli.pyg` imports torch-geometric, and no training loads it."""

import re
import subprocess
import sys
from pathlib import Path

import cgnn_cli

PACKAGE = Path(cgnn_cli.__file__).parent
HEAVY = ("torch_geometric", "torch._dynamo", "sklearn", "networkx")

EVERY_MODEL = """
import sys
import numpy as np
from cgnn_cli import api
from cgnn_cli.models.model_table import MODELS

rng = np.random.default_rng(0)
adjacency = (rng.random((30, 30)) < 0.2) * (1 - np.eye(30))
graph = api.graph_from_arrays(adjacency, features=rng.random((30, 4)), labels=np.arange(30) % 2, split_count=1)
times = api.commute(graph, api.dilap(api.rewire(graph)))
for model in MODELS:
    config = api.train_config(model=model, hidden=4, epochs=1, pretrain_epochs=1)
    api.fit(graph, api.make_operators(graph, times, config), config, 0)
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""

COMMAND = """
import sys
from cgnn_cli.commands.main import main

heavy, sys.argv = sys.argv[1:], ["cgnn", "train", "--dataset", "demo", "--split", "0", "--epochs", "1", "--quiet"]
try:
    main()
finally:
    print("loaded:", *(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *HEAVY]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)


def test_no_model_loads_torch_geometric(tmp_path: Path) -> None:
    assert run(EVERY_MODEL, tmp_path).stdout.split() == []


def test_the_command_does_not_load_it_either(tmp_path: Path) -> None:
    done = run(COMMAND, tmp_path)
    assert Path(tmp_path / done.stdout.strip()).exists() and done.stderr.splitlines()[-1] == "loaded:"


def test_nothing_else_imports_it() -> None:
    importing = re.compile(r"^\s*(from|import) torch_geometric", flags=re.MULTILINE)
    files = {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if importing.search(path.read_text())
    }
    assert {name for name in files if not name.startswith("pyg/")} == set()
