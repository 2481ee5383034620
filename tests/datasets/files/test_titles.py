"""What titles of columns say."""

import pytest

from cgnn_cli.datasets.files.titles import find_ends, find_labels, is_no_end, names_node, words_of


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("fromAccount", ["from", "account"]),
        ("From-Account ", ["from", "account"]),
        ("fromaccount", ["from", "account"]),
        ("FromNodeId", ["from", "node", "id"]),
        ("accountid", ["account", "id"]),
        ("total", ["total"]),
        ("token", ["token"]),
        ("", []),
    ],
)
def test_words(title: str, words: list[str]) -> None:
    assert words_of(title) == words


@pytest.mark.parametrize(
    ("titles", "ends"),
    [
        ("when,payee,amount,payer", ([3], [1])),
        ("source,target,source_name,target_name", ([0], [1])),
        ("type,nameOrig,oldbalanceOrg,nameDest,newbalanceDest", ([1], [3])),
        ("weight,id_a,id_b", ([1], [2])),
        ("v,u", ([1], [0])),
        ("from,sender,to", ([0, 1], [2])),
        ("payer,shop", ([0], [])),
        ("from_country,to_country", ([], [])),
    ],
)
def test_ends(titles: str, ends: tuple[list[int], list[int]]) -> None:
    assert find_ends(titles.split(",")) == ends


def test_other_roles() -> None:
    assert names_node("Account Number") and not names_node("account type") and not names_node("")
    assert is_no_end("amount_usd") and is_no_end("TxID") and not is_no_end("target") and not is_no_end("shop")
    assert find_labels(["id", "type", "class"], but=[0]) == [2]
    assert find_labels(["id", "type", "fraud_label"], but=[0]) == [2]
    assert find_labels(["id", "type", "status"], but=[0]) == [1, 2]
    assert find_labels(["id", "class1", "class2"], but=[0]) == [1, 2]
