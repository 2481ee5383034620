"""A folder of files is one table: the graph is, to the bit, that of one file with all rows; or it is refused."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cgnn_cli import mapped
from cgnn_cli.datasets import adjacency
from cgnn_cli.datasets.files import ids, text_files
from cgnn_cli.datasets.files.import_options import ImportOptions
from cgnn_cli.datasets.files.importing import import_graph
from cgnn_cli.datasets.registry import graph_step
from cgnn_cli.errors import DataError
from cgnn_cli.graph import Graph

Rows = dict[str, list[Any]]
TITLES = ("source", "target", "weight", "when")
WEIGHTED: dict[str, Any] = {"weight_column": "weight", "drop_invalid": True}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is done in several blocks, and lies in files."""
    monkeypatch.setattr(mapped, "MAPPED_FROM", 64)
    monkeypatch.setattr(mapped, "BATCH_BYTES", 256)
    monkeypatch.setattr(ids, "BATCH_ROWS", 7)
    monkeypatch.setattr(adjacency, "BLOCK_EDGES", 11)
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 100)


def random_rows(seed: int, ids_of: str, count: int = 120) -> Rows:
    """Edges that repeat, some with a weight or a time that cannot be used."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 9, (2, count))
    names = {
        "dense": numbers,
        "sparse": numbers * 10**12 + 5,
        "text": np.array([f"n{number}" for number in range(9)])[numbers],
        "mixed": np.array(["7", "07", "a", "ä", "10", "2", "b", "c" * 40, "99999999999999999999"])[numbers],
    }[ids_of]
    weights = np.where(rng.random(count) < 0.1, 0.0, np.round(rng.random(count) + 0.01, 3))
    return {
        "source": names[0].tolist(),
        "target": names[1].tolist(),
        "weight": weights.tolist(),
        "when": [f"2024-01-{day:02d}" for day in rng.integers(1, 9, count)],
    }


def part(rows: Rows, start: int, stop: int) -> Rows:
    return {name: values[start:stop] for name, values in rows.items()}


def as_csv(rows: Rows, *, header: bool = True, mark: str = ",") -> bytes:
    lines = [mark.join(map(str, fields)) for fields in zip(*rows.values(), strict=True)]
    return "".join(f"{line}\n" for line in [mark.join(rows)] * header + lines).encode()


def write(path: Path, rows: Rows, *, header: bool = True) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(rows), path)
        return
    content = as_csv(rows, header=header)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def both(tmp_path: Path, rows: Rows, suffix: str = ".csv", *, header: bool = True) -> tuple[Path, Path]:
    """A file with all rows, and a folder with some of them in each of its files."""
    whole, folder = tmp_path / f"whole{suffix}", tmp_path / "parts"
    write(whole, rows, header=header)
    folder.mkdir()
    count = len(rows["source"])
    for number, start in enumerate(range(0, count, 50)):
        write(folder / f"part-{number}{suffix}", part(rows, start, start + 50), header=header)
    return whole, folder


def same(one: Graph, other: Graph) -> None:
    assert graph_step(one).key == graph_step(other).key
    for name, element in one.to_elements().items():
        pair = [(element, other.to_elements()[name])]
        if name == "adjacency":
            pair = [(getattr(element, each), getattr(pair[0][1], each)) for each in ("data", "indices", "indptr")]
        for array, beside in pair:
            assert array.dtype == beside.dtype and array.tobytes() == beside.tobytes()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("ids_of", ["dense", "sparse", "text", "mixed"])
def test_a_folder_is_the_file_of_all_its_rows(tmp_path: Path, suffix: str, ids_of: str) -> None:
    whole, folder = both(tmp_path, random_rows(1, ids_of), suffix)
    cases: list[dict[str, Any]] = [{}, {"combine": "count"}]
    cases += [{**WEIGHTED, "combine": combine} for combine in (None, "sum", "max", "last")]
    cases += [{**WEIGHTED, "combine": "last", "time_column": "when"}]
    for options in cases:
        one, other = (import_graph(ImportOptions(path, **options)) for path in (whole, folder))
        same(one, other)
        figures = ("edge_lines", "repeats", "self_loops", "dropped", "weighted")
        assert [one.summary.get(name) for name in figures] == [other.summary.get(name) for name in figures]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_blocks_change_nothing(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, folder = both(tmp_path, random_rows(2, "mixed"), suffix)
    graphs = [import_graph(ImportOptions(path, **WEIGHTED)) for path in (whole, folder)]
    monkeypatch.undo()
    for graph in graphs:
        same(import_graph(ImportOptions(whole, **WEIGHTED)), graph)


def test_files_without_a_header(tmp_path: Path) -> None:
    """A first row that all files share is data where there is no header."""
    rows = random_rows(3, "text")
    rows["source"][::50] = rows["source"][:1] * 3
    rows["target"][::50] = rows["target"][:1] * 3
    plain = {name: rows[name] for name in ("source", "target")}
    whole, folder = both(tmp_path, plain, header=False)
    one, other = (import_graph(ImportOptions(path, combine="count")) for path in (whole, folder))
    same(one, other)
    assert one.adjacency.sum() == 120
    note = next(note for note in other.summary["notes"] if "no header" in note)
    assert note.endswith("no header; line 1 of part-0.csv is data")


def test_labels_features_and_splits_in_folders(tmp_path: Path) -> None:
    whole, folder = both(tmp_path, random_rows(4, "text"))
    given = {
        "labels": "".join(f"n{number},{'ab'[number % 2]}\n" for number in range(9)),
        "features": "".join(f"n{number},{number * 0.1},{number}\n" for number in (3, 1, 0, 2, 4, 8, 7, 6, 5)),
        "splits": "".join(f"n{number},{('train', 'val', 'test')[number % 3]}\n" for number in range(9)),
    }
    titles = {"labels": "id,label\n", "features": "id,x,z\n", "splits": "id,split\n"}
    files: dict[str, Any] = {}
    folders: dict[str, Any] = {}
    for name, content in given.items():
        files[name], folders[name] = tmp_path / f"{name}.csv", tmp_path / name
        files[name].write_text(titles[name] + content)
        folders[name].mkdir()
        place = content.index("\n", len(content) // 2) + 1
        for number, lines in enumerate((content[:place], content[place:])):
            (folders[name] / f"{number}.csv").write_text(titles[name] + lines)
    one, other = import_graph(ImportOptions(whole, **files)), import_graph(ImportOptions(folder, **folders))
    same(one, other)
    assert one.features is not None and one.features.dtype == np.float64


def test_an_update_from_a_folder(tmp_path: Path) -> None:
    rows = random_rows(5, "text")
    whole, folder = both(tmp_path, rows)
    before = import_graph(ImportOptions(whole, **WEIGHTED))
    one, other = (import_graph(ImportOptions(path, **WEIGHTED), before) for path in (whole, folder))
    same(one, other)
    assert one.adjacency.sum() == pytest.approx(2 * before.adjacency.sum())


def test_what_is_no_data_is_ignored_and_counted(tmp_path: Path) -> None:
    whole, folder = both(tmp_path, random_rows(6, "text"))
    (folder / "_SUCCESS").write_bytes(b"")
    (folder / ".part-0.csv.crc").write_bytes(b"crc\0")
    (folder / "part-9.csv").write_bytes(b"")
    graph = import_graph(ImportOptions(folder))
    same(import_graph(ImportOptions(whole)), graph)
    notes = "\n".join(graph.summary["notes"])
    assert "2 name(s) that begin with a dot or an underscore are ignored" in notes
    assert "1 empty file(s) are ignored" in notes and "3 text file(s), from part-0.csv to part-2.csv" in notes


def test_numbers_of_several_types_in_parquet(tmp_path: Path) -> None:
    rows = random_rows(7, "dense")
    whole, folder = both(tmp_path, rows, ".parquet")
    first = pq.read_table(folder / "part-0.parquet")
    first = first.set_column(0, "source", first["source"].cast(pa.int16()))
    first = first.set_column(2, "weight", pa.array([1] * 50))
    pq.write_table(first.select([3, 2, 1, 0]), folder / "part-0.parquet")
    rows["weight"][:50] = [1] * 50
    write(whole, rows)
    same(*(import_graph(ImportOptions(path, **WEIGHTED)) for path in (whole, folder)))


def refused(folder: Path, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        import_graph(ImportOptions(folder, **options))
    assert "\n" not in caught.value.message
    return caught.value


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    rows = random_rows(8, "text")
    rows["weight"] = [1.0] * 120
    rows["weight"][60], rows["weight"][110] = -1.0, 0.0
    _, folder = both(tmp_path, rows)
    message = refused(folder, weight_column="weight").message
    assert "parts, line 12 of part-1.csv: the weight '-1.0'" in message and "line 12 of part-2.csv" in message
    (folder / "part-1.csv").write_bytes(b"source,target\na,b\n")
    message = refused(folder).message
    assert f"{folder}/part-1.csv has 2 column(s)" in message and f"{folder}/part-0.csv has 4" in message
    (folder / "part-1.csv").write_bytes(b"source,target,weight,when\na,b,1,2\na,b,1\n")
    assert "part-1.csv, line 3: 3 field(s)" in refused(folder).message
    (folder / "part-1.csv").write_bytes(b"source,target,weight,when\na,b\xff,1,2\n")
    assert "part-1.csv, line 2: the file is not UTF-8" in refused(folder).message
    (folder / "part-1.csv").write_bytes(b"payer,payee,weight,when\na,b,1,2\n")
    message = refused(folder).message
    assert "part-1.csv begins with the row 'payer'" in message and "part-0.csv with the header 'source'" in message


def test_folders_that_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    assert "holds no files with rows" in refused(folder).message
    write(folder / "a.csv", random_rows(9, "text", 3))
    write(folder / "b.parquet", random_rows(9, "text", 3))
    message = refused(folder).message
    assert "files of two kinds: a.csv is text, and b.parquet is Parquet" in message
    (folder / "a.csv").unlink()
    (folder / "c.parquet").write_bytes(b"PAR1\0\0")
    assert "c.parquet cannot be read as a Parquet file" in refused(folder).message
    write(folder / "c.parquet", {"source": ["a"], "target": ["b"]})
    message = refused(folder).message
    assert "c.parquet has no column 'weight'" in message and f"unlike {folder}/b.parquet" in message
    write(folder / "c.parquet", {**random_rows(9, "dense", 3)})
    message = refused(folder).message
    assert "'source' has the type string" in message and "b.parquet" in message and "c.parquet" in message
    (folder / "c.parquet").unlink()
    np.save(folder / "d.npy", np.zeros((2, 2)))
    assert "d.npy is a numpy file" in refused(folder).message
    (folder / "d.npy").unlink()
    (folder / "deeper").mkdir()
    assert "deeper, which is a folder" in refused(folder).message


def test_a_damaged_gzip_file_and_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    whole = gzip.compress(as_csv(random_rows(10, "text")))
    (folder / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "a.csv.gz is a damaged gzip file" in refused(folder).message
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1000)
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"c" * 5000))
    assert "a.csv.gz, line 2: the line has more than" in refused(folder).message
