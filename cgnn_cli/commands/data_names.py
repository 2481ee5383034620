"""`cgnn data rm` and `cgnn data rename`: the names of imported datasets."""

from __future__ import annotations

from typing import Annotated

from cgnn_cli.commands.options import argument, complete_dataset
from cgnn_cli.commands.session import Outcome, Session

Own = Annotated[str, argument("NAME", "Name of an imported dataset.", complete_dataset)]


def remove_dataset(session: Session, name: Own) -> Outcome:
    """Remove the name; what was computed from the graph is left to `cache gc`."""
    from cgnn_cli.datasets.naming import remove_name

    removed, kept = remove_name(session.store, name)
    why = (
        f"; {len(kept)} graph(s) stay, for other names or for what was made from them (`cgnn cache gc` frees the rest)"
    )
    session.talker.say(f"{name} is removed{why if kept else ''}")
    return Outcome.of(None, {"name": name, "graphs": removed, "kept": kept})


def rename_dataset(session: Session, old: Own, new: Annotated[str, argument("NEW", "Its new name.")]) -> Outcome:
    from cgnn_cli.datasets.naming import rename

    rename(session.store, old, new)
    session.talker.say(f"{old} is now {new}")
    return Outcome.of(None, {"name": new, "before": old})
