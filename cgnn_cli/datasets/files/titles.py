"""What the titles of columns say: which column of a table of edges is an end, which one of a table of nodes the id."""

import re
from collections.abc import Iterable, Sequence

SOURCES = frozenset(
    {"source", "src", "from", "payer", "sender", "origin", "orig", "originator", "debtor", "remitter", "caller"}
    | {"follower", "citing", "donor", "giver"}
)
TARGETS = frozenset(
    {"target", "dst", "dest", "destination", "to", "payee", "receiver", "recipient", "beneficiary", "creditor"}
    | {"callee", "followee", "followed", "cited"}
)
NODES = frozenset(
    {"id", "ids", "node", "nodes", "vertex", "account", "acct", "user", "customer", "client", "person", "member"}
    | {"page", "paper", "author", "item", "entity", "name", "key", "wallet", "address", "addr", "host", "ip", "url"}
    | {"uid", "iban", "gene", "protein", "neuron", "company", "number", "no", "nr", "idx", "index"}
)
NAMES = frozenset({"name", "key", "number", "no", "nr", "idx", "index", "url", "ip", "host"})  # less often the id
LABELS = frozenset({"label", "labels", "class", "classes", "category", "y", "target"})
WEAK_LABELS = frozenset({"status", "type", "group", "topic", "outcome", "kind", "fraud", "flag", "state"})
WEIGHTS = frozenset(
    {"weight", "weights", "amount", "amt", "value", "count", "counts", "score", "cost", "sum", "volume", "quantity"}
    | {"qty", "price", "total", "strength", "times", "frequency", "fee", "synapses"}
)
TIMES = frozenset({"time", "timestamp", "date", "datetime", "year", "month", "day", "hour", "when", "ts"})
ROWS = frozenset({"txid", "tx", "txn", "trans", "transaction", "edge", "row", "record", "payment", "transfer", "uuid"})
PLACES = frozenset({"currency", "country", "city", "region", "email", "phone"})
OTHERS = frozenset({"head", "tail", "split", "fold", "part", "features", "feature"})
KNOWN = SOURCES | TARGETS | NODES | LABELS | WEAK_LABELS | WEIGHTS | TIMES | ROWS | PLACES | OTHERS
PAIRS = (("1", "2"), ("a", "b"), ("u", "v"))


def words_of(title: str) -> list[str]:
    """The words of a title in lower case: `fromAccount`, `From-Account` and `fromaccount` have two."""
    parts = re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", title.strip()))
    return [word for part in parts if part for word in _unglued(part.lower())]


def _unglued(word: str) -> list[str]:
    if word not in KNOWN:
        for place in range(2, len(word) - 1):
            first, second = word[:place], word[place:]
            if (first in SOURCES | TARGETS and second in NODES) or (
                first in NODES and second in SOURCES | TARGETS | {"id", "ids", "name", "idx"}
            ):
                return [first, second]
    return [word]


def is_known(title: str) -> bool:
    """Whether all words of a title are such as titles have."""
    words = words_of(title)
    return bool(words) and all(word in KNOWN for word in words)


def names_end(title: str, words: frozenset[str]) -> bool:
    """Whether a title has one word for this end of an edge, and otherwise only words for a node."""
    found = words_of(title)
    return sum(word in words for word in found) == 1 and all(word in words | NODES for word in found)


def names_node(title: str) -> bool:
    """Whether a title is that of a column of node ids."""
    found = words_of(title)
    return bool(found) and all(word in NODES for word in found)


def names_weight(title: str) -> bool:
    return any(word in WEIGHTS for word in words_of(title))


def is_no_end(title: str) -> bool:
    """Whether a title says that its column holds no end of an edge: a number of the row, a weight, a time, a label."""
    found = words_of(title)
    return any(word in WEIGHTS | TIMES | ROWS | PLACES | (LABELS | WEAK_LABELS) - {"target", "y"} for word in found)


def is_no_label(title: str) -> bool:
    """Whether a title says that its column holds something else than classes: a time, a place, a number of the row."""
    return any(word in TIMES | ROWS | PLACES for word in words_of(title))


def names_label(title: str) -> bool:
    """Whether a title has a word for the label: `class`, `class_id`, `class1`, `target`."""
    return any(word in LABELS or _stem(word) in LABELS - {"y", "target"} for word in words_of(title))


def find_ends(titles: Sequence[str]) -> tuple[list[int], list[int]]:
    """The columns that may be the source, and those that may be the target, by their titles alone.

    Single words go before compounds: with `source` and `target`, `source_name` is neither.
    """
    sources, targets = (
        [place for place, title in enumerate(titles) if names_end(title, w)] for w in (SOURCES, TARGETS)
    )
    single = [[place for place in found if len(words_of(titles[place])) == 1] for found in (sources, targets)]
    if all(len(found) == 1 for found in single):
        return single[0], single[1]
    if not sources and not targets:
        return _numbered_pair(titles)
    return sources, targets


def _numbered_pair(titles: Sequence[str]) -> tuple[list[int], list[int]]:
    """`node1` and `node2`, `txId1` and `txId2`, `id_a` and `id_b`, or `u` and `v`, which are read in this order."""
    plain = {"".join(re.split(r"[\W_]+", title.strip().lower())): place for place, title in enumerate(titles)}
    for first, second in PAIRS:
        for title, place in plain.items():
            stem = title.removesuffix(first)
            fits = stem in NODES or stem.removesuffix("id") in ROWS - {stem} or (first == "u" and not stem)
            if title.endswith(first) and fits and stem + second in plain:
                return [place], [plain[stem + second]]
    return [], []


def find_labels(titles: Sequence[str], *, but: Iterable[int]) -> list[int]:
    """The columns that may be the label: those of a sure word, or where there is none, of a likely one."""
    left = [place for place in range(len(titles)) if place not in set(but)]
    words = {place: words_of(titles[place]) for place in left}
    sure = [place for place in left if len(words[place]) == 1 and words[place][0] in LABELS]
    sure = sure or [place for place in left if words[place] and _stem(words[place][-1]) in LABELS - {"y", "target"}]
    return sure or [place for place in left if words[place] and words[place][-1] in WEAK_LABELS]


def _stem(word: str) -> str:
    """`class` of `class1`."""
    return word.rstrip("0123456789")
