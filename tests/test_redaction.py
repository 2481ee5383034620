"""What is told of addresses, commands and messages."""

import pytest

from cgnn_cli.errors import FetchError
from cgnn_cli.redaction import placeless, recorded_command, redacted, redacted_address

QUERY = "?token=hunter2&X-Amz-Signature=hunter3"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://bob:hunter2@host/x", "https://***@host/x"),
        ("https://hunter2@host/x", "https://***@host/x"),
        ("https://bob:hunter2@host:8443/x/", "https://***@host:8443/x/"),
        ("https://bob:hun/ter2@host/x", "https://***@host/x"),
        ("https://bob:hunter2@@host/x", "https://***@host/x"),
        ("https://bob:hun ter2@host/x", "https://***@host/x"),
        ("https://bob:hun?ter2@host/x", "https://***@host/x"),
        (f"https://host/x{QUERY}", "https://host/x?token=***&X-Amz-Signature=***"),
        ("https://host/x?hunter2", "https://host/x?***"),
        ("https://host/x#hunter2", "https://host/x#***"),
        ("ftp://bob:hunter2@host", "ftp://***@host"),
        ("htps://bob:hunter2@host", "htps://***@host"),
        ("bob:hunter2@host/x", "***@host/x"),
        ("https://drive.google.com/file/d/abc/view", "https://drive.google.com/file/d/abc/view"),
        ("/data/of the lab", "/data/of the lab"),
    ],
)
def test_f07_an_address_is_told_without_its_credentials(address: str, shown: str) -> None:
    assert redacted_address(address) == shown
    assert redacted(f"no answer from {address}, try again").count("hun") == 0
    assert "hun" not in str(FetchError(f"{address} cannot be fetched", address).args)
    assert redacted(shown) == redacted_address(shown) == shown


def test_f07_parts_of_addresses_in_the_messages_of_libraries() -> None:
    assert redacted("Max retries exceeded with url: /x?token=hunter2 (Caused") == (
        "Max retries exceeded with url: /x?token=*** (Caused"
    )


@pytest.mark.parametrize("text", ["train.lr=0.01", "48/32/20", "a: b", "x@y", "'a' is not in b?", "1 & 2 = 3"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redacted(text) == redacted_address(text) == placeless(text) == text


@pytest.mark.parametrize(
    ("command", "told", "shared"),
    [
        ("cgnn run --split 0 --hidden 8", "cgnn run --split 0 --hidden 8", "cgnn run --split 0 --hidden 8"),
        ("cgnn x --mirror=https://b:p@h/y/z", "cgnn x '--mirror=https://***@h/y/z'", "cgnn x --mirror=https://.../z"),
        ("cgnn x --set 'mirror=https://b:p q@h'", "cgnn x --set 'mirror=https://***@h'", "cgnn x --set mirror=https://..."),
        ("cgnn x '/home/b ob/a.csv'", "cgnn x '/home/b ob/a.csv'", "cgnn x a.csv"),
        ("cgnn x --store=/home/bob/s", "cgnn x --store=/home/bob/s", "cgnn x --store=s"),
        ("cgnn x '~/s' ../bob/s data/s", "cgnn x '~/s' ../bob/s data/s", "cgnn x s s data/s"),
        ("cgnn x 'https://b:p@h /home/bob", "cgnn x 'https://***@h /home/bob", "cgnn x 'https://... bob"),
    ],
)  # fmt: skip
def test_f07_a_recorded_command_tells_no_secret_and_a_shared_one_no_place(command: str, told: str, shared: str) -> None:
    assert recorded_command(command, places=True) == told
    assert recorded_command(command, places=False) == shared
    assert recorded_command(shared, places=False) == shared


def test_f07_a_shared_message_names_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/bob the 1st")
    text = "/home/bob the 1st/e.csv: bad; /srv/bob/f.csv, (~/g.csv) and https://internal/x/y?a=b for 48/32/20"
    assert placeless(text) == "e.csv: bad; f.csv, (g.csv) and https://.../y for 48/32/20"
