"""The other examples of CONTRIBUTING.md, as the page shows them: a solver, a dataset and an experiment from outside."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.front_door import run_process

ROOT = Path(__file__).parents[2]


def cgnn(example: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    done = run_process(*arguments, fresh=True, CGNN_EXTENSIONS=f"tests.extending.{example}", PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done
    return done


@pytest.mark.parametrize("name", ["degree_solver", "ring_dataset", "width_experiment"])
def test_the_page_shows_the_file_as_it_is(name: str) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    assert text in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)


def test_a_solver_from_outside_gives_times_that_are_exported() -> None:
    made = json.loads(cgnn("degree_solver", "commute", "--dataset", "demo", "--solver", "degrees", "--json").stdout)
    assert made["summary"]["steps_in_all"] > 0 and made["summary"]["commute"]["minimum"] > 0
    cgnn("degree_solver", "export", made["key"], "--to", "csv", "--output", "times.csv")
    assert Path("times.csv").read_text().startswith("source,target,hitting,")


def test_a_dataset_from_outside_is_listed_and_trained_on() -> None:
    Path("mirror/rings").mkdir(parents=True)
    rows = (f"{node} {(node + 1) % 100} {node // 50}" for node in range(100))
    Path("mirror/rings/rings.txt").write_text("\n".join(rows) + "\n")
    assert "rings" in cgnn("ring_dataset", "data", "list").stdout
    train = ("run", "--dataset", "rings", "--model", "mlp", "--epochs", 20, "--split", 0)
    done = cgnn("ring_dataset", *train, "--mirror", Path("mirror").absolute(), "--accept-standin", "--json")
    assert json.loads(done.stdout)["summary"]["test_accuracy"]["mean"] > 0.5


def test_an_experiment_from_outside_is_listed_and_done() -> None:
    assert "widths" in cgnn("width_experiment", "reproduce", "--list").stdout
    page = Path(cgnn("width_experiment", "reproduce", "widths", "--quick").stdout.strip())
    assert "width 8" in page.read_text(encoding="utf-8")
