"""Wrong use, help, start-up cost."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from cgnn_cli.errors import EXIT_CODES, CgnnError
from cgnn_cli.models.model_table import MODELS
from cgnn_cli.settings import KEYS
from tests.front_door import FrontDoor, run_process


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["commute", "--dataset", "demo", "--rank", "0"], "--rank must be at least 1"),
        (["commute", "--dataset", "demo", "--rank", "many"], "--rank"),
        (["commute", "--dataset", "demo", "--scale", "0"], "--scale must be a positive number"),
        (["commute", "--dataset", "demo", "--scale", "nan"], "--scale must be a positive number"),
        (["commute", "--dataset", "demo", "--proximity", "inverse", "--scale", "median"], "inverse takes a number"),
        (["commute", "--dataset", "demo", "--solver", "pi-only", "--proximity", "ratio"], "same weight"),
        (["commute", "--dataset", "demo", "--solver", "magic"], "'svd', 'exact', 'series', 'sketch', 'pi-only'"),
        (["commute", "--rnk", "5"], "--rank"),
        (["comute"], "commute"),
        (["train", "--dataset", "demo", "--lr", "nan"], "--lr must be a finite number"),
        (["train", "--dataset", "demo", "--lr", "0"], "--lr must be greater than 0"),
        (["train", "--dataset", "demo", "--dropout", "1"], "--dropout must be at most 0.99"),
        (["train", "--dataset", "demo", "--head-layers", "0", "--jumping-knowledge", "max"], "--head-layers 1"),
        (["train", "--dataset", "demo", "--split", "5"], "splits 0 to 4"),
        (["train", "--dataset", "demo", "--device", "tpu9"], "--device"),
        (["train", "--dataset", "demo", "--device", "cuda"], "--device cpu"),
        (["run", "--dataset", "dmo"], "did you mean demo?"),
        (["export"], "ARTIFACT"),
    ],
)
def test_wrong_use_is_one_line_with_exit_code_2(cgnn: FrontDoor, arguments: list[str], said: str) -> None:
    assert said in cgnn.fails(2, *arguments)


def test_divergence_is_a_numerical_error(cgnn: FrontDoor) -> None:
    options = ("--lr", "1e12", "--epochs", 50, "--dropout", 0, "--split", 0)
    assert "smaller --lr" in cgnn.fails(8, "train", "--dataset", "demo", *options)


def test_a_bug_is_exit_code_1_without_traceback(cgnn: FrontDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("something unforeseen")

    monkeypatch.setattr("cgnn_cli.stages.rewire.similarity_order", broken)
    assert "bug in cgnn" in cgnn.fails(1, "rewire", "--dataset", "demo")
    assert "Traceback" in cgnn("--debug", "rewire", "--dataset", "demo").err


def test_a_group_without_a_command_shows_its_help(cgnn: FrontDoor) -> None:
    for arguments in (("data",), ("cache",), ("config",)):
        result = cgnn(*arguments)
        assert result.code == 2 and "Usage: cgnn" in result.out + result.err and "error" not in result.err


def test_exit_codes_are_unique() -> None:
    codes = [error.exit_code for error in CgnnError.__subclasses__()]
    assert len(set(codes)) == len(codes) and set(codes) <= set(EXIT_CODES)


def test_option_names_are_unique_over_the_stages() -> None:
    names = [key.name for key in KEYS.values()]
    assert len(set(names)) == len(names)


def test_the_table_of_models_and_the_options_agree() -> None:
    assert get_args(KEYS["train.model"].kind) == tuple(MODELS)
    assert {f"train.{option}" for model in MODELS.values() for option in model.own_options()} <= KEYS.keys()


def test_help_lists_the_stages_in_order_with_an_example_each(cgnn: FrontDoor) -> None:
    text = " ".join(cgnn.ok("--help-all").out.split())
    examples = [
        "cgnn rewire --dataset demo",
        "cgnn dilap --dataset demo",
        "cgnn commute --dataset demo --rank 5",
        "cgnn train --layers 2 --hidden 64",
        "cgnn eval --dataset demo",
    ]
    places = [text.index(example) for example in examples]
    assert places == sorted(places)


def test_version_names_the_libraries(cgnn: FrontDoor) -> None:
    out = cgnn.ok("--version").out
    assert out.startswith("cgnn ") and "torch " in out and "h5py " in out


HEAVY = """
import sys
from collections.abc import Sequence
sys.argv = ["cgnn", *{arguments!r}]
try:
    from cgnn_cli.commands.main import main
    main()
except SystemExit as stop:
    assert not stop.code
heavy = {{name.split(".")[0] for name in sys.modules}} & {{"torch", "torch_geometric", "scipy"}}
print(*sorted(heavy), file=sys.stderr)
"""


def heavy_imports(*arguments: str) -> set[str]:
    """Which of the slow libraries a command imports, in a process of its own."""
    code = HEAVY.format(arguments=list(arguments))
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    return set(process.stderr.splitlines()[-1].split())


def test_help_data_rewire_and_cache_hits_do_not_import_torch() -> None:
    assert heavy_imports("--help") == set()
    assert "torch" not in heavy_imports("rewire", "--dataset", "demo")
    assert "torch" not in heavy_imports("commute", "--dataset", "demo")
    assert heavy_imports("commute", "--dataset", "demo") == set()
    assert "torch" not in heavy_imports("data", "show", "demo")
    run_process("eval", "--dataset", "demo", "--epochs", 1, "--hidden", 2, "--split", 0)
    assert heavy_imports("eval", "--dataset", "demo", "--epochs", "1", "--hidden", "2", "--split", "0") == set()


TURNS = """
import os, subprocess, sys
def once(command):
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
ours, theirs = (part.split("\\n") for part in sys.argv[2:])
ratios = (once(ours) / once(theirs) for _ in range(12))
sys.exit(not any(ratio <= float(sys.argv[1]) for ratio in ratios))
"""


def costs_at_most(times: float, ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """By user and system times of two commands, in turns: what else runs slows neighbours in time alike.

    It can only make a turn dearer, so the first that is cheap enough decides.
    """
    command = [sys.executable, "-c", TURNS, str(times), "\n".join(ours), "\n".join(theirs)]
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, check=False, env=compiled).returncode == 0


def test_start_up_costs_at_most_two_and_a_half_times_the_imports() -> None:
    run_process("commute", "--dataset", "demo")
    imports = (sys.executable, "-c", "import typer, rich, numpy, h5py")
    for arguments in (["--help"], ["commute", "--dataset", "demo"]):
        assert costs_at_most(2.5, (sys.executable, "-m", "cgnn_cli", *arguments), imports), arguments


def test_no_color_and_plain_lines_when_not_on_a_terminal() -> None:
    process = run_process("run", "--epochs", 1, "--hidden", 2, "--split", 0)
    assert process.returncode == 0
    assert "\x1b" not in process.stdout + process.stderr
    forced = run_process("commute", "--dataset", "nothing", fresh=True, FORCE_COLOR="1", NO_COLOR="1")
    assert forced.returncode == 2 and "\x1b" not in forced.stderr
    assert Path(process.stdout.strip()).exists()
