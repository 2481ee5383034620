"""What an artifact tells about how it was made."""

import sys

import pytest

from cgnn_cli.store.provenance import Recorder, library_versions


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["bin/cgnn", "train", "--dataset", "my graph"], "cgnn train --dataset 'my graph'"),
        (["cgnn_cli/__main__.py", "eval"], "cgnn eval"),
        (["scripts/compare.py", "--all"], "compare.py --all"),
    ],
)
def test_the_command_is_that_of_the_program_that_ran(
    argv: list[str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    assert Recorder().provenance()["command"] == command


def test_provenance_says_who_when_and_with_what() -> None:
    provenance = Recorder().provenance()
    assert set(provenance) == {"started", "seconds", "peak_rss_bytes", "command", "host", "revision", "versions"}
    assert provenance["seconds"] >= 0 and provenance["peak_rss_bytes"] > 1 << 20
    assert provenance["versions"] == library_versions()
    assert {"cgnn", "python", "numpy", "scipy", "h5py", "torch"} <= set(provenance["versions"])
