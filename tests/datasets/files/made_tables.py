"""Tables of edges and labels in any form that people have, each with the graph that they mean."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgnn_cli.artifact_tables import write_parquet

SOURCES = ["source", "from", "payer", "sender", "src", "from_account", "Sender ID", "sourceNode", "payer_account"]
TARGETS = ["target", "to", "payee", "receiver", "dst", "to_account", "Receiver ID", "targetNode", "payee_account"]
UNKNOWN = ["debitor", "kreditor", "alpha", "beta", "linkeseite", "konto"]
IDS = ["id", "node", "account", "customer_id", "Account Number", "node id"]
LABELS = ["label", "class", "status", "target", "y", "fraud_label"]
NAMES = ["ann", "bob", "cat", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "leo", "mia", "ned", "oda", "pia"]


@dataclass
class Made:
    """A table as a file would hold it, what it means, and whether a reader can be expected to tell."""

    titles: list[str] | None
    rows: list[list[str]]
    meaning: set[tuple[str, str]] | None
    clear: bool
    form: str = ""

    def write(self, path: Path, draw: random.Random) -> Path:
        rows = [self.titles, *self.rows] if self.titles else self.rows
        self.form = draw.choice([",", ";", "\t", "quoted", "parquet" if self.titles else "quoted"])
        if self.form == "parquet":
            path = path.with_suffix(".parquet")
            columns: dict[str, Any] = dict(zip(self.titles or [], map(list, zip(*self.rows, strict=True)), strict=True))
            path.write_bytes(write_parquet(columns))
            return path
        mark, quote = (",", '"') if self.form == "quoted" else (self.form, "")
        path.write_text("".join(mark.join(f"{quote}{cell}{quote}" for cell in row) + "\n" for row in rows))
        return path


@dataclass
class Columns:
    """Columns by their role, with their titles."""

    cells: dict[str, list[str]]
    titles: dict[str, str]
    order: list[str] = field(default_factory=list)

    def table(self, meaning: set[tuple[str, str]] | None, header: bool, clear: bool) -> Made:
        rows = [list(row) for row in zip(*(self.cells[role] for role in self.order), strict=True)]
        return Made([self.titles[role] for role in self.order] if header else None, rows, meaning, clear)


def make_ids(draw: random.Random) -> list[str]:
    count = draw.randint(6, len(NAMES))
    return draw.choice(
        [
            draw.sample(NAMES, count),
            [f"acct_{number}" for number in draw.sample(range(1000), count)],
            [str(number) for number in range(count)],
            [str(number) for number in draw.sample(range(10**6), count)],
            [f"{draw.getrandbits(32):08x}" for _ in range(count)],
        ]
    )


def make_edges(draw: random.Random, ids: list[str]) -> Made:
    pairs = [(draw.choice(ids), draw.choice(ids)) for _ in range(draw.randint(12, 40))]
    count = len(pairs)
    cells = {"source": [one for one, _ in pairs], "target": [other for _, other in pairs]}
    more = {
        "amount": [f"{draw.uniform(1, 99):.2f}" for _ in pairs],
        "count": [str(draw.randint(1, 20)) for _ in pairs],
        "txid": [str(row) for row in range(count)],
        "transaction_id": [f"t{row}" for row in range(count)],
        "date": [f"2024-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}" for _ in pairs],
        "currency": [draw.choice(["EUR", "USD", "CHF"]) for _ in pairs],
    }
    chosen = draw.sample(sorted(more), draw.choice([0, 0, 1, 2, 3]))
    cells |= {name: more[name] for name in chosen}
    header, known = draw.random() < 0.75, draw.random() < 0.8
    place = draw.randrange(len(SOURCES))
    source, target = (SOURCES[place], TARGETS[place]) if known else draw.sample(UNKNOWN, 2)
    columns = Columns(cells, {**{name: name for name in chosen}, "source": source, "target": target}, list(cells))
    if draw.random() < 0.6:
        draw.shuffle(columns.order)
    meaning = set(pairs)
    if header and draw.random() < 0.1:
        columns.order.remove(draw.choice(["source", "target"]))
        if len(columns.order) == 1:
            columns.order.append("date")
            columns.titles["date"], cells["date"] = "date", more["date"]
        return columns.table(None, header, clear=False)
    if not (header and known) and columns.order.index("source") > columns.order.index("target"):
        meaning = {(other, one) for one, other in pairs}  # nothing tells the direction but the order
    named = header and known
    return columns.table(meaning, header, clear=named or (header and len(cells) == 2 and ids[0].isdecimal()))


def make_labels(draw: random.Random, ids: list[str]) -> Made:
    nodes = draw.sample(ids, len(ids) - draw.randint(0, 1)) + [
        f"{draw.choice(ids)}9x" for _ in range(draw.randint(0, 1))
    ]
    nodes = list(dict.fromkeys(nodes))
    draw.shuffle(nodes)
    classes = draw.choice([["ok", "fraud"], ["0", "1"], ["red", "blue"]])
    label = [classes[row % len(classes)] for row in range(len(nodes))]
    cells = {"id": nodes, "label": label}
    more = {
        "country": [draw.choice(["DE", "FR", "IT"]) for _ in nodes],
        "age": [str(draw.randint(18, 80)) for _ in nodes],
        "balance": [f"{draw.uniform(0, 9):.1f}" for _ in nodes],
        "opened": [f"2020-01-{draw.randint(10, 28)}" for _ in nodes],
    }
    chosen = draw.sample(sorted(more), draw.choice([0, 0, 1, 2, 4]))
    cells |= {name: more[name] for name in chosen}
    header, known = draw.random() < 0.75, draw.random() < 0.8
    titles = {name: name for name in chosen}
    titles["id"], titles["label"] = (draw.choice(IDS), draw.choice(LABELS)) if known else draw.sample(UNKNOWN, 2)
    columns = Columns(cells, titles, list(cells))
    if draw.random() < 0.6:
        draw.shuffle(columns.order)
    meaning: set[tuple[str, str]] | None = set(zip(nodes, label, strict=True))
    if header and len(cells) > 2 and draw.random() < 0.1:
        columns.order.remove(draw.choice(["id", "label"]))
        return columns.table(None, header, clear=False)
    return columns.table(meaning, header, clear=header and known)


def make_features(draw: random.Random, ids: list[str]) -> Made:
    """A row for every node, or for all but one; what it means is each value under its title."""
    nodes = draw.sample(ids, len(ids) - (draw.random() < 0.1))
    more = {
        "age": [str(draw.randint(18, 80)) for _ in nodes],
        "balance": [f"{draw.uniform(0, 9):.1f}" for _ in nodes],
        "posts": [str(draw.randint(0, 20)) for _ in nodes],
        "rank": [str(row) for row in range(len(nodes))],
        "f1": [f"{draw.gauss(0, 1):.3f}" for _ in nodes],
    }
    chosen = draw.sample(sorted(more), draw.randint(1, 4))
    cells = {"id": nodes, **{name: more[name] for name in chosen}}
    header, known = draw.random() < 0.75, draw.random() < 0.8
    titles = {**{name: name for name in chosen}, "id": draw.choice(IDS) if known else draw.choice(UNKNOWN)}
    columns = Columns(cells, titles, list(cells))
    if draw.random() < 0.6:
        draw.shuffle(columns.order)
    left = [role for role in columns.order if role != "id"]
    names = {role: role if header else str(place) for place, role in enumerate(left)}
    meaning = {
        (node, f"{names[role]}={float(value)}") for role in left for node, value in zip(nodes, cells[role], strict=True)
    }
    if header and len(left) > 1 and draw.random() < 0.1:
        columns.order.remove("id")
        return columns.table(None, header, clear=False)
    return columns.table(meaning, header, clear=header and known and len(nodes) == len(ids))
