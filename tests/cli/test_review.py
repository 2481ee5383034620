"""`cgnn review`: a page of the likeliest nodes of a class, and what is decided there as labels again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.front_door import FrontDoor

LEARNING = ("--epochs", 2, "--hidden", 4, "--no-compare", "-q")


@pytest.fixture
def accounts(cgnn: FrontDoor) -> FrontDoor:
    """Thirty accounts in a circle, with amounts; every third has no label."""
    rows = [f"<a{k}>,<a{(k + step) % 30}>,{k + step}" for k in range(30) for step in (1, 7)]
    Path("edges.csv").write_text("payer,payee,amount\n" + "\n".join(rows) + "\n")
    labels = [f"<a{k}>,{'fraud' if k % 5 == 0 else 'ok'}" for k in range(30) if k % 3]
    Path("labels.csv").write_text("id,label\n" + "\n".join(labels) + "\n")
    given = ("--edges", "edges.csv", "--weight-column", "amount", "--labels", "labels.csv", "--split-ratio", "1/1/1")
    cgnn.ok("data", "import", "pay", *given, "-q")
    return cgnn


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', Path(page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


def test_the_likeliest_without_a_label_come_first(accounts: FrontDoor) -> None:
    accounts.ok("run", "--dataset", "pay", "--split", 0, "--split", 1, *LEARNING)
    result = accounts.ok("review", "--class", "fraud", "--top", 14)
    assert result.path == "review.html"
    assert "the run made last: " in result.err and "cgnn on pay (" in result.err and "fit" not in result.err
    ids = data_of("review.html")["ids"]
    assert len(ids) == 14 and {int(each[2:-1]) % 3 for each in ids[:10]} == {0}
    assert all(int(each[2:-1]) % 3 for each in ids[10:])
    chances = [
        accounts.ok("explain", each, "--class", "fraud", "--json").json["summary"]["reasons"]["probabilities"]["fraud"]
        for each in ids[:3]
    ]
    assert chances == sorted(chances, reverse=True)
    page = Path("review.html").read_text(encoding="utf-8")
    assert "&lt;a0&gt;" in page and "<a0>" not in page and "amount" in page
    summary = accounts.ok("review", "--class", "fraud", "--top", 14, "--json").json["summary"]
    assert summary == {"class": "fraud", "nodes": 14, "unlabelled": 10}


def test_decisions_are_labels_again(accounts: FrontDoor) -> None:
    Path("decisions.csv").write_text("id,label\n<a0>,fraud\n<a3>,ok\n<a1>,fraud\n")
    before = accounts.ok("data", "show", "pay", "--json").json["summary"]
    said = accounts.ok("data", "update", "pay", "--labels", "decisions.csv")
    after = accounts.ok("data", "show", "pay", "--json").json["summary"]
    assert "1 node(s) have another label than before" in said.err
    for name in ("nodes", "edges", "classes"):
        assert before[name] == after[name]
    accounts.ok("run", "--dataset", "pay", "--split", 0, *LEARNING)
    assert accounts.ok("explain", "<a0>", "--json").json["summary"]["label"] == "fraud"
    assert "nothing to add" in accounts.fails(2, "data", "update", "pay")
    accounts.fails(2, "data", "import", "other", "--labels", "decisions.csv")


def test_only_data_of_the_users_own_is_said_to_take_decisions(accounts: FrontDoor) -> None:
    accounts.ok("run", "--dataset", "pay", "--split", 0, *LEARNING)
    Path("decisions.csv").write_text("id,label\n<a0>,fraud\n")
    accounts.ok("data", "update", "pay", "--labels", "decisions.csv", "-q")
    assert "on pay@1" in accounts.ok("review", "--class", "fraud", "--top", 1).err
    assert "`cgnn data update pay --labels FILE`" in Path("review.html").read_text(encoding="utf-8")
    accounts.ok("run", "--dataset", "demo", "--split", 0, *LEARNING)
    accounts.ok("review", "--class", "jazz", "--top", 1)
    page = Path("review.html").read_text(encoding="utf-8")
    assert "data update" not in page and "The 1 node that" in page


def test_models_without_weights_and_without_messages(accounts: FrontDoor) -> None:
    accounts.ok("run", "--dataset", "pay", "--model", "mlp", "--split", 0, *LEARNING)
    accounts.ok("review", "--class", "ok", "--top", 2)
    assert "takes no messages of neighbours" in Path("review.html").read_text(encoding="utf-8")
    trained = accounts.ok("train", "--dataset", "pay", "--model", "gcn", "--split", 0, *LEARNING[:4], "-q").path
    accounts.ok("review", "--class", "ok", "--top", 2, "--input", trained, "--output", "b.html")
    assert "takes no messages of neighbours" not in Path("b.html").read_text(encoding="utf-8")


def test_refusals_are_one_line(accounts: FrontDoor) -> None:
    assert "has no trained model" in accounts.fails(4, "review", "--class", "fraud")
    assert "`cgnn run --dataset pay` makes it" in accounts.fails(4, "review", "--class", "fraud", "--dataset", "pay")
    accounts.ok("run", "--dataset", "pay", "--split", 0, *LEARNING)
    assert "no class frau" in accounts.fails(2, "review", "--class", "frau")
    accounts.fails(2, "review")
    accounts.fails(2, "review", "--class", "fraud", "--top", 0)
    accounts.fails(2, "review", "--class", "fraud", "--output", "missing/review.html")
    assert not Path("review.html").exists()
