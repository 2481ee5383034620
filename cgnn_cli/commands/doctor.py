"""`cgnn doctor`: whether this machine, this installation and this store are fit for cgnn, and whether devices agree."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from cgnn_cli.commands.console import make_table, styled
from cgnn_cli.commands.options import config_parameters
from cgnn_cli.commands.session import Outcome, Session, command
from cgnn_cli.configs import ComputeConfig
from cgnn_cli.errors import CheckError
from cgnn_cli.requirements import needs
from cgnn_cli.resources import (
    LEAST_TORCH_SPACE,
    allowed_cores,
    check_address_space,
    free_disk,
    machine_cores,
    memory_bounds,
    memory_limit,
    readable_bytes,
    thread_count,
)
from cgnn_cli.settings import DEFAULT_FILE

GOOD, NOTED, FAILED = "ok", "note", "failed"
STYLES = {GOOD: "green", NOTED: "yellow", FAILED: "bold red"}
LITTLE_MEMORY, LITTLE_DISK = 2 << 30, 1 << 30


@dataclass(frozen=True)
class Check:
    """One line of the table."""

    about: str
    name: str
    found: str
    state: str = GOOD

    def to_dict(self) -> dict[str, str]:
        return {"about": self.about, "name": self.name, "found": self.found, "state": self.state}


def register(app: typer.Typer) -> None:
    command(
        app,
        "doctor",
        doctor,
        help="Check machine, versions and store, and compare a tiny training on every device.",
        brief="Check machine, versions and store; compare devices.",
        example="cgnn doctor",
        panel="Look inside",
        extra=config_parameters("compute"),
        common="--store --json",
    )


def doctor(session: Session) -> Outcome:
    """Check everything, say all of it, and fail if any check does. Nothing is written but for a moment."""
    checks: list[Check] = []
    for what, found in (
        ("machine", _machine(session)),
        ("versions", _versions()),
        ("store", _store(session)),
        ("settings", _settings(session)),
        ("devices", _devices(session)),
    ):
        session.talker.begins(f"checking {what}")
        checks += found
    table = make_table("about", "what", "found", "state")
    for check in checks:
        table.add_row(check.about, check.name, check.found, styled(check.state, STYLES[check.state]))
    failed = [check for check in checks if check.state == FAILED]
    if failed:
        session.talker.show(table)
        told = "; ".join(f"{check.about} {check.name}: {check.found}" for check in failed)
        what = "check fails" if len(failed) == 1 else "checks fail"
        raise CheckError(f"{len(failed)} {what}: {told}", "docs/doctor.md says what each check means")
    return Outcome.of(table, {"checks": [check.to_dict() for check in checks]}, cache=None)


def _compute(session: Session) -> ComputeConfig:
    compute = session.settings.config("compute")
    assert isinstance(compute, ComputeConfig)
    return compute


def _machine(session: Session) -> Iterator[Check]:
    """Cores, memory and threads, and what bounds them."""
    compute = _compute(session)
    cores, all_cores = allowed_cores(), machine_cores()
    yield Check("machine", "system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
    by = ", by its affinity or Slurm's grant" if cores < all_cores else ""
    yield Check("machine", "cores", f"{cores} of {all_cores} may be used{by}")
    limit = memory_limit(compute.memory_limit)
    source, _ = min(memory_bounds(), key=lambda bound: bound[1])
    source = source if compute.memory_limit == "auto" else "--memory-limit"
    state = NOTED if limit < LITTLE_MEMORY else GOOD
    yield Check("machine", "memory", f"{readable_bytes(limit)} may be used, by {source}", state)
    training, times = thread_count(compute.threads, 1), thread_count(compute.threads, 0)
    found = f"{training} a training, {times} for commute times; {compute.jobs or cores} training(s) at once"
    yield Check("machine", "threads", found)


def _versions() -> Iterator[Check]:
    """Installed packages against the supported ranges; what is optional may be missing."""
    all_needs = list(needs())
    if not all_needs:
        yield Check("versions", "cgnn", "is not installed as a package, so its ranges are not known", NOTED)
    for need in (need for need in all_needs if need.extra is None):
        found = f"{need.installed or 'not installed'} ({need.range})"
        yield Check("versions", need.name, found, GOOD if need.fits else FAILED)
    for extra in dict.fromkeys(need.extra for need in all_needs if need.extra):
        own = [need for need in all_needs if need.extra == extra]
        missing = [need.name for need in own if need.installed is None]
        old = [f"{need.name} {need.installed} ({need.range})" for need in own if need.installed and not need.fits]
        if missing:
            yield Check("extras", extra, f"not there: {', '.join(missing)}; pip install 'cgnn[{extra}]'", NOTED)
        elif old:
            yield Check("extras", extra, ", ".join(old), FAILED)
        else:
            yield Check("extras", extra, ", ".join(f"{need.name} {need.installed}" for need in own))


def _store(session: Session) -> Iterator[Check]:
    """Where the store is, and what its disk can do."""
    from cgnn_cli.store.probe import existing, probe

    root = session.store.root
    there = "" if root.is_dir() else f" (not there yet; tried in {existing(root)})"
    yield Check("store", "folder", f"{root}{there}")
    free = free_disk(root)
    yield Check("store", "free space", readable_bytes(free), NOTED if free < LITTLE_DISK else GOOD)
    for found in probe(root):
        # nothing depends on locks but the saving of duplicate work
        state = GOOD if found.works else NOTED if found.name == "locking" else FAILED
        yield Check("store", found.name, "works" if found.works else found.fault, state)


def _settings(session: Session) -> Iterator[Check]:
    """The file of settings, and what it and the environment set."""
    file = session.given.file or Path(os.environ.get("CGNN_CONFIG") or DEFAULT_FILE)
    origins = [value.origin for value in session.settings.values.values()]
    from_file = sum(origin.startswith(f"{file}:") for origin in origins)
    yield Check("settings", "file", f"{file}, {from_file} setting(s)" if file.is_file() else "none")
    names = sorted(name for name in os.environ if name.startswith("CGNN_"))
    yield Check("settings", "environment", ", ".join(names) or "none")


def _devices(session: Session) -> Iterator[Check]:
    """The same tiny training on every device, beside that on one thread of the CPU."""
    session.talker.begins("loading torch")
    check_address_space(LEAST_TORCH_SPACE, "the libraries that train")
    from cgnn_cli.analysis.device_check import compare_devices

    for found in compare_devices(allowed_cores()):
        yield Check("devices", found.device, found.told, FAILED if found.differs else NOTED if found.fault else GOOD)
