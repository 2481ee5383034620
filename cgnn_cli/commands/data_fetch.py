"""`cgnn data fetch` and `cgnn data verify`: the files of benchmark graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cgnn_cli.commands.console import make_table
from cgnn_cli.commands.options import COMPUTE_PANEL, argument, completion, option
from cgnn_cli.commands.session import Outcome, Session
from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.errors import CgnnError, DataError, FetchError, UsageError

if TYPE_CHECKING:
    from cgnn_cli.datasets.upstream.reading import Verification


NamesArgument = Annotated[list[str] | None, argument("NAME...", "Benchmark graphs.", completion(lambda: BENCHMARKS))]
TIMEOUT_HELP = "Seconds to wait for a silent server."
RETRIES_HELP = "How often to go on after a cut connection."


def fetch_datasets(
    session: Session,
    names: NamesArgument = None,
    everything: Annotated[bool, option("--all", "All benchmark graphs.")] = False,
    force: Annotated[bool, option("--force", "Fetch again what is there.")] = False,
    timeout: Annotated[float, option("--timeout", TIMEOUT_HELP, COMPUTE_PANEL, min=0.01)] = 30.0,
    retries: Annotated[int, option("--retries", RETRIES_HELP, COMPUTE_PANEL, min=0)] = 4,
) -> Outcome:
    """Fetch each graph; one that fails does not stop the others."""
    from cgnn_cli.datasets.upstream.fetching import FetchOptions
    from cgnn_cli.datasets.upstream.reading import fetch_benchmark

    if force and session.workspace.source.offline:
        raise UsageError("--force fetches again, and --offline forbids it", "give one of them")
    chosen = _chosen(names, list(BENCHMARKS) if everything else [])
    if not chosen:
        raise UsageError("name a benchmark graph, or --all", f"they are {', '.join(BENCHMARKS)}")
    source, options = session.workspace.source, FetchOptions(timeout=timeout, retries=retries)
    talker, wait = session.talker, session.store.lock_timeout

    def fetch(name: str) -> Verification:
        talker.begins(f"fetching {name}")
        return fetch_benchmark(name, source, options, talker, force=force, lock_timeout=wait)

    rows, errors = _rows(chosen, fetch)
    if errors and len(chosen) == 1:
        raise errors[0]
    return _outcome(session, rows, errors, "fetched")


def verify_datasets(session: Session, names: NamesArgument = None) -> Outcome:
    """Read each graph again and compare all that is known about it."""
    from cgnn_cli.datasets.upstream.locating import find_files
    from cgnn_cli.datasets.upstream.reading import verify_benchmark

    source = session.workspace.source
    complete = [name for name, each in BENCHMARKS.items() if len(find_files(each, source)) == len(each.files)]

    def verify(name: str) -> Verification:
        session.talker.begins(f"reading {name}")
        return verify_benchmark(name, source)

    rows, errors = _rows(_chosen(names, complete), verify)
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


def _rows(names: list[str], check: Callable[[str], Verification]) -> tuple[list[dict[str, Any]], list[CgnnError]]:
    """What a check of each graph found; one that fails does not stop the others."""
    rows: list[dict[str, Any]] = []
    errors: list[CgnnError] = []
    for name in names:
        try:
            found = check(name)
        except (FetchError, DataError) as error:
            errors.append(error)
            rows.append({"name": name, "state": "failed", "error": error.message, "hint": error.hint})
            continue
        state = "verified" if found.verified else "stand-in"
        files = [{"path": str(each.path), "sha256": each.received, "expected": each.expected} for each in found.files]
        row = {"name": name, "state": state, "verified": found.verified, "notes": found.notes, "files": files}
        rows.append(row)
    return rows, errors


def _outcome(session: Session, rows: list[dict[str, Any]], errors: list[CgnnError], what: str) -> Outcome:
    table = make_table("name", "state", "by", "files", "remark")
    for row in rows:
        files = row.get("files", [])
        remark = row["error"] if row["state"] == "failed" else "; ".join(row["notes"])
        count = f"{len(files)} file{'' if len(files) == 1 else 's'}" if files else ""
        table.add_row(row["name"], row["state"], row.get("verified") or "", count, remark)
    if errors:
        session.talker.show(table)
        failed = ", ".join(row["name"] for row in rows if row["state"] == "failed")
        raise type(errors[0])(f"not {what}: {failed}; {errors[0].message}", errors[0].hint)
    return Outcome.of(table, {"datasets": rows}, cache="miss")
