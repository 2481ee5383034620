"""Whether the first row of a text is its header, told by its content. Where that leaves doubt, the user is asked."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from cgnn_cli.datasets.files.columns import is_number
from cgnn_cli.datasets.files.tables import Reading, Table
from cgnn_cli.datasets.files.times import is_date
from cgnn_cli.datasets.files.titles import is_known
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DoubtError

MISSING = frozenset({"", "-", "?", "na", "n/a", "nan", "nil", "none", "null", "unk", "unknown", "missing"})
FEW_ROWS, SAMPLE = 3, 100
OWN_TITLES = {1: ["id"], 2: ["source", "target"]}  # of exports, which come back whatever the ids
Known = Callable[[list[str]], np.ndarray]  # which ids are nodes of another file


def settle_header(
    table: Table, ids: Sequence[int], reading: Reading, *, titled: bool, named: bool = False, known: Known | None = None
) -> Table:
    """The table with its header taken, where it has one.

    ids: the columns of nodes; titled: whether the first row has the titles that are looked for; named: whether the
    user named a column; known: whether a node is in another file too.
    """
    header = reading.header
    if header is None:
        header = named or has_header(table, [place for place in ids if place < len(table.columns)], titled, known)
    return table.take_header(header, reading)


def has_header(table: Table, ids: Sequence[int], titled: bool, known: Known | None = None) -> bool:
    """What the first row is; a DoubtError that shows both readings where it may be either.

    A title is in no other row and no node, and is no number. A column of numbers or dates has a title of another kind.
    """
    first = table.row(0)
    if table.row_count == 1:
        return titled
    if len(ids) == 1 and not first[ids[0]]:  # the title of an index, as pandas writes it
        return not any(map(is_number, first)) or first[1:] == [str(place) for place in range(len(first) - 1)]
    others = [place for place in range(len(first)) if place not in ids]
    if any(is_number(first[place]) for place in ids):
        return _numbered(table, ids, titled)
    if titled and [field.lower() for field in first[: len(ids)]] == OWN_TITLES[len(ids)]:
        return True
    if _are_nodes(table, ids, known):
        if titled and not any(map(is_number, first)) and not _repeats(table, others):
            raise _doubt(table, ids)
        return False
    return titled or _breaks_say(table, ids, others)


def _breaks_say(table: Table, ids: Sequence[int], others: Sequence[int]) -> bool:
    """Whether the first row is of another kind than the rows below, where neither titles nor nodes tell."""
    first = table.row(0)
    breaks = {place for place in range(len(first)) if _breaks(table, place)}
    number = any(is_number(first[place]) for place in others)
    repeats = _repeats(table, others)
    if not number and not repeats and (set(ids) <= breaks or breaks & set(others)):
        return True
    if breaks & set(ids):
        raise _doubt(table, ids)
    if number or repeats or _is_alike(table, ids):
        return False
    if table.row_count > FEW_ROWS and _differs_in_shape(table, ids):
        return True
    raise _doubt(table, ids)


def _numbered(table: Table, ids: Sequence[int], titled: bool) -> bool:
    """A number stands where an id does: it is one, unless the columns are numbered and no other id is a number."""
    first = table.row(0)
    counted = first == [str(place) for place in range(len(first))]
    below = [table.columns[place][1 : SAMPLE + 1] for place in ids]
    if (counted and not any(is_number(field) for column in below for field in column)) or (
        titled and len(ids) == 1 and not is_number(below[0][0])
    ):
        raise _doubt(table, ids)
    return False


def _are_nodes(table: Table, ids: Sequence[int], known: Known | None) -> bool:
    """Whether a field of the first row is an id of another row or file, or both ends are one node."""
    first = table.row(0)
    if len(ids) == 2 and ids[0] != ids[1] and first[ids[0]] == first[ids[1]] and not is_known(first[ids[0]]):
        return True
    return any(
        (known is not None and known([first[place]])[0]) or any(_holds(table, other, first[place]) for other in ids)
        for place in ids
    )


def _repeats(table: Table, columns: Sequence[int]) -> bool:
    """Whether a field of the first row is found below in its own column."""
    first = table.row(0)
    return any(first[place] and _holds(table, place, first[place]) for place in columns)


def _holds(table: Table, column: int, field: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.equal(table.columns[column][1:].array, field)).as_py())


def _breaks(table: Table, column: int) -> bool:
    """Whether the column holds numbers, or dates, in all rows but the first."""
    import pyarrow.compute as pc

    from cgnn_cli.datasets.files.columns import Column

    first = table.columns[column][0]
    if first.lower() in MISSING or is_number(first) or is_date(first):
        return False
    array = table.columns[column][1:].array
    below = Column.of(array.filter(pc.not_equal(array, "")))
    if not len(below):
        return False
    if is_date(below[0]):
        return all(map(is_date, below[:SAMPLE]))
    return is_number(below[0]) and below.numbers() is not None


def _differs_in_shape(table: Table, ids: Sequence[int]) -> bool:
    """Whether all ids below have a digit, while those of the first row, and all that is beside them, have none."""
    import pyarrow.compute as pc

    if any(character.isdigit() for field in table.row(0) for character in field):
        return False
    return all(pc.all(pc.match_substring_regex(table.columns[place][1:].array, r"\d")).as_py() for place in ids)


def _is_alike(table: Table, ids: Sequence[int]) -> bool:
    """Whether the ids below differ from those of the first row in nothing but their digits, or are single signs too."""
    forms = {_form(field) for place in ids for field in table.columns[place][: SAMPLE + 1] if field}
    return len(forms) == 1 and not forms & {""}


def _form(field: str) -> str:
    if len(field) == 1:
        return "?"
    form = re.sub(r"[0-9]+", "0", field)
    return form if "0" in form else ""


def _doubt(table: Table, ids: Sequence[int]) -> DoubtError:
    first, second = (" -> ".join(shorten(table.columns[place][row]) for place in ids) for row in (0, 1))
    what = "edge" if len(ids) == 2 else "node"
    message = (
        f"{table.where(0)}: it may be a header or data; with a header the first {what} is {second}, without one {first}"
    )
    hint = "say which with --header or --no-header, which hold for all text files"
    return DoubtError(message, hint, [{"header": True}, {"header": False}])
