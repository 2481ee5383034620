"""Runs docs/notebook.ipynb, from its first cell to its last, and keeps what the cells show.

python docs/make_notebook.py           runs the cells in a folder of their own, and writes down what they show
"""

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("notebook.ipynb")


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell as a notebook does; its outputs: what it prints, and what its last expression is."""
    tree, told = ast.parse(source), io.StringIO()
    last = ast.Expression(end.value) if isinstance(end := tree.body[-1], ast.Expr) else None
    tree.body = tree.body if last is None else tree.body[:-1]
    with contextlib.redirect_stdout(told):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if told.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": told.getvalue().splitlines(keepends=True)})
    if value is not None:
        picture = value._repr_svg_() if hasattr(value, "_repr_svg_") else ""
        data = {"text/plain": ["a picture"], "image/svg+xml": [picture]} if picture else {"text/plain": [repr(value)]}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The names that the cells leave; the notebook has what they showed."""
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = run_cell("".join(cell["source"]), names)
    return names


def main() -> None:
    notebook = json.loads(PAGE.read_text(encoding="utf-8"))
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            run(notebook)
        finally:
            os.chdir(before)
    PAGE.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
