"""scikit-learn's own checks: those that the documentation says pass do, and those that it says do not apply fail."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

from cgnn_cli import NodeClassifier

PAGE = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore")
def test_the_documentation_tells_which_checks_apply() -> None:
    section = PAGE.partition("\n## scikit-learn\n")[2].partition("\n## ")[0]
    documented = re.search(r"check_estimator` of scikit-learn ([0-9.]+)", section)
    assert documented is not None
    if not version("scikit-learn").startswith(f"{documented[1]}."):
        pytest.skip(f"the page is about scikit-learn {documented[1]}")
    results = check_estimator(NodeClassifier("linear", verbose=False), on_fail=None)
    passing, _, others = section.partition("The others")
    assert set(re.findall(r"`(check_\w+)`", passing)) - {"check_estimator"} == {
        result["check_name"] for result in results if result["status"] == "passed"
    }
    assert set(re.findall(r"`(check_\w+)`", others)) == {
        result["check_name"] for result in results if result["status"] != "passed"
    }
