"""The page of a review: hostile ids are text, it works offline, and what is exported is what was ticked."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from cgnn_cli.analysis.reasons import Reason, Reasons, Review
from cgnn_cli.report.review_page import to_page
from tests.browser import browser, drive, open_page, run

needs_browser = pytest.mark.skipif(browser() is None, reason="there is no Chromium on this machine")
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src='https://example.com/x.png' onerror='document.title=1'>",
    'quo"te, comma & {{ 7 * 7 }}',
    "\u202egnp.exe\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "x" * 300,
    "\u6f22\u5b57" * 30,
    " lead\nline\r\ttab\x1b[2J",
    "two\twords",
)
CLASSES = ("ok", "fraud")


def reason(name: str, label: str | None, adds: float | None, edge: str = "to") -> Reason:
    nan = float("nan")
    return Reason(name, label, "fraud", 0.7, edge, 12.5, 0.4, 1234.5, nan, nan, nan, adds)


def reasons(name: str, others: tuple[str, ...], classes: tuple[str, ...] = CLASSES) -> Reasons:
    edges = ("to", "from", "both", "none")
    ties = [reason(other, (None, "ok", "fraud")[k % 3], 0.1 - 0.03 * k, edges[k % 4]) for k, other in enumerate(others)]
    left = {other: 0.1 / (len(classes) - 1) for other in classes if other != "fraud"}
    return Reasons(name, None, "fraud", "fraud", {**left, "fraud": 0.9}, 3, 0, True, len(ties), ties)


def review_of(classes: tuple[str, ...] = CLASSES, key: str = "a" * 32) -> Review:
    many = tuple(f"n{k}" for k in range(14))
    nodes = [reasons(name, HOSTILE, classes) for name in HOSTILE]
    nodes += [reasons("plain", many, classes), reasons("alone", (), classes)]
    return Review(key, "fraud", classes, nodes)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    made = tmp_path / "review.html"
    made.write_text(to_page(review_of(), "pay<b>ments", "CGNN"), encoding="utf-8")
    return made


def test_ids_are_text_and_exact(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"<script", text)) == 2 and "<img" not in text and "pay<b>" not in text
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None and json.loads(found[1])["ids"][: len(HOSTILE)] == list(HOSTILE)
    assert "\u202e" not in text and "\x1b" not in text and r"\u202e" in text
    assert not re.search(r"(?:src|href)=[\"'](?!data:|#)", text.replace("&#39;", "").replace("&#34;", ""))


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_no_overflow_no_error_no_request(page: Path, tmp_path: Path, dark: bool) -> None:
    for width in (390, 1280):
        seen = open_page(page, tmp_path, width, dark=dark)
        assert (seen.window, seen.page) == (width, width)
        assert seen.beyond == [] and seen.console == [] and seen.requests == []


@needs_browser
def test_its_script_runs_under_its_own_policy(page: Path, tmp_path: Path) -> None:
    result = run(tmp_path, "--enable-logging=stderr", "--log-level=0", "--dump-dom", page.as_uri())
    assert "0 of 10 decided" in result.stdout
    assert not [line for line in result.stderr.splitlines() if "CONSOLE" in line]


PRELUDE = """
let made = null;
window.Blob = function (parts) { made = parts.join(""); };
URL.createObjectURL = () => "data:,";
HTMLAnchorElement.prototype.click = () => {};
const by = name => document.getElementById(name);
const type = (name, text, kind) => { by(name).value = text; by(name).dispatchEvent(new Event(kind)); };
const tick = (card, answer) => by("c" + card).querySelector("input[value=" + answer + "]").click();
const visible = () => [...document.querySelectorAll(".card")].filter(card => !card.hidden).map(card => card.id);
const exported = () => { by("export").click(); return made; };
"""


@needs_browser
def test_search_decisions_and_export(page: Path, tmp_path: Path) -> None:
    first = """
    const disabled = by("export").disabled;
    type("search", "PLAIN", "input");
    const found = visible();
    type("search", "nothing like it", "input");
    const none = [visible().length, by("none").hidden];
    type("search", "", "input");
    for (let card = 0; card < 8; card++) tick(card, card % 2 ? "no" : "yes");
    tick(8, "unsure"); tick(9, "yes");
    document.querySelector("#c9 .clear").click();
    type("show", "no", "change");
    return { disabled, found, none, shown: visible(), csv: exported(), state: by("state").textContent };
    """
    second = "return { csv: exported(), kept: by('c1').querySelector('input[value=no]').checked };"
    done, again = drive(page, tmp_path, PRELUDE + first, PRELUDE + second)
    assert isinstance(done, dict) and isinstance(again, dict)
    assert done["disabled"] and done["found"] == ["c8"] and done["none"] == [0, False]
    assert done["shown"] == ["c1", "c3", "c5", "c7"]
    assert done["state"].startswith("9 of 10 decided: 4 yes, 4 no, 1 unsure.")
    assert done["state"].endswith("has 7 labels. 1 more cannot be in it: a line break is in the id or the class.")
    assert '"two\twords",' in done["csv"]
    rows = list(csv.reader(io.StringIO(done["csv"], newline="")))
    assert rows[0] == ["id", "label"]
    expected = [[name, ("fraud", "ok")[place % 2]] for place, name in enumerate(HOSTILE) if "\n" not in name]
    assert rows[1:] == expected
    assert again == {"csv": done["csv"], "kept": True}, "decisions are kept by the browser"


@needs_browser
def test_with_three_classes_no_needs_to_say_which(tmp_path: Path) -> None:
    made = tmp_path / "three.html"
    made.write_text(to_page(review_of(("ok", "fraud", "mule"), "b" * 32), "pay", "CGNN"), encoding="utf-8")
    script = """
    const other = by("c8").querySelector(".other");
    const before = other.hidden;
    tick(8, "no");
    const none = by("export").disabled;
    other.querySelector("select").value = "mule";
    other.querySelector("select").dispatchEvent(new Event("change", { bubbles: true }));
    return [before, other.hidden, none, exported()];
    """
    (found,) = drive(made, tmp_path, PRELUDE + script)
    assert found == [True, False, True, "id,label\nplain,mule\n"]
