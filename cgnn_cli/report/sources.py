"""Where the numbers of a run come from: its artifacts with key, command, versions and seconds.

The name of the machine and the paths on it are left out, unless `with_origin` asks for the paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgnn_cli.execution.results import Run
from cgnn_cli.pipeline import STAGES
from cgnn_cli.report.page import Details
from cgnn_cli.report.run_names import Label
from cgnn_cli.report.table import Table
from cgnn_cli.store.artifact import Header
from cgnn_cli.store.provenance import shareable

RECORDED = ("command", "seconds", "revision", "versions")


def provenance_values(run: Run, *, with_origin: bool = False) -> dict[str, Any]:
    """The artifacts behind a run, for other programs."""
    made_from = []
    for role, header in _ordered(run):
        provenance = shareable(header.provenance, with_origin=with_origin)
        recorded = {name: provenance.get(name) for name in RECORDED}
        made_from.append({"role": role, "key": header.key, "config": header.config, **recorded})
    return {"artifact": str(run.path) if with_origin else f"eval/{run.key}.h5", "made_from": made_from}


def _ordered(run: Run) -> list[tuple[str, Header]]:
    """All artifacts of a run in the order of the stages, splits by their number."""
    order = list(STAGES)

    def place(item: tuple[str, Header]) -> tuple[int, int, str]:
        role, header = item
        return order.index(header.stage), header.config.get("split", 0), role

    return sorted({**run.made_from, "eval": run.header}.items(), key=place)


def provenance_details(run: Run, label: Label, *, with_origin: bool = False) -> Details:
    """Tables of the artifacts, the options and the versions of a run."""
    rows = []
    for role, header in _ordered(run):
        command = shareable(header.provenance, with_origin=with_origin).get("command", "")
        rows.append([role, header.key, f"{header.seconds:,.2f}", command])
    columns = ("artifact", "key", "seconds", "command")
    made = Table(f"Artifacts of {label} on {run.dataset}", columns, rows, words=frozenset({1}), prose=frozenset({3}))
    title = f"{run.dataset}: {label}, eval {run.key[:12]}"
    options = ", ".join(f"{name} {value}" for name, value in run.options.items()) or "not known"
    return Details(title, [made, f"Options: {options}.", *_checked_times(run), f"Versions: {_versions(run)}."])


def _checked_times(run: Run) -> list[str]:
    """What the solver of the commute times found when it checked itself."""
    header = run.made_from.get("commute")
    found = header.summary.get("self_check") if header else None
    if header is None or not found or not found["checked"]:
        return []
    median, largest = (f"{found[name]:.2%}" for name in ("median_relative_error", "largest_relative_error"))
    return [
        f"Commute times: {header.config['solver']} checked itself on {found['checked']} of {found['edges']} edges: "
        f"c is off by {median} in the median, and by {largest} at most."
    ]


def doubts(runs: Sequence[Run]) -> list[str]:
    """Warnings about the commute times that the runs were made from, then about their splits, each once."""
    made: dict[str, list[Header | None]] = {
        "Commute times": [run.made_from.get("commute") for run in runs],
        "Scores": [run.header for run in runs],
    }
    told = [
        f"{what}: {warning}."
        for what, headers in made.items()
        for header in headers
        if header is not None
        for warning in header.summary.get("warnings", ())
    ]
    return list(dict.fromkeys(told))


def _versions(run: Run) -> str:
    """The versions that wrote the artifacts; more than one of a library where they differ."""
    found: dict[str, list[str]] = {}
    for _, header in _ordered(run):
        for name, version in header.provenance.get("versions", {}).items():
            if version not in found.setdefault(name, []):
                found[name].append(version)
    revisions = {str(header.provenance.get("revision") or "") for _, header in _ordered(run)} - {""}
    said = [f"{name} {' and '.join(versions)}" for name, versions in found.items()]
    return ", ".join([*said, *(f"revision {revision}" for revision in sorted(revisions))]) or "not recorded"
