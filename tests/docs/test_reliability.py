"""docs/reliability.md: every case has its row, every row its tests, and every fault that was found has a test."""

import re
from types import ModuleType

import pytest

from cgnn_cli.store.crashpoints import POINTS
from tests.docs.generators import generator_of
from tests.docs.test_docs import section_of, tables_of, text_of
from tests.faults.test_corruption import CORRUPTIONS
from tests.faults.test_crashpoints import KILLS

CASES = range(1, 47)
FAULTS = set(range(1, 30)) - {26, 28}  # one is a word in the docs, the other a test that depended on load


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return generator_of("make_reliability")


def rows(generator: ModuleType, page: str) -> dict[int, str]:
    """The tests of each case in the table."""
    found = generator.ROW.findall(page)
    assert len(found) == len({number for number, *_ in found})
    return {int(number): tests for number, _, _, tests in found}


def test_every_case_has_a_row_and_no_other_has_one(generator: ModuleType) -> None:
    assert list(rows(generator, text_of("reliability.md"))) == list(CASES)
    assert set(generator.tests_named("case_")) <= set(CASES)


def test_every_row_has_tests(generator: ModuleType) -> None:
    found = rows(generator, generator.filled(text_of("reliability.md")))
    assert found and all("::test_case_" in tests for tests in found.values())


def test_the_page_names_the_tests_that_there_are(generator: ModuleType) -> None:
    page = text_of("reliability.md")
    assert page == generator.filled(page), "run `python docs/make_reliability.py`"


def test_every_promise_has_cases() -> None:
    (promises,) = tables_of(section_of(text_of("reliability.md"), "## The contract"))
    assert len(promises) == 1 + 7
    spans = [re.findall(r"(\d+)(?: to (\d+))?", cases) for _, _, cases in promises[1:]]
    numbers = {number for found in spans for a, b in found for number in range(int(a), int(b or a) + 1)}
    told_elsewhere = {26, 43, 45, 46}  # of clusters, devices, environments and settings, which no promise is about
    assert numbers == set(CASES) - told_elsewhere


def test_the_page_says_how_often_the_tests_try() -> None:
    page = section_of(text_of("reliability.md"), "## How much is tried")
    assert f"| {KILLS} times, at each of {len(POINTS)} steps |" in page and f"| {CORRUPTIONS} in artifacts" in page


def test_every_fault_that_was_found_has_a_test(generator: ModuleType) -> None:
    assert set(generator.tests_named("f")) >= FAULTS


def test_the_check_sees_what_it_is_meant_to_see(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "| 5 | it breaks | it mends | `gone.py::test_case_05_x` |\n"
    monkeypatch.setattr(generator, "tests_named", lambda prefix: {5: ["a.py::test_case_05_y"]})
    assert "| `a.py::test_case_05_y` |" in generator.filled(page) and "gone.py" not in generator.filled(page)
    monkeypatch.setattr(generator, "tests_named", lambda prefix: {})
    assert "| it mends |  |" in generator.filled(page)
