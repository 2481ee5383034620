"""Headers and columns of made tables: what is read is what they mean, or they are refused."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cgnn_cli.datasets.files.ends import guess_ends
from cgnn_cli.datasets.files.headers import has_header
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.files.tables import Reading, parse_table
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph
from tests.datasets.files.made_tables import Made, make_edges, make_features, make_ids, make_labels

TABLES = 250  # of each kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Source,Target\na,b", True),
        ("node_id\tnode_id\n1\t2", True),
        ("paper id,Citing-Paper\n1,2", True),
        ("foo,bar\n1,2\n3,4", True),
        ("foo,bar\n1,2\nx,4", None),
        ("node1,node2\nnode2,node3", None),
        ("alice,bob\nbob,carol", False),
        ("1,2\n3,4", False),
        ("foo,1\n2,3", False),
        ("a,b", False),
        ("source,target", True),
        ("source,target\nsource,x\nx,target", True),
        ("user,page\nuser,item\nitem,page", None),
        ("debitor,kreditor\nann,bob\nbob,cat", None),
        ("debitor,kreditor\nA1,A2\nA2,A3\nA3,A1", True),
        ("C17,C21\nC3,C4\nC4,C3", False),
        ("a,b\nc,d", False),
        ("ann,ann\nbob,cat", False),
        ("ann,bob,EUR\ncat,dan,EUR", False),
        ("ann,bob,when\ncat,dan,2024-01-01", True),
        ("ann,bob,unknown\ncat,dan,5\nbob,cat,7", False),
        ("0,1\nann,bob", None),
    ],
)
def test_header_of_edges(text: str, expected: bool | None) -> None:
    table = parse_table(text.encode(), Path("t.csv"), Reading())
    if expected is None:
        with pytest.raises(
            DataError, match=r"t\.csv, line 1: it may be a header or data; with a header the first"
        ) as e:
            has_header(table, *guess_ends(table, None, None))
        assert "--header or --no-header" in e.value.hint
    else:
        assert has_header(table, *guess_ends(table, None, None)) is expected


def meaning_of(graph: Graph, kind: str) -> set[tuple[str, str]]:
    ids = graph.ids().tolist()
    if kind == "edges":
        return {(ids[one], ids[other]) for one, other in zip(*graph.adjacency.nonzero(), strict=True)}
    if kind == "features":
        assert graph.features is not None
        titles = graph.summary.get("feature_names", [str(place) for place in range(graph.features.shape[1])])
        rows = zip(ids, np.asarray(graph.features, dtype=np.float64).round(6).tolist(), strict=True)
        return {(node, f"{title}={value}") for node, row in rows for title, value in zip(titles, row, strict=True)}
    assert graph.labels is not None
    names = graph.class_labels()
    return {(ids[node], names[code]) for node, code in enumerate(graph.labels.tolist()) if code >= 0}


MAKERS = {"edges": make_edges, "labels": make_labels, "features": make_features}


@pytest.mark.parametrize("kind", MAKERS)
def test_made_tables_are_read_right_or_refused(tmp_path: Path, kind: str) -> None:
    tally: Counter[str] = Counter()
    for seed in range(TABLES):
        draw = random.Random(seed)
        ids = make_ids(draw)
        made: Made = MAKERS[kind](draw, ids)
        file = made.write(tmp_path / f"{kind}.csv", draw)
        plain = tmp_path / "plain.csv"
        plain.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in pairwise(ids)))
        given: dict[str, Any] = {"edges": plain, kind: file}
        files = ImportOptions(**given)
        refusal, found = None, None
        try:
            found = meaning_of(import_graph(files), kind)
        except DataError as error:
            refusal = error
        if refusal is None:
            assert found == made.meaning, (seed, made)
        else:
            assert not made.clear and refusal.hint and "\n" not in refusal.message, (seed, made, refusal)
        if refusal is None and kind == "edges" and "amount" in (made.titles or []):
            amounts = sum(float(dict(zip(made.titles or [], row, strict=True))["amount"]) for row in made.rows)
            weighed = import_graph(ImportOptions(file, weight_column="amount"))
            assert float(weighed.adjacency.data.sum()) == pytest.approx(amounts)
            assert meaning_of(weighed, kind) == made.meaning
        tally["right" if refusal is None else "refused"] += 1
    assert tally["right"] >= 0.6 * TABLES and tally["refused"] >= 0.05 * TABLES, tally
