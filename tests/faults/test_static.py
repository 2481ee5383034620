"""Guards over the source: nothing executes data, imports point one way, and stages are listed in one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cgnn_cli
from cgnn_cli.pipeline import STAGES, role_name

PACKAGE = Path(cgnn_cli.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
PICKLERS = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
UNPICKLING_CALLS = {"load", "read_pickle", "jit.load"}
SPLITTERS = {"split", "rsplit", "partition", "rpartition"}
EXCEPTIONS = {"datasets/upstream/restricted_pickle.py": ["import of pickle"]}

LONGEST_FUNCTION = 60
TURNS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
def test_case_27_nothing_in_the_package_executes_data(path: Path) -> None:
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


def parts_imported() -> dict[str, set[str]]:
    """Which parts of the package, folders and modules of its top, each part imports, lazily or not."""
    found: dict[str, set[str]] = {}
    for path in SOURCES:
        names = [name.split(".")[1] for name in imports_of(parse(path)) if name.startswith("cgnn_cli.")]
        found.setdefault(part_of(path), set()).update(name for name in names if name != "__version__")
    return {part: names - {part} for part, names in found.items()}


def order_of(imported: dict[str, set[str]]) -> list[str]:
    """The parts from the bottom up; what hangs in a circle is left out."""
    order: list[str] = []
    while found := sorted(part for part in imported if part not in order and imported[part] <= set(order)):
        order += found
    return order


def test_no_two_parts_import_each_other_by_any_way() -> None:
    imported = parts_imported()
    order = order_of(imported)
    assert set(imported) == set(order), f"in a circle: {sorted(set(imported) - set(order))}"
    for lower, higher in (("errors", "configs"), ("graph", "stages"), ("pipeline", "store"), ("report", "paper")):
        assert order.index(lower) < order.index(higher)
    assert order.index("commands") > max(order.index(part) for part in ("execution", "paper", "workspace", "datasets"))


def test_the_guard_sees_circles() -> None:
    assert order_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["d"]


@pytest.mark.parametrize("path", sorted((PACKAGE / "commands").glob("*.py")), ids=lambda path: path.name)
def test_commands_call_no_numerics_models_or_stages(path: Path) -> None:
    below = ("numerics", "models", "stages", "solvers", "operators")
    assert not [name for name in imports_of(parse(path)) if name.split(".")[1:2] and name.split(".")[1] in below]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_function_is_long(path: Path) -> None:
    """But for the options of a command, which are a list."""
    for node in ast.walk(parse(path)):
        if isinstance(node, TURNS):
            length = (node.end_lineno or 0) - node.body[0].lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name}: {length} lines"


def test_the_package_stays_small() -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES) <= 45_000


def test_stages_and_numerics_touch_no_files() -> None:
    for part in ("stages", "numerics", "models", "operators"):
        for path in (PACKAGE / part).rglob("*.py"):
            tree = parse(path)
            roots = {name.split(".")[0] for name in imports_of(tree)}
            assert not roots & {"os", "pathlib", "shutil", "h5py", "filelock", "typer", "rich"}, path
            called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            assert not called & {"open", "print", "input"}, path


# --- the one table of stages -----------------------------------------------------------------------------------------


def stage_lists(tree: ast.Module) -> Iterator[str]:
    """What belongs into the table of stages: literals that name two or more, and code that takes a role apart."""
    exported = [node.value for node in tree.body if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node)]
    for node in ast.walk(tree):
        if node in exported:  # names of functions, some of which are those of stages
            continue
        members = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = [member.value for member in members if isinstance(member, ast.Constant) and member.value in STAGES]
        if len(names) > 1:
            yield f"list of {', '.join(names)}"
        if isinstance(node, ast.Constant) and node.value in {role_name(stage, "") for stage in STAGES}:
            yield f"role {node.value}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SPLITTERS:
            first = node.args[0] if node.args else None
            if "role" in ast.unparse(node.func.value) and isinstance(first, ast.Constant) and first.value == "-":
                yield ast.unparse(node)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_table_lists_stages_and_takes_roles_apart(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    assert name == "pipeline.py" or not list(stage_lists(parse(path)))


@pytest.mark.parametrize(
    "source",
    [
        "x = ('train', 'eval')",
        "x = ['graph', other, 'rewire']",
        "x = {'fit', 'train'}",
        "x = {'dilap': 1, **more, 'commute': 2}",
        "Kind = Literal['train', 'eval']",
        "role.split('-')",
        "role_of_input.partition('-')[0]",
        "role.startswith('fit-')",
        "f'operators-{kind}'",
    ],
)
def test_the_guard_sees_every_list_of_stages(source: str) -> None:
    assert len(list(stage_lists(ast.parse(source)))) == 1
