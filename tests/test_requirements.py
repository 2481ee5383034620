"""What the package needs, beside what is installed."""

import re
import tomllib
from pathlib import Path

import pytest

from cgnn_cli import requirements
from cgnn_cli.requirements import Need, needs

ROOT = Path(__file__).parents[1]
OF_CONDA = {"pytorch": "torch", "matplotlib-base": "matplotlib"}  # names of conda-forge


def test_everything_that_is_needed_is_there_and_fits() -> None:
    found = list(needs())
    assert {"torch", "numpy", "scipy", "typer"} <= {need.name for need in found if need.extra is None}
    assert {"plot", "cluster"} <= {need.extra for need in found if need.extra}
    assert not {"dev", "docs"} & {need.extra for need in found}
    assert all(need.fits for need in found if need.extra is None)


@pytest.mark.parametrize(
    ("range", "installed", "fits"),
    [
        (">=2.4", "2.13.0+cpu", True),
        (">=2.4", "2.4", True),
        (">=2.4.0", "2.4", True),
        (">=2.4", "2.3.9", False),
        (">=2.4", None, False),
        ("<3,>=1.26", "2.4.6", True),
        (">=1.26,<2", "2.0", False),
        ("==1.2", "1.2.0rc1", True),
        ("", "0.1", True),
    ],
)
def test_ranges(range: str, installed: str | None, fits: bool) -> None:
    assert Need("some", range, None, installed).fits is fits


def test_lines_of_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "torch>=2.4",
        "matplotlib>=3.8; extra == 'plot'",
        'cgnn[plot]; extra == "dev"',
        "pytest>=8; extra == 'dev'",
    ]
    lines += ["nothing-of-that-name (>=1) ; python_version > '3' and extra == \"plot\""]
    monkeypatch.setattr(requirements.metadata, "requires", lambda name: lines)
    found = [(need.name, need.range, need.extra) for need in needs()]
    assert found == [("torch", ">=2.4", None), ("matplotlib", ">=3.8", "plot"), ("nothing-of-that-name", ">=1", "plot")]
    assert list(needs())[-1].installed is None


def test_the_environment_of_conda_has_the_bounds_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = re.findall(
        r"^ +- ([\w.-]+)>=([\d.]+)$", (ROOT / "environment.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    wanted = [
        f"python{project['requires-python']}",
        *project["dependencies"],
        *project["optional-dependencies"]["plot"],
    ]
    assert sorted(f"{OF_CONDA.get(name, name)}>={bound}" for name, bound in listed) == sorted(wanted)
