"""The notebook runs from its first cell to its last, and ends in a decision."""

import json

from tests.docs.generators import generator_of


def test_the_notebook_runs() -> None:
    generator = generator_of("make_notebook")
    notebook = json.loads(generator.PAGE.read_text(encoding="utf-8"))
    kept = [cell.get("outputs") for cell in notebook["cells"]]
    names = generator.run(notebook)
    shown = [cell.get("outputs") for cell in notebook["cells"]]
    assert [bool(outputs) for outputs in shown] == [bool(outputs) for outputs in kept]
    assert "<svg " in shown[-1][0]["data"]["image/svg+xml"][0]
    assert names["ranking"]["in a ring"].mean() >= 0.5  # of the people without a label one in six is
    assert generator.PAGE.stat().st_size < 100_000


def test_a_cell_shows_what_it_prints_and_what_it_ends_with() -> None:
    run_cell = generator_of("make_notebook").run_cell
    printed, value = run_cell("print('a')\n1 + 1", {})
    assert printed["text"] == ["a\n"] and value["data"] == {"text/plain": ["2"]}
    assert run_cell("x = 1", {}) == [] and run_cell("None", {}) == []
