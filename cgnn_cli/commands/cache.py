"""`cgnn cache`: what the store holds, whether it is sound, what can go, and how to carry it elsewhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from cgnn_cli.commands.console import figure
from cgnn_cli.commands.options import ORIGIN_HELP, argument, complete_artifact, option
from cgnn_cli.commands.output import check_output, said_of
from cgnn_cli.commands.session import Outcome, Session, command, command_group
from cgnn_cli.errors import CorruptError, ResourceError, UpstreamError
from cgnn_cli.pipeline import STAGES
from cgnn_cli.resources import readable_bytes
from cgnn_cli.store.lineage import locate

if TYPE_CHECKING:
    StageName = str
else:
    StageName = Literal[tuple(STAGES)]
KEY_HELP = "The beginning of a key, or the path of an artifact in the store."
KEYS_HELP = "Beginnings of keys, or paths of artifacts in the store."
ALL_KEYS_HELP = "Beginnings of keys, or paths; without any, everything."
QUARANTINE_HELP = "Also remove the damaged files in quarantine."
KEEP_HELP = "Keep what was made in this many days before now."
PACK_HELP = "Write artifacts and all they were made from into one file."


def register(app: typer.Typer) -> None:
    about = "The store: list it, verify it, free space, carry artifacts to another machine."
    brief, example = "The store: ls, verify, gc, path, pack, unpack.", "cgnn cache gc --dry-run"
    cache = command_group(app, "cache", help=about, brief=brief, example=example, panel="Look inside")
    for name, function, text, example in (
        ("ls", list_cache, "What the store holds.", "ls --stage commute"),
        ("verify", verify_cache, "Check every byte of artifacts; damaged ones are moved away.", "verify"),
        ("gc", collect, "Remove what no newest result depends on.", "gc --dry-run"),
        ("path", print_path, "Path of an artifact.", "path KEY"),
        ("pack", pack_artifacts, PACK_HELP, "pack KEY --output commute.tar"),
        ("unpack", unpack_artifacts, "Take the artifacts of a pack into the store.", "unpack commute.tar"),
    ):
        command(cache, name, function, group="cache", help=text, example=f"cgnn cache {example}")


def list_cache(
    session: Session,
    stage: Annotated[StageName | None, option("--stage", "Only this stage.")] = None,
) -> Outcome:
    """The side records as a table; no artifact is read."""
    from cgnn_cli.store.housekeeping import list_store

    listing = list_store(session.store, [stage] if stage else STAGES)
    table = Table("stage", "key", "dataset", figure("size"), "made", figure("seconds"))
    for row in listing.artifacts:
        made = str(row["made"] or "-")[:16].replace("T", " ")
        size, seconds = readable_bytes(row["bytes"]), f"{row['seconds']:.2f}"
        table.add_row(row["stage"], row["key"][:12], ", ".join(row["datasets"]), size, made, seconds)
    total = sum(row["bytes"] for row in listing.artifacts)
    session.talker.say(
        f"{_count(len(listing.artifacts), 'artifact')}, {readable_bytes(total)}; "
        f"{_count(listing.unfinished, 'unfinished run')}, {_count(listing.quarantined, 'quarantined file')}, "
        f"{_count(listing.temporaries, 'temporary file')}"
    )
    if listing.unrecorded:
        count = _count(listing.unrecorded, "artifact")
        session.talker.note(f"{count} without a side record; `cgnn cache verify` writes it, or says what they are")
    return Outcome.of(table, {"bytes": total, **asdict(listing)})


def verify_cache(
    session: Session, keys: Annotated[list[str] | None, argument("KEY...", ALL_KEYS_HELP, complete_artifact)] = None
) -> Outcome:
    """Read artifacts in full, and put damaged ones into quarantine."""
    from cgnn_cli.store.choices import FOLDER, choice_keys
    from cgnn_cli.store.housekeeping import DAMAGED, FOREIGN, NEWER, SOUND, UNREADABLE, artifact_files, verify

    store, rows, table = session.store, [], Table("stage", "key", "result")
    failures: list[str] = []
    choices: list[str] = []  # those that are damaged, which stay
    everything = [(path.parent.name, path.stem) for path in artifact_files(store)]
    everything += [(FOLDER, key) for key in choice_keys(store)]
    places = [locate(store, key) for key in keys] if keys else everything
    for number, (stage, key) in enumerate(places):
        session.talker.progress(number, len(places), f"{stage} {key[:12]}")
        if (found := verify(store, stage, key)) is None:
            continue
        result, reason = found
        rows.append({"stage": stage, "key": key, "sound": result == SOUND, "result": result})
        table.add_row(stage, key[:12], result, style=None if result == SOUND else "red")
        if result in (NEWER, FOREIGN):
            session.talker.note(reason)
        elif result == UNREADABLE:
            failures.append(reason)
        elif result == DAMAGED and stage == FOLDER:
            choices.append(reason)
    counts = Counter(row["result"] for row in rows)
    if counts[DAMAGED] or failures:
        session.talker.show(table)
    if moved := counts[DAMAGED] - len(choices):
        raise CorruptError(
            f"{moved} of {_count(len(rows), 'artifact')} in {store.root} damaged, and moved to quarantine",
            "run the commands that made them again, or import the graph again",
        )
    if choices:
        raise CorruptError(choices[0])
    if failures:
        others = f", and {len(failures) - 1} more" if failures[1:] else ""
        raise ResourceError(f"not verified: {failures[0]}{others}", "check permissions, owners and the disk")
    session.talker.say(f"{_count(counts[SOUND], 'artifact')} verified")
    return Outcome.of(table, {"verified": rows})


def collect(
    session: Session,
    dry_run: Annotated[bool, option("--dry-run", "Show what would go, and stop.")] = False,
    keep_days: Annotated[float, option("--keep-days", KEEP_HELP, min=0)] = 0.0,
    quarantine: Annotated[bool, option("--quarantine", QUARANTINE_HELP)] = False,
) -> Outcome:
    """Keep what is in use, what the newest results depend on, and every dataset's graph; remove the rest."""
    from cgnn_cli.store.garbage import STALE_LOCK, collect_garbage

    collected = collect_garbage(session.store, keep_days=keep_days, quarantine=quarantine, dry_run=dry_run)
    table = Table("what", "name", figure("size"))
    rows = []
    for piece, size in collected.removed:
        name = f"{piece.guard[0]} {piece.guard[1][:12]}" if piece.guard else piece.paths[0].name
        if piece.what != STALE_LOCK:  # there is one for nearly every artifact, of no size
            table.add_row(piece.what, name, readable_bytes(size))
        rows.append({"what": piece.what, "paths": [str(part) for part in piece.paths], "bytes": size})
    for piece in collected.in_use:
        session.talker.say(f"in use, stays: {piece.what} {piece.paths[0]}")
    if collected.quarantined:
        count, folder = _count(len(collected.quarantined), "damaged file"), session.store.root / "quarantine"
        session.talker.note(f"{count} in {folder} stay; `cgnn cache gc --quarantine` removes them")
    counts = Counter(piece.what for piece, _ in collected.removed)
    what = ", ".join(f"{name} {number}" for name, number in counts.items()) or "nothing to remove"
    verb = "would free" if dry_run else "freed"
    in_use = [str(piece.paths[0]) for piece in collected.in_use]
    outcome = Outcome.of(
        f"{verb} {collected.freed} bytes ({readable_bytes(collected.freed)}): {what}; {collected.kept} artifacts stay",
        {
            "bytes": collected.freed,
            "removed": rows,
            "in_use": in_use,
            "kept": collected.kept,
            "quarantined": len(collected.quarantined),
            "dry_run": dry_run,
        },
    )
    outcome.table = table if table.row_count else None
    return outcome


def print_path(session: Session, key: Annotated[str, argument("KEY", KEY_HELP, complete_artifact)]) -> Outcome:
    """The path of a sound artifact."""
    stage, full_key = locate(session.store, key)
    if session.store.find(stage, full_key) is None:
        raise UpstreamError(f"{stage} {full_key[:12]} is damaged, and was moved to quarantine", "make it again")
    path = session.store.path(stage, full_key)
    return Outcome.of(str(path), {"stage": stage, "bytes": path.stat().st_size}, artifact=path, key=full_key)


def pack_artifacts(
    session: Session,
    keys: Annotated[list[str], argument("KEY...", KEYS_HELP, complete_artifact)],
    output: Annotated[Path, option("--output -o", "File to write.")],
    with_origin: Annotated[bool, option("--with-origin", ORIGIN_HELP)] = False,
) -> Outcome:
    """One uncompressed tar file, the same for the same artifacts."""
    from cgnn_cli.store.pack import pack

    check_output(session, output)
    wanted = [locate(session.store, key) for key in keys]
    headers, size = pack(session.store, wanted, output, with_origin=with_origin)
    for header in headers:
        session.talker.say(f"{header.stage:<8} {header.key[:12]}")
    members = [{"stage": header.stage, "key": header.key} for header in headers]
    return Outcome.of(said_of(output), {"artifacts": members, "bytes": size}, artifact=output, key=wanted[0][1])


def unpack_artifacts(
    session: Session, file: Annotated[Path, argument("FILE", "A file that `cgnn cache pack` wrote.")]
) -> Outcome:
    """All of the pack, or nothing where any of it is damaged."""
    from cgnn_cli.datasets.registry import RECORD_PATTERN, may_stand
    from cgnn_cli.store.pack import unpack

    unpacked = unpack(session.store, file, RECORD_PATTERN, may_stand)
    table = Table("stage", "key", "in the store")
    rows = []
    for header, hit in unpacked.artifacts:
        table.add_row(header.stage, header.key[:12], "hit" if hit else "new")
        rows.append({"stage": header.stage, "key": header.key, "cache": "hit" if hit else "new"})
    for name, state in unpacked.datasets.items():
        if state == "kept":
            session.talker.note(
                f"the dataset name {name} stands for another graph here and keeps doing so; "
                "the artifacts of the pack are found by --input, or as the newest ones"
            )
    new = sum(row["cache"] == "new" for row in rows)
    session.talker.say(f"{_count(new, 'new artifact')}, {len(rows) - new} in the store already")
    return Outcome.of(table, {"artifacts": rows, "datasets": unpacked.datasets})


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
