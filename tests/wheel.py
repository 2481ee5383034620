"""The wheel in empty environments: built from what git knows, installed by pip and by uv, and used in an empty folder.

    python -m tests.wheel

Fails where the wheel lacks a file of the package, where constraints.txt does not meet its requirements, or where a
command of it does. Where the packages that it needs cannot be installed, it says so and ends with 0.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
SECONDS = 600
COMPILED = re.compile(r"cgnn_cli/numerics/compiled\.[\w.-]+\.(so|pyd)")  # where there is a compiler
# What of pip's or the developer's own must not reach an environment that is to be empty.
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CGNN_EXTENSIONS", "CGNN_STORE", "CGNN_CONFIG")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
COMMANDS = (
    ("--version",),
    ("run", "--dataset", "demo", "--epochs", "3", "--hidden", "4", "--split", "0", "--no-compare"),
    ("predict", "--output", "predictions.csv"),
    ("report", "--output", "report", "--format", "html"),
    ("models", "cgnn"),
)


class Unavailable(Exception):
    """A package cannot be installed here, which is no fault of the wheel."""


def run(*command: str | Path, folder: Path, **more: str) -> str:
    """The output of a command, in an environment of its own; what it says is shown where it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env={**kept, **more},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def installed(*command: str | Path, folder: Path, **more: str) -> None:
    """Install packages from elsewhere; without them nothing can be said of the wheel."""
    try:
        run(*command, folder=folder, **more)
    except SystemExit as failure:
        raise Unavailable(str(failure).strip().splitlines()[-1]) from failure
    except subprocess.TimeoutExpired as failure:
        raise Unavailable(f"it took more than {SECONDS} s") from failure


def tracked() -> list[str]:
    """The files of the working tree that git knows."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


def build(folder: Path) -> Path:
    """The wheel of a clean copy: a build leaves folders behind, and would take in what an earlier one left."""
    for name in tracked():
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    installed(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", folder, folder / "source", folder=folder)
    (wheel,) = folder.glob("cgnn-*.whl")
    return wheel


def check_content(wheel: Path) -> None:
    """Everything of the package is in it, and nothing else but the loops that were compiled: no tests, no docs."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {name for name in tracked() if name.startswith("cgnn_cli/")}
    beyond = {name for name in packed - wanted if not COMPILED.fullmatch(name)}
    if wanted - packed or beyond:
        raise SystemExit(f"the wheel lacks {sorted(wanted - packed)} and has {sorted(beyond)} beyond")


def requirements() -> list[str]:
    """What the package needs, without any extra."""
    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return found


def by_pip(folder: Path, wheel: Path) -> Path:
    """An environment in which pip has installed the wheel; its requirements first, which may not be at hand."""
    run(sys.executable, "-m", "venv", folder / "pip", folder=folder)
    python = folder / "pip" / "bin" / "python"
    installed(python, *PIP, "install", "-c", CONSTRAINTS, *requirements(), folder=folder)
    run(python, *PIP, "install", "-c", CONSTRAINTS, wheel, folder=folder)
    run(python, *PIP, "check", folder=folder)
    return python


def by_uv(folder: Path, wheel: Path) -> Path:
    """The same by uv, which is told of the folders where pip finds wheels.

    It comes from a range that other torch builds satisfy too: where uv would take one with CUDA, nothing is downloaded.
    """
    run(sys.executable, "-m", "venv", folder / "tools", folder=folder)
    tools = folder / "tools" / "bin"
    installed(tools / "python", *PIP, "install", "uv", folder=folder)
    settings = json.loads(run(tools / "python", "-c", PIP_SETTINGS, folder=folder))
    known = {name: value for name, value in settings.items() if value and name not in os.environ}
    uv = tools / "uv"
    run(uv, "venv", "--quiet", "--python", sys.executable, folder / "uv", folder=folder, **known)
    python = folder / "uv" / "bin" / "python"
    install = (uv, "pip", "install", "--python", python, "-c", CONSTRAINTS, wheel)
    shown = subprocess.run(
        [*map(str, install), "--dry-run"], capture_output=True, text=True, check=False, env={**os.environ, **known}
    )
    if shown.returncode or "nvidia-" in shown.stderr:
        last = shown.stderr.strip().splitlines()[-1] if shown.returncode else "it would take a torch with CUDA"
        raise Unavailable(f"uv: {last}")
    installed(*install, "--quiet", folder=folder, **known)
    run(uv, "pip", "check", "--quiet", "--python", python, folder=folder, **known)
    return python


PIP_SETTINGS = """\
import json, os, subprocess, sys
def of(name):
    done = subprocess.run([sys.executable, "-m", "pip", "config", "get", name], capture_output=True, text=True)
    return done.stdout.strip()
links = os.environ.get("PIP_FIND_LINKS") or of("global.find-links")
certificates = os.environ.get("PIP_CERT") or of("global.cert")
print(json.dumps({"UV_FIND_LINKS": links, "SSL_CERT_FILE": certificates}))
"""


def check_use(python: Path, folder: Path) -> None:
    """The commands, in an empty folder; the package is the one of the environment."""
    empty = folder / f"empty-{python.parent.parent.name}"
    empty.mkdir()
    place = run(python, "-c", "import cgnn_cli; print(cgnn_cli.__file__)", folder=empty).strip()
    if not Path(place).is_relative_to(python.parent.parent):
        raise SystemExit(f"{place} is not what was installed")
    for words in COMMANDS:
        run(python.with_name("cgnn"), *words, folder=empty, NO_COLOR="1")
    run(python, "-m", "cgnn_cli", "reproduce", "--list", folder=empty)


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            wheel = build(folder)
            check_content(wheel)
            print(f"{wheel.name}: built, with every file of the package ({time.monotonic() - began:.0f} s)", flush=True)
        except Unavailable as reason:
            print(f"wheel: skipped, for it cannot be built here: {reason}")
            return
        for make in (by_pip, by_uv):
            try:
                python = make(folder, wheel)
            except Unavailable as reason:
                print(f"{make.__name__}: skipped, for packages cannot be installed here: {reason}")
                continue
            check_use(python, folder)
            print(f"{make.__name__}: installs and runs ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
