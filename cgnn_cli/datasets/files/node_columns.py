"""The columns of a table of nodes: the id, the label and the features, by their titles and by the ids of the edges."""

from cgnn_cli.datasets.files.columns import is_number
from cgnn_cli.datasets.files.edges import EdgeList
from cgnn_cli.datasets.files.headers import Known, settle_header
from cgnn_cli.datasets.files.tables import IDS_HINT, Reading, Table, column_number
from cgnn_cli.datasets.files.times import is_date
from cgnn_cli.datasets.files.titles import (
    NAMES,
    SOURCES,
    WEAK_LABELS,
    find_labels,
    is_no_label,
    names_end,
    names_label,
    names_node,
    names_weight,
    words_of,
)
from cgnn_cli.datasets.wording import shorten
from cgnn_cli.errors import DataError, DoubtError, UsageError

ID, LABEL, FEATURES = "--id-column", "--label-column", "--feature-columns"
OPTIONS = {ID: "id_column", LABEL: "label_column"}
SAMPLE_IDS, FEW_FIELDS = 20_000, 5
RANGE = "-"


def node_table(table: Table, edges: EdgeList, reading: Reading, *asked: str | None) -> Table:
    """A table of nodes with its header taken; `asked` are the columns that the user named, the id's first."""
    if len(table.columns) < 2:
        raise DataError(f"{table.path} has one column, but it needs a node id and a value", IDS_HINT)
    if table.header is not None:
        return table
    titles = [title.strip() for title in table.row(0)]
    number = column_number(asked[0])
    nodes = [place for place, title in enumerate(titles) if title and names_node(title)]
    place = titles.index(asked[0]) if asked[0] in titles else number if number is not None else (nodes or [0])[0]
    named = any(column is not None and column_number(column.split(RANGE)[0]) is None for column in asked)
    return settle_header(table, [place], reading, titled=bool(nodes), named=named, known=edges.has_nodes)


def choose_id(table: Table, asked: str | None, known: Known) -> int:
    """The column of node ids: the one asked for, or the one that the titles name and that has ids of the edges."""
    if asked is not None:
        return table.find_column(asked, ID, 0)
    titles = table.header or []
    named = [place for place, title in enumerate(titles) if names_node(title) or (not title and place == 0)]
    counted = 0 in named and not titles[0] and _counts_rows(table)
    if counted and any(not _is_weak(titles[place]) for place in named[1:]):
        named = named[1:]  # the index that pandas writes
    found = [place for place in named or [0] if _has_any(table, place, known)]
    if not named and found and _counts_rows(table):  # numbers of rows, or of nodes
        rivals = [place for place in range(1, len(table.columns)) if _has_each_once(table, place, known)]
        if titles or rivals:
            raise _doubt(table, [0, *rivals], "node id", ID)
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        exact = [place for place in found if titles[place] and not _is_weak(titles[place])]
        if len(exact) == 1 and titles[found[0]]:
            return exact[0]
        raise _doubt(table, found, "node id", ID)
    elsewhere = [place for place in range(len(table.columns)) if _has_any(table, place, known)]
    what = f"{table.path}: no id in column {table.title((named or [0])[0])} is that of a node of the edges"
    where = f"; some are in column {table.listing(elsewhere)}" if elsewhere else ""
    raise DataError(what + where, f"write ids as in the edges, or choose the column with {ID}")


def choose_label(table: Table, asked: str | None, ids: int) -> int:
    """The column of labels: the one asked for, the one that the titles name, or the only other one."""
    if asked is not None:
        return table.find_column(asked, LABEL, 1)
    titles = table.header or []
    found = find_labels(titles, but=[ids])
    if any(words_of(titles[place]) == ["target"] for place in found) and any(names_end(t, SOURCES) for t in titles):
        others = [place for place in range(len(titles)) if place != ids]
        raise _doubt(table, others, "label", LABEL)
    if found and words_of(titles[found[0]])[-1] in WEAK_LABELS:
        found += [place for place in range(len(titles)) if place not in (ids, *found) and _is_undecided(table, place)]
    if len(found) > 1:
        raise _doubt(table, found, "label", LABEL)
    if found:
        return found[0]
    if len(table.columns) == 2:
        if titles and (is_no_label(titles[1 - ids]) or _are_measures(table, 1 - ids)):
            raise _doubt(table, [1 - ids], "label", LABEL)
        return 1 - ids
    message = f"{table.path} has {len(table.columns)} columns, and none is known as the label: {table.listing()}"
    raise DataError(message, f"choose with {LABEL}")


def choose_features(table: Table, asked: str | None, ids: int, label: int | None, time: str | None = None) -> list[int]:
    """The columns of features: those asked for (`age,posts,5-9`), or all but the id, the label and the time."""
    if asked is not None:
        places = [place for part in _parts(table, asked) for place in _range(table, part)]
        twice = next((place for place in places if places.count(place) > 1 or place == ids), None)
        if twice is not None:
            raise UsageError(f"{FEATURES} {asked}: column {table.title(twice)} is there twice, or is the id")
        return places
    titles = table.header or []
    times = [place for place, title in enumerate(titles) if title == time]
    others = [place for place in range(len(table.columns)) if place not in (ids, label, *times)]
    labels = [place for place in others if titles and names_label(titles[place])]
    if labels:
        message = f"{table.path}: column {table.title(labels[0])} may be the label, which is no feature"
        raise DataError(message, f"choose the features with {FEATURES}, such as --feature-columns age,posts or 2-9")
    if not others:
        raise DataError(f"{table.path} has no column of features", "leave --features out")
    return others


def _parts(table: Table, asked: str) -> list[str]:
    return [asked] if asked in (table.header or []) else [part.strip() for part in asked.split(",")]


def _range(table: Table, part: str) -> list[int]:
    """The columns from one number to another, or the one that is named."""
    ends = [column_number(end) for end in part.split(RANGE)]
    if len(ends) == 2 and None not in ends and part not in (table.header or []):
        first, last = (table.find_column(end, FEATURES, 0) for end in part.split(RANGE))
        return list(range(first, last + 1))
    return [table.find_column(part, FEATURES, 0)]


def _are_measures(table: Table, column: int) -> bool:
    """Whether a column holds fractions or dates, or hardly anything twice, as classes seldom do."""
    fields = [field for field in table.columns[column][:SAMPLE_IDS] if field]
    varied = len(fields) > FEW_FIELDS and 2 * len(set(fields)) > len(fields)
    return varied or (bool(fields) and all((is_number(f) and "." in f) or is_date(f) for f in fields))


def _is_undecided(table: Table, column: int) -> bool:
    """Whether a column may be the label for all that its title and its fields say."""
    title = table.name(column)
    told = not (table.header or [])[column] or is_no_label(title) or names_weight(title) or names_node(title)
    return not told and not _are_measures(table, column)


def _is_weak(title: str) -> bool:
    return not title or all(word in NAMES for word in words_of(title))


def _counts_rows(table: Table) -> bool:
    """Whether the first column holds 0, 1, 2, ..."""
    return all(field == str(row) for row, field in enumerate(table.columns[0][:SAMPLE_IDS]))


def _has_any(table: Table, column: int, known: Known) -> bool:
    return bool(known(list(table.columns[column][:SAMPLE_IDS])).any()) or (
        table.row_count > SAMPLE_IDS and bool(known(table.columns[column].ids.names).any())
    )


def _has_each_once(table: Table, column: int, known: Known) -> bool:
    """Whether a column may be the id for what is in it: nodes of the edges, each in one row."""
    names = table.columns[column].ids.names
    return len(names) == table.row_count and bool(known(names).all())


def _doubt(table: Table, columns: list[int], what: str, flag: str) -> DoubtError:
    readings = " or ".join(f"{table.title(place)} ({shorten(table.columns[place][0])}, ...)" for place in columns[:3])
    choices = [{OPTIONS[flag]: str(place + 1)} for place in columns]
    return DoubtError(f"{table.path}: the {what} may be column {readings}", f"choose with {flag}", choices)
