"""A model from outside the package: declared, registered, trained, swept, reported; and the page that shows how."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cgnn_cli.configs import TrainConfig, option
from cgnn_cli.errors import UsageError
from cgnn_cli.models.model_table import MODELS, register
from cgnn_cli.settings import KEYS
from tests.front_door import run_process

ROOT = Path(__file__).parents[2]
SGC = Path(__file__).with_name("sgc")
SHORT = ("--dataset", "demo", "--model", "sgc", "--epochs", 5)


def cgnn(*arguments: object, models: str = "tests.extending.sgc") -> subprocess.CompletedProcess[str]:
    return run_process(*arguments, fresh=True, CGNN_EXTENSIONS=models, PYTHONPATH=str(ROOT))


def test_the_page_shows_the_files_as_they_are() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    for name in ("__init__.py", "network.py"):
        assert (SGC / name).read_text(encoding="utf-8") in blocks, name


def test_it_is_trained_swept_and_reported() -> None:
    done = cgnn("run", *SHORT, "--sgc-steps", 1, "--split", 0, "--no-compare")
    assert done.returncode == 0 and "direction undirected" in done.stderr, done
    for jobs in (1, 2):
        swept = cgnn("sweep", *SHORT, "--set", "train.sgc_steps=1,2", "--split", jobs - 1, "--jobs", jobs)
        assert swept.returncode == 0 and all(f"sgc_steps={steps}" in swept.stdout for steps in (1, 2)), swept
    report = cgnn("report")
    assert report.returncode == 0 and "sgc" in Path(report.stdout.strip()).read_text(encoding="utf-8"), report


def test_help_explains_its_option_under_its_name() -> None:
    row = r"  --sgc-steps INTEGER +Steps of propagation\. \[default: 2\]\n"
    assert re.search(r"\nModel sgc:\n" + row, cgnn("train", "--help-all").stdout)
    assert re.search(row, cgnn("models", "sgc").stdout)


def test_without_its_module_it_is_unknown_and_what_it_made_says_so() -> None:
    checkpoint = cgnn("train", *SHORT, "--split", 0).stdout.strip()
    for arguments in (("train", *SHORT), ("predict", "--input", checkpoint, "-o", "classes.csv")):
        failed = cgnn(*arguments, models="")
        assert failed.returncode == 2 and "sgc" in failed.stderr, failed


def test_a_module_that_is_not_there_is_named() -> None:
    failed = cgnn("models", models="nowhere")
    assert failed.returncode == 2, failed
    assert failed.stderr.startswith("error: CGNN_EXTENSIONS: nowhere cannot be imported")
    assert cgnn("--help", models="nowhere").returncode == 0


def test_the_declaration_does_not_import_torch() -> None:
    code = """
import sys
from tests.extending.sgc import SgcConfig
from cgnn_cli import settings
assert SgcConfig.own_options() == ("sgc_steps",) and "train.sgc_steps" in settings.KEYS and "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


class OtherOrder(TrainConfig):
    model: str = "other"
    own_option: int = option(1, "An option that no other model has.")
    order: float = option(0.5, "Of another type than magnet's.")


def test_an_option_of_another_model_is_not_declared_anew() -> None:
    with pytest.raises(UsageError, match="--order is declared in two ways"):
        register(OtherOrder)
    assert "other" not in MODELS and "train.own_option" not in KEYS
