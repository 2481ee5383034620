"""`cgnn data fetch` and `cgnn data verify`: the files of benchmark graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from cgnn_cli.commands.options import COMPUTE_PANEL
from cgnn_cli.commands.session import Outcome, Session
from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.errors import CgnnError, DataError, FetchError, UsageError

if TYPE_CHECKING:
    from cgnn_cli.datasets.benchmarks import Checked


def complete_benchmark(incomplete: str) -> list[str]:
    """Names of benchmark graphs, for the shell."""
    return [name for name in BENCHMARKS if name.startswith(incomplete)]


NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="Benchmark graphs.", show_default=False, autocompletion=complete_benchmark),
]


def fetch_datasets(
    session: Session,
    names: NamesArgument = None,
    everything: Annotated[bool, typer.Option("--all", help="All benchmark graphs.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.01, help="Seconds to wait for a silent server.", rich_help_panel=COMPUTE_PANEL),
    ] = 30.0,
    retries: Annotated[
        int,
        typer.Option(
            "--retries", min=0, help="How often to go on after a cut connection.", rich_help_panel=COMPUTE_PANEL
        ),
    ] = 4,
) -> Outcome:
    """Fetch each graph; one that fails does not stop the others."""
    from cgnn_cli.datasets.benchmarks import fetch_benchmark
    from cgnn_cli.datasets.fetching import FetchOptions

    if force and session.source_config().offline:
        raise UsageError("--force fetches again, and --offline forbids it", "give one of them")
    chosen = _chosen(names, list(BENCHMARKS) if everything else [])
    if not chosen:
        raise UsageError("name a benchmark graph, or --all", f"they are {', '.join(BENCHMARKS)}")
    source, options = session.source_config(), FetchOptions(timeout=timeout, retries=retries)
    rows: list[dict[str, Any]] = []
    errors: list[CgnnError] = []
    for name in chosen:
        try:
            checked = fetch_benchmark(
                name, source, options, session.talker, force=force, lock_timeout=session.store.lock_timeout
            )
        except (FetchError, DataError) as error:
            if len(chosen) == 1:
                raise
            errors.append(error)
            rows.append({"name": name, "state": "failed", "error": error.message, "hint": error.hint})
        else:
            rows.append(_row(name, checked))
    return _outcome(session, rows, errors, "fetched")


def verify_datasets(session: Session, names: NamesArgument = None) -> Outcome:
    """Read each graph again and compare all that is known about it."""
    from cgnn_cli.datasets.benchmarks import verify_benchmark
    from cgnn_cli.datasets.locating import find_files

    source = session.source_config()
    complete = [name for name, each in BENCHMARKS.items() if len(find_files(each, source)) == len(each.files)]
    rows: list[dict[str, Any]] = []
    errors: list[CgnnError] = []
    for name in _chosen(names, complete):
        try:
            rows.append(_row(name, verify_benchmark(name, source)))
        except (FetchError, DataError) as error:
            errors.append(error)
            rows.append({"name": name, "state": "failed", "error": error.message, "hint": error.hint})
    if names is None:
        rows += [
            {"name": name, "state": "incomplete", "notes": [f"{len(found)} of {len(each.files)} files"]}
            for name, each in BENCHMARKS.items()
            if name not in complete and (found := find_files(each, source))
        ]
    if not rows:
        session.talker.note("no benchmark graph is on disk; `cgnn data fetch NAME` fetches one")
    return _outcome(session, rows, errors, "verified")


def _chosen(names: list[str] | None, default: list[str]) -> list[str]:
    for name in names or ():
        if name not in BENCHMARKS:
            raise UsageError(f"{name} is no benchmark graph", f"they are {', '.join(BENCHMARKS)}")
    return list(dict.fromkeys(names or default))


def _row(name: str, checked: Checked) -> dict[str, Any]:
    return {
        "name": name,
        "state": "verified" if checked.verified else "stand-in",
        "verified": checked.verified,
        "notes": checked.notes,
        "files": [
            {"path": str(file.path), "sha256": file.received, "expected": file.expected} for file in checked.files
        ],
    }


def _outcome(session: Session, rows: list[dict[str, Any]], errors: list[CgnnError], what: str) -> Outcome:
    table = Table("name", "state", "by", "files", "remark", box=box.SIMPLE_HEAD)
    for row in rows:
        files = row.get("files", [])
        remark = row["error"] if row["state"] == "failed" else "; ".join(row["notes"])
        count = f"{len(files)} file{'' if len(files) == 1 else 's'}" if files else ""
        table.add_row(row["name"], row["state"], row.get("verified") or "", count, remark)
    if errors:
        session.talker.show(table)
        failed = ", ".join(row["name"] for row in rows if row["state"] == "failed")
        raise type(errors[0])(f"not {what}: {failed}; {errors[0].message}", errors[0].hint)
    return Outcome(table, {"artifact": None, "key": None, "cache": "miss", "summary": {"datasets": rows}})
