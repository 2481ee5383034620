"""Trained networks in files: the loader of the documentation gives their class scores where cgnn cannot be imported."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cgnn_cli import NodeClassifier
from cgnn_cli.stages.train import forward
from cgnn_cli.workspace import Workspace
from tests.front_door import FrontDoor
from tests.python.frames import payments

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
TINY: dict[str, Any] = {"splits": [0, 2], "epochs": 3, "hidden": 4, "store": "store", "verbose": False}
NETWORKS: dict[str, dict[str, Any]] = {
    "cgnn": {"l2_norm": True, "batch_norm": True, "jumping_knowledge": "max", "activation": "elu"},
    "cgnn ppr": {"propagation": "ppr", "aggregation": "mean"},
    "cgnn sum": {"combine": "sum", "alpha": 1.0, "knn": 3},
    "dirgnn": {"jumping_knowledge": "cat", "activation": "gelu"},
    "dirgnn gcn": {"variant": "gcn", "encoding": "laplacian", "head_layers": 2},
    "sage": {"direction": "undirected", "label_walk": True},
    "gcn": {"head_layers": 0, "layers": 3},
    "appnp": {"activation": "tanh"},
    "mlp": {"layers": 3},
    "linear": {},
}
ALONE = "import sys\nsys.modules['cgnn_cli'] = None\nimport numpy, pathlib\n{loader}\n" + (
    "for path in sorted(pathlib.Path('.').glob('*.pt')):\n"
    "    network, inputs = load(path)\n"
    "    numpy.save(path.with_suffix('.npy'), network(**inputs).numpy())\n"
)


def loader() -> str:
    found = re.search(r"^```python\n(import json.*?)^network, inputs", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def scores(fitted: NodeClassifier, split: int) -> np.ndarray:
    """The class scores of a split's network, by cgnn itself."""
    space = Workspace(Path("store"))  # type: ignore[arg-type]
    trained = fitted._step(space)
    graph, checkpoint = space.runner.data(trained.inputs["graph"]), space.runner.data(trained)
    return forward(graph, space.runner.operators(trained), checkpoint, trained.config.train, split).logits.numpy()


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(found - expected).max() <= 1e-6 * max(1, np.abs(expected).max()))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_loader_of_thirty_lines_needs_torch_alone() -> None:
    source = loader()
    assert len([line for line in source.splitlines() if line.strip()]) <= 30
    expected = {}
    for name, options in NETWORKS.items():
        fitted = NodeClassifier(name.split()[0], **TINY, **options).fit(*payments())
        fitted.save(f"{name}.pt", split=2)
        expected[name] = scores(fitted, 2)
    subprocess.run([sys.executable, "-c", ALONE.format(loader=source)], check=True)
    for name, logits in expected.items():
        assert close(np.load(f"{name}.npy"), logits), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["cgnn", pytest.param("appnp", marks=pytest.mark.slow)])
def test_a_program_of_torch_export_takes_other_graphs_too(name: str) -> None:
    fitted = NodeClassifier(name, **TINY, **NETWORKS[name]).fit(*payments())
    fitted.save("network.pt2")
    about = {"about": ""}
    program = torch.export.load("network.pt2", extra_files=about)
    (x, edges), _ = program.example_inputs
    found = program.module()(x, edges).detach().numpy()
    assert close(found, scores(fitted, 0)) and f'"model": "{name}"' in about["about"]
    twice = {way: (torch.cat([ends, ends + len(x)], 1), values.repeat(2)) for way, (ends, values) in edges.items()}
    double = program.module()(torch.cat([x, x]), twice).detach().numpy()
    assert close(double, np.concatenate([found, found]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_command_line_writes_the_same_file(cgnn: FrontDoor) -> None:
    fitted = NodeClassifier("gcn", **TINY).fit(*payments())
    fitted.save("python.pt")
    train, scored = fitted.run_.checkpoint, fitted.run_.key
    for key, split in ((train, 0), (scored, 2)):
        told = cgnn.ok("export", key, "--to", "state-dict", "--output", "a.pt", "--split", split, "--store", "store")
        assert told.path == "a.pt"
    cgnn.ok("export", train, "--to", "state-dict", "--output", "first.pt", "--store", "store")
    made, own = (torch.load(path, weights_only=True) for path in ("first.pt", "python.pt"))
    assert made["config"] == own["config"] and (made["format"], made["version"]) == ("cgnn-network", 1)
    assert all((made["state_dict"][name] == own["state_dict"][name]).all() for name in own["state_dict"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_written_out_is_told(cgnn: FrontDoor) -> None:
    fitted = NodeClassifier("gat", **TINY).fit(*payments())
    asked = ("--output", "a.pt", "--store", "store")
    said = cgnn.fails(2, "export", fitted.run_.checkpoint, "--to", "state-dict", *asked)
    assert "this gat cannot be written out" in said
    said = cgnn.fails(2, "export", fitted.run_.checkpoint, "--to", "state-dict", "--split", 1, *asked)
    assert "--split 1: the given checkpoint has only the splits [0, 2]" in said
    assert "--to npz has all splits" in cgnn.fails(
        2, "export", fitted.run_.checkpoint, "--to", "npz", "--split", 0, *asked
    )
    assert "has no trained network" in cgnn.fails(2, "export", fitted.run_.graph_key, "--to", "torch-export", *asked)
    absorption = NodeClassifier("absorption", splits=[0], store="store", verbose=False).fit(*payments())
    said = cgnn.fails(2, "export", absorption.run_.checkpoint, "--to", "state-dict", *asked)
    assert "absorption trains no network" in said
    assert not Path("a.pt").exists()
