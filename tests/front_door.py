"""Commands run as users run them: through `main`, in this process (fast) or in a process of their own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from cgnn_cli.commands import main as command_line
from cgnn_cli.commands.main import main
from tests.forks import built, server


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object that `--json` prints."""
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def path(self) -> str:
        """The one line that a stage prints."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self
        return lines[0]


class FrontDoor:
    """Calls `cgnn` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Result:
        """Run a command, whatever its exit code."""
        self._monkeypatch.setattr(sys, "argv", ["cgnn", *map(str, arguments)])
        self._monkeypatch.setattr(command_line, "_called", built)
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        output = self._capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Result(stop.value.code, output.out, output.err)

    def ok(self, *arguments: object) -> Result:
        """Run a command that must succeed."""
        result = self(*arguments)
        assert result.code == 0, result
        return result

    def fails(self, code: int, *arguments: object) -> str:
        """Run a command that must fail cleanly: exit code, one line on stderr, nothing on stdout. Returns the line."""
        result = self(*arguments)
        assert result.code == code, result
        assert result.out == ""
        errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, result
        assert "Traceback" not in result.err
        return errors[0]


def run_process(*arguments: object, fresh: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, forked or in a fresh interpreter."""
    surroundings = {**os.environ, **environment}
    words = [*map(str, arguments)]
    if fresh:
        command = [sys.executable, "-m", "cgnn_cli", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=surroundings)
    process = server().start(words, "", surroundings, subprocess.PIPE)
    out, err = process.communicate(timeout=240)
    return subprocess.CompletedProcess(words, process.returncode, out, err)
