"""Guards over the source: nothing executes data, and imports point one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cgnn_cli

PACKAGE = Path(cgnn_cli.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
PICKLERS = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
UNPICKLING_CALLS = {"load", "read_pickle", "jit.load"}
EXCEPTIONS = {"datasets/restricted_pickle.py": ["import of pickle"]}

# commands -> runner, pipeline -> stages -> numerics, models -> graph, configs, errors: who may not import whom.
ABOVE_STAGES = {"commands", "runner", "pipeline", "store", "datasets"}
FORBIDDEN: dict[str, set[str]] = {
    "runner": {"commands"},
    "pipeline": {"commands", "runner"},
    "datasets": {"commands", "runner"},
    "store": {"commands", "runner", "pipeline", "datasets", "stages", "models", "numerics"},
    "stages": ABOVE_STAGES,
    "models": {*ABOVE_STAGES, "stages", "operators"},
    "operators": {*ABOVE_STAGES, "stages"},
    "numerics": {*ABOVE_STAGES, "stages", "models", "graph"},
    "graph": {*ABOVE_STAGES, "stages", "models"},
    "configs": {*ABOVE_STAGES, "stages", "models", "numerics", "graph"},
    "errors": {*ABOVE_STAGES, "stages", "models", "numerics", "graph", "configs"},
}


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Dotted names of everything imported, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(tree: ast.Module) -> Iterator[str]:
    """What could execute data or hand text to a shell."""
    for name in imports_of(tree):
        if set(name.split(".")) & PICKLERS:
            yield f"import of {name}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in ("eval", "exec", "compile", "__import__", "os.system", "os.popen"):
            yield f"call of {called}"
        if called.startswith("torch.") and called.removeprefix("torch.") in UNPICKLING_CALLS:
            yield f"call of {called}"
        if called.startswith("joblib.") and called.endswith((".load", ".dump")):
            yield f"call of {called}"
        for keyword in node.keywords:
            if keyword.arg in ("shell", "allow_pickle") and ast.unparse(keyword.value) != "False":
                yield f"{called}({keyword.arg}={ast.unparse(keyword.value)})"
        if called.endswith(("np.load", "numpy.load")) and not any(word.arg == "allow_pickle" for word in node.keywords):
            yield f"{called} that does not say allow_pickle=False"


def part_of(path: Path) -> str:
    """The module or folder of the package that a file belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_in_the_package_executes_data(path: Path) -> None:
    admitted = EXCEPTIONS.get(path.relative_to(PACKAGE).as_posix(), [])
    assert list(violations(parse(path))) == admitted


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "def f():\n    from pickle import loads",
        "import torch\ntorch.load('x')",
        "import torch\ntorch.jit.load('x')",
        "import joblib\njoblib.load('x')",
        "eval('1')",
        "exec('1')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import numpy as np\nnp.load('x', allow_pickle=flag)",
        "import numpy as np\nnp.load('x')",
    ],
)
def test_the_guard_sees_what_it_is_meant_to_see(source: str) -> None:
    assert len(list(violations(ast.parse(source)))) == 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    imported = {name.split(".")[1] for name in imports_of(parse(path)) if name.startswith("cgnn_cli.")}
    forbidden = FORBIDDEN.get(part, set() if part in ("commands", "__main__") else {"commands"})
    assert not imported & forbidden


def test_every_part_of_the_order_is_there() -> None:
    assert {part_of(path) for path in SOURCES} >= FORBIDDEN.keys()


def test_stages_and_numerics_touch_no_files() -> None:
    for part in ("stages", "numerics", "models", "operators"):
        for path in (PACKAGE / part).glob("*.py"):
            tree = parse(path)
            roots = {name.split(".")[0] for name in imports_of(tree)}
            assert not roots & {"os", "pathlib", "shutil", "h5py", "filelock", "typer", "rich"}, path
            called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            assert not called & {"open", "print", "input"}, path
