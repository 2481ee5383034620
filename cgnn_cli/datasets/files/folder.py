"""The tables in a folder as the import would take them: which has edges, labels, features or splits.

Every table is read by the functions of the import. What it would refuse as doubtful is followed into each way that
settles the doubt, so a folder has one way or several, and none of them is a guess.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cgnn_cli.datasets.files.arrays import read_array_or_text
from cgnn_cli.datasets.files.columns import is_number
from cgnn_cli.datasets.files.edges import EdgeColumns, EdgeList, table_edges
from cgnn_cli.datasets.files.node_columns import choose_features, choose_id, choose_label, node_table
from cgnn_cli.datasets.files.node_values import NodeColumns, NodeValues, read_features, read_labels
from cgnn_cli.datasets.files.stored_splits import holds_splits
from cgnn_cli.datasets.files.tables import Reading, Table, parse_table
from cgnn_cli.datasets.files.titles import find_ends, find_labels, names_weight
from cgnn_cli.errors import CgnnError, DataError, DoubtError, UsageError

OWN_OUTPUTS = ({"predicted", "probability"}, {"hitting", "commute"})  # titles of tables that cgnn wrote
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
MOST_WAYS, MOST_TRIES = 4, 16
SHARED = 0.05  # of the larger set: what the two ends of edges share at least, if anything
Choices = Mapping[str, Any]


@dataclass
class Way:
    """One way to take the tables: the options of an import, what it says of them, and what could be added.

    further: options that the user may want beside these, each with words for what they do. classes: how many nodes have
    each label. unused: the other tables, each with a sentence that says why.
    """

    options: dict[str, Any]
    notes: list[str]
    further: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    classes: Counter[str] = field(default_factory=Counter)
    unused: dict[str, str] = field(default_factory=dict)


@dataclass
class Look:
    """What was found in a folder: the ways to take its tables, and what leaves it open which of them.

    faults: what speaks against each table where none has edges.
    """

    tables: list[Path]
    ways: list[Way] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


class NoEdgesError(DataError):
    """No table may be one of edges; `faults` has what speaks against those that were looked at."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__("no table here has edges")
        self.faults = faults


def tables_in(folder: Path) -> list[Path]:
    """The files of a folder whose names are those of tables."""
    return sorted(path for path in folder.iterdir() if path.name.lower().endswith(ENDINGS) and path.is_file())


def look_at(folder: Path) -> Look:
    """Every way to take the tables of a folder, up to a number; no way where none has edges."""
    look = Look([Path(path.name) if folder == Path() else path for path in tables_in(folder)])
    open_choices: list[Choices] = [{}]
    for _ in range(MOST_TRIES):
        if not open_choices or len(look.ways) == MOST_WAYS:
            break
        choices = open_choices.pop(0)
        try:
            look.ways.append(_way(look.tables, choices))
        except DoubtError as doubt:
            look.doubts.append(doubt.message)
            open_choices += [{**choices, **choice} for choice in doubt.choices]
        except NoEdgesError as error:
            look.faults = look.faults or error.faults
        except CgnnError:
            if not choices:
                raise  # else the choice settles nothing
    look.doubts = list(dict.fromkeys(look.doubts))
    return look


def _way(tables: list[Path], choices: Choices) -> Way:
    """The way that choices lead to; a DoubtError where they leave more than one."""
    reading = Reading(choices.get("header"), choices.get("comment"))
    path, table, edges = _find_edges(tables, choices, reading)
    way = Way({"edges": path}, reading.notes)
    others = {other: parsed for other in tables if other != path and (parsed := _parsed(other, way)) is not None}
    splits = [other for other, parsed in others.items() if holds_splits(parsed)]
    nodes = {other: parsed for other, parsed in others.items() if other not in splits}
    asked = NodeColumns(choices.get("id_column"), choices.get("label_column"), choices.get("feature_columns"))
    labels = _find_labels(nodes, edges, asked, choices, way)
    if labels is not None:
        way.options["labels"] = labels.path
        names = labels.values.encoded
        way.classes = Counter(names[1][code] for code in names[0] if names[1][code])
    if features := _find_features(nodes, labels, edges, asked, choices, way):
        way.options["features"] = features
    if labels is not None and splits:
        way.options["splits"] = _only(splits, "splits", choices)
    elif splits:
        way.unused |= {other.name: f"{other}: it holds parts of splits, and there are no labels" for other in splits}
    way.options |= {name: value for name, value in choices.items() if name not in way.options}
    _add_weights(way, table)
    way.notes = list(dict.fromkeys(note for note in way.notes if "is ignored" not in note))
    return way


def _parsed(path: Path, way: Way) -> Table | None:
    try:
        table = parse_table(read_array_or_text(path), path, Reading())
    except DataError as error:
        way.unused[path.name] = error.message
        return None
    return None if _is_output(table) else table


def _only(paths: list[Path], role: str, choices: Choices) -> Path:
    """The one table of a role; a doubt where there are several."""
    if role in choices:
        return Path(choices[role])
    if len(paths) > 1:
        names = " or ".join(path.name for path in paths)
        raise DoubtError(f"the {role} may be in {names}", f"choose with --{role}", [{role: path} for path in paths])
    return paths[0]


def _is_output(table: Table) -> bool:
    """Whether a table is what a command wrote."""
    return any(titles <= set(_titles(table)) for titles in OWN_OUTPUTS)


def _titles(table: Table) -> list[str]:
    return [title.strip() for title in (table.header or table.row(0))]


def _find_edges(tables: list[Path], choices: Choices, reading: Reading) -> tuple[Path, Table, EdgeList]:
    """The table of edges: the one whose titles name both ends, or that the import would take without titles."""
    columns = EdgeColumns(choices.get("source_column"), choices.get("target_column"))
    parsed: dict[Path, Table] = {}
    faults: dict[str, str] = {}
    for path in tables:
        if choices.get("edges", path) == path:
            try:
                table = parse_table(read_array_or_text(path), path, Reading(comment=reading.comment))
            except DataError as error:
                if "edges" in choices or isinstance(error, DoubtError):
                    raise
                faults[path.name] = error.message
            else:
                if not _is_output(table):
                    parsed[path] = table
    titled = [path for path, table in parsed.items() if all(find_ends(_titles(table)))]
    if titled or "edges" in choices:
        path = _only(titled, "edges", choices)
    else:
        path = _untitled(parsed, columns, reading, faults)
    try:
        return path, parsed[path], table_edges(parsed[path], columns, reading)
    except DoubtError as doubt:
        raise _about(path, "edges", doubt) from doubt


def _untitled(parsed: dict[Path, Table], columns: EdgeColumns, reading: Reading, faults: dict[str, str]) -> Path:
    """Of tables without titles of ends, the one that reads as edges; of several, the one whose ends share ids."""
    read, doubts = {}, []
    for path, table in parsed.items():
        if len(table.columns) < 2 or find_labels(_titles(table), but=[]) or holds_splits(table):
            continue
        try:
            read[path] = table_edges(table, columns, Reading(reading.header, reading.comment))
        except DoubtError:
            doubts.append(path)
        except DataError as error:
            faults[path.name] = error.message
    shared = [path for path, edges in read.items() if _share(edges) >= SHARED]
    if len(shared) == 1:
        return shared[0]
    if not read and not doubts:
        raise NoEdgesError(faults)
    return _only(list(read) or doubts, "edges", {})


def _share(edges: EdgeList) -> float:
    source, target = (set(ends.encoded[1]) for ends in (edges.source, edges.target) if not hasattr(ends, "dtype"))
    return len(source & target) / max(len(source), len(target))


def _about(path: Path, role: str, doubt: DoubtError) -> DoubtError:
    """A doubt about a file, which keeps the role that the file has."""
    return DoubtError(doubt.message, doubt.hint, [{role: path, **choice} for choice in doubt.choices])


def _find_labels(
    nodes: dict[Path, Table], edges: EdgeList, asked: NodeColumns, choices: Choices, way: Way
) -> NodeValues | None:
    """The labels: in the table whose titles name them, or else in one that has nothing beside ids but classes."""
    fitting: dict[Path, tuple[NodeValues | DoubtError, list[str]]] = {}
    for path in nodes:
        reading = Reading(choices.get("header"), choices.get("comment"))
        try:
            fitting[path] = read_labels(path, edges, asked, reading), reading.notes
        except DoubtError as doubt:
            fitting[path] = doubt, []
        except (DataError, UsageError) as error:
            way.unused[path.name] = error.message
    if not fitting:
        return None
    titled = [path for path in fitting if find_labels(_titles(nodes[path]), but=[])]
    path = _only(titled or list(fitting), "labels", choices)
    labels, notes = fitting[path]
    if isinstance(labels, DoubtError):
        raise _about(path, "labels", labels)
    way.notes += notes
    return labels


def _find_features(
    nodes: dict[Path, Table], labels: NodeValues | None, edges: EdgeList, asked: NodeColumns, choices: Choices, way: Way
) -> Path | None:
    """The features: in a table of their own, or else in that of the labels."""
    own = []
    beside = None if labels is None else labels.path
    read = partial(_read_features, edges, asked, choices)
    for other in nodes:
        if other == beside:
            continue
        try:
            read(other, Reading(), beside=False)
            own.append(other)
        except DoubtError as doubt:
            way.unused[other.name] = doubt.message
        except (DataError, UsageError) as error:
            way.unused.setdefault(other.name, error.message)
    path: Path | None = _only(own, "features", choices) if own else beside
    for left in own:
        if left != path:
            way.unused[left.name] = f"{left}: features are taken from {path}"
    if path is None:
        return None
    way.unused.pop(path.name, None)
    try:
        reading = Reading()
        read(path, reading, beside=path == beside)
    except (DataError, UsageError):
        _add_columns(way, path, edges, asked)
        return None
    way.notes += reading.notes
    return path


def _read_features(
    edges: EdgeList, asked: NodeColumns, choices: Choices, path: Path, reading: Reading, *, beside: bool
) -> NodeValues:
    reading.header, reading.comment = choices.get("header"), choices.get("comment")
    return read_features(path, edges, asked, reading, beside_labels=beside)


def _add_columns(way: Way, path: Path, edges: EdgeList, asked: NodeColumns) -> None:
    """Say which columns beside the labels are numbers, where not all are: they may be features."""
    reading = Reading(way.options.get("header"), way.options.get("comment"))
    try:
        table = node_table(parse_table(read_array_or_text(path), path, reading), edges, reading, asked.id, asked.label)
        ids = choose_id(table, asked.id, edges.has_nodes)
        label = choose_label(table, asked.label, ids)
        others = [place for place in range(len(table.columns)) if place not in (ids, label)]
        numbers = [place for place in others if table.columns[place].numbers() is not None]
        if numbers and choose_features(table, ",".join(str(place + 1) for place in numbers), ids, label):
            titles = [table.name(place) for place in numbers]
            plain = all("," not in title and not is_number(title) for title in titles) and table.header is not None
            chosen = ",".join(titles if plain else [str(place + 1) for place in numbers])
            way.further.append((f"with {', '.join(titles)} as features", {"feature_columns": chosen}))
    except (DataError, UsageError):
        return


def _add_weights(way: Way, table: Table) -> None:
    """Say which columns of the edges can be weights, by their titles and by what is in them."""
    for title in filter(names_weight, _titles(table)):
        asked = EdgeColumns(way.options.get("source_column"), way.options.get("target_column"), title)
        try:
            table_edges(table, asked, Reading(way.options.get("header"), way.options.get("comment")))
        except (DataError, UsageError):
            continue
        way.further.append((f"with {title} as weights", {"weight_column": title}))
