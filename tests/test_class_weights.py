"""Weights of classes: what a file says, and what of it is in a key."""

from pathlib import Path

import pytest

from cgnn_cli.class_weights import settled
from cgnn_cli.errors import CgnnError
from cgnn_cli.models.model_table import train_config


def test_a_key_has_the_content_of_a_file_and_not_its_name(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text('class,weight\nok,1\n"a, b",10\n')
    second.write_bytes('\ufeff"a, b", 10.0\r\nok,1.0\r\n\r\n'.encode())
    one, other = (train_config("gcn", class_weights=str(path)) for path in (first, second))
    assert one == other and one.to_dict()["class_weights"] == '{"a, b": 10.0, "ok": 1.0}'
    assert str(tmp_path) not in str(one)
    first.unlink()
    assert type(one).from_dict(one.to_dict()).to_dict() == one.to_dict()  # as it is in an artifact
    second.write_text("ok,2\n")
    assert train_config("gcn", class_weights=str(second)) != one
    assert one.named_classes() == ["a, b", "ok"]


def test_words_stand_for_themselves() -> None:
    assert [settled(word) for word in ("none", "balanced")] == ["none", "balanced"]
    assert "class_weights" not in train_config("gcn").to_dict()
    assert train_config("gcn", class_weights="balanced").named_classes() == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("ok,1\nok,2\n", "row 2 names the class ok again"),
        ("ok;1\n", "row 1 has 1 columns"),
        ("class,weight\nok,ten\n", "row 2: 'ten' is not a number"),
        ("ok,0\n", "must be a positive number between 1e-15 and 1e+15, got 0"),
        ("ok,nan\n", "must be a positive number between 1e-15 and 1e+15, got nan"),
        ("ok,1e308\n", "between 1e-15 and 1e+15, got 1e+308"),
        ("class,weight\n", "has no weights"),
        (b"\xff\xfe\xff", "cannot be read"),
        (None, "cannot be read: No such file"),
    ],
)
def test_what_no_weights_can_be_read_from_is_refused(tmp_path: Path, content: str | bytes | None, said: str) -> None:
    path = tmp_path / "weights.csv"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CgnnError) as error:
        settled(str(path))
    assert said in error.value.message and "\n" not in error.value.message


@pytest.mark.parametrize("text", ["{", '{"ok": 0}', '{"ok": "x"}', '{"ok": []}'])
def test_weights_written_out_are_checked_too(text: str) -> None:
    with pytest.raises(CgnnError):
        settled(text)
