"""The columns of a table of edges that hold the two ends, by their titles or else by what is in them."""

import contextlib
from collections.abc import Collection, Sequence
from itertools import combinations

from cgnn_cli.datasets.files.columns import Column, is_number
from cgnn_cli.datasets.files.tables import NODE_NUMBER, Table, column_number
from cgnn_cli.datasets.files.times import is_date
from cgnn_cli.datasets.files.titles import find_ends, is_known, is_no_end, names_node
from cgnn_cli.errors import DataError, DoubtError, UsageError

SAMPLE_ROWS, SAMPLE_COLUMNS = 20_000, 40
SHARED = 0.05  # of the larger set: what two columns of ends share at least, where they share anything
HINT = "choose with --source-column and --target-column"


def guess_ends(table: Table, source: str | None, target: str | None) -> tuple[list[int], bool]:
    """Where the ends are while the first row may still be a header, and whether it has titles of ends."""
    titles = [title.strip() for title in table.row(0)]
    named = find_ends(titles)
    places = [found[0] if len(found) == 1 else default for found, default in zip(named, (0, 1), strict=True)]
    for end, asked in enumerate((source, target)):
        if (number := column_number(asked)) is not None:
            places[end] = number
    return places, all(named) or all(map(is_known, titles))


def choose_ends(
    table: Table, asked_source: str | None, asked_target: str | None, taken: Collection[int | None] = ()
) -> tuple[int, int]:
    """The columns of source and target: those asked for, those that the titles name, or else the first two.

    taken: columns that are asked for as something else.
    """
    source = table.find_column(asked_source, "--source-column", -1)
    target = table.find_column(asked_target, "--target-column", -1)
    sources, targets = find_ends(table.header or [])
    if source >= 0:
        sources, targets = [source], [place for place in targets if place != source]
    if target >= 0:
        sources, targets = [place for place in sources if place != target], [target]
    if len(sources) > 1 or len(targets) > 1:
        raise _doubt(table, [(one, other) for one in sources or [0] for other in targets or [1] if one != other])
    if sources and targets:
        source, target = sources[0], targets[0]
    elif (sources or targets) and source < 0 and target < 0:
        source, target = _other_end(table, sources, targets)
    else:
        source, target = (sources or [0])[0], (targets or [1])[0]
        if source != target:
            _check_unnamed(table, (source, target), (asked_source is None, asked_target is None), taken)
    if source == target:
        raise UsageError(f"source and target are both column {source + 1} of {table.path}", "name both columns")
    return source, target


def _other_end(table: Table, sources: list[int], targets: list[int]) -> tuple[int, int]:
    """The ends where the titles name one: the other of two columns, if it holds some of the same ids."""
    known = (sources or targets)[0]
    others = [place for place in range(len(table.columns)) if place != known]
    pairs = [(known, other) if sources else (other, known) for other in others]
    class_of_node = not sources and any(names_node(table.name(other)) for other in others)
    likely = [pair for pair in pairs if not is_no_end(table.name(sum(pair) - known))]
    if len(others) > 1 or not likely or class_of_node or not _shares_ids(table, *likely[0]):
        raise _doubt(table, pairs, f"column {table.title(known)} is one end of an edge, but no title names the other")
    return likely[0]


def _check_unnamed(table: Table, ends: tuple[int, int], free: tuple[bool, bool], taken: Collection[int | None]) -> None:
    """No title names the ends: what may speak against those that are taken is a doubt.

    free: for each of the two, whether it was not asked for.
    """
    titles = table.header or []
    plain = [title.lower() for title in titles]
    wide = len(table.columns) > 2
    if titles:
        guessed = [place for place, may_move in zip(ends, free, strict=True) if may_move]
        numbers = [place for place in guessed if wide and plain[place] in ("", "id") and plain.count("id") < 2]
        if numbers or any(is_no_end(titles[place]) for place in guessed):
            raise _doubt(table, [ends, *_later_pairs(table, *ends)])
    if wide and (better := _better_pair(table, *ends, free, taken)):
        raise _doubt(table, [ends, better])


def _later_pairs(table: Table, source: int, target: int) -> list[tuple[int, int]]:
    left = [place for place in range(len(table.columns)) if not is_no_end(table.name(place))]
    return [pair for pair in combinations(left, 2) if pair != (source, target)][:1]


def _better_pair(
    table: Table, source: int, target: int, free: tuple[bool, bool], taken: Collection[int | None]
) -> tuple[int, int] | None:
    """Two columns that are likelier to be ends by what they hold, where the ends may move to them."""
    samples = {
        place: sample
        for place, column in enumerate(table.columns[:SAMPLE_COLUMNS])
        if place not in taken and (sample := _Sample(column)).kind != "other"
    }
    pairs = [
        (one, other)
        for one, other in combinations(samples, 2)
        if (free[0] or one == source) and (free[1] or other == target) and (one, other) != (source, target)
    ]
    if not pairs:
        return None
    if source not in samples or target not in samples:
        return pairs[0] if len(samples) > 1 else None
    shared = samples[source].shared_with(samples[target])
    kind = samples[source].kind
    shares = {(one, other): samples[one].shared_with(samples[other]) for one, other in pairs}
    best = max(shares, key=lambda pair: (samples[pair[0]].kind != kind and shares[pair] >= SHARED, shares[pair]))
    if shares[best] >= SHARED and (shares[best] > shared or samples[best[0]].kind != kind):
        return best
    kin = [(target, other) for other in samples if other > target and samples[other].kind == samples[target].kind]
    return kin[0] if not shared and samples[source].is_key and free[0] and kin else None


def _shares_ids(table: Table, one: int, other: int) -> bool:
    return _Sample(table.columns[one]).shared_with(_Sample(table.columns[other])) >= SHARED


class _Sample:
    """The first fields of a column: the kind of ids that they may be, and which."""

    def __init__(self, column: Column) -> None:
        fields = []
        with contextlib.suppress(DataError):  # what is not read need not be readable
            fields = list(column[:SAMPLE_ROWS])
        self.values = set(fields) - {""}
        self.is_key = len(self.values) == len(fields) > 1
        if self.values and all(map(NODE_NUMBER.fullmatch, self.values)):
            self.kind = "number"
        else:
            self.kind = "other" if not self.values or all(map(_is_measure, self.values)) else "text"

    def shared_with(self, other: "_Sample") -> float:
        if self.kind != other.kind:
            return 0.0
        return len(self.values & other.values) / max(len(self.values), len(other.values))


def _is_measure(field: str) -> bool:
    """Whether a field is a fraction, a date or a truth value, which ids are not."""
    return is_number(field) or is_date(field) or field.lower() in ("true", "false")


def _doubt(table: Table, pairs: Sequence[tuple[int, int]], reason: str = "") -> DoubtError:
    readings = [f"{table.title(one)} -> {table.title(other)}" for one, other in pairs[:3]]
    more = " or others" if len(pairs) > 3 else ""
    if not readings or (reason and len(readings) == 1):
        listed = f"the columns are {table.listing()}"
    else:
        listed = f"an edge may be {' or '.join(readings)}{more}"
    choices = [{"source_column": str(one + 1), "target_column": str(other + 1)} for one, other in pairs]
    return DoubtError(f"{table.path}: {f'{reason}; ' if reason else ''}{listed}", HINT, choices)
