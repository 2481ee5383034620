"""Small graphs in the layouts of upstream's files, which a test can change before they are written."""

import gzip
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array

from cgnn_cli.datasets.upstream.readers import csr_npz, geom_gcn, heterophilous, linkx_mat, ogb
from cgnn_cli.graph import Graph

Parts = dict[str, Any]
NODES = 6
EDGES = np.array([[0, 1], [1, 2], [2, 0], [0, 1], [3, 3], [4, 5]])
LABELS = np.array([0, 1, 0, 1, 2, 2])
YEARS = np.array([2000, 2001, 2002, 2003, 2004, 2005])
BITS = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
LISTS = ["3,0", "1", "1,2,1", "0", "2", "3"]
LISTED = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
ADJACENCY = [[0, 1], [1, 2], [2, 0], [3, 3], [4, 5]]
MASKS = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]], dtype=bool)
WIDE = np.round(np.linspace(-2, 2, NODES * ogb.WIDTH).reshape(NODES, -1), 3)
INDEX_SPLITS: list[dict[str, Any]] = [
    {"train": [0, 1], "valid": [2, 3], "test": [4, 5]},
    {"train": np.array([5, 4]), "valid": np.array([3]), "test": np.array([0])},
]


def save_splits(path: Path, splits: Any) -> None:
    if isinstance(splits, bytes):
        path.write_bytes(splits)
        return
    array = np.empty(len(splits), dtype=object)
    array[:] = splits
    np.save(path, array, allow_pickle=True)


def csv(array: Any, form: str = "%d") -> bytes:
    return "".join(",".join(form % value for value in np.atleast_1d(row)) + "\n" for row in array).encode()


def geom_gcn_parts() -> Parts:
    nodes = [f"{node}\t{','.join(map(str, BITS[node]))}\t{LABELS[node]}" for node in range(NODES)]
    masks = {f"{part}_mask": mask.astype(np.uint8) for part, mask in zip(("train", "val", "test"), MASKS, strict=True)}
    other = {"train_mask": MASKS[1], "val_mask": MASKS[0], "test_mask": MASKS[2]}
    return {
        "edges": b"node_id\tnode_id\n" + b"".join(b"%d\t%d\n" % tuple(edge) for edge in EDGES),
        "nodes": "\n".join(["node_id\tfeature\tlabel", *nodes, ""]).encode(),
        "splits": [masks, other],
    }


def geom_gcn_lists_parts() -> Parts:
    nodes = [f"{node}\t{LISTS[node]}\t{LABELS[node]}" for node in range(NODES)]
    return geom_gcn_parts() | {"nodes": "\n".join(["node_id\tfeature(feature_amount:3)\tlabel", *nodes, ""]).encode()}


def geom_gcn_masks_parts() -> Parts:
    masks = {
        f"{part}_masks": np.stack([mask, mask]) for part, mask in zip(("train", "val", "test"), MASKS, strict=True)
    }
    return geom_gcn_parts() | {"splits": masks | {"node_labels": LABELS, "edges": "never read"}}


def write_geom_gcn(folder: Path, parts: Parts) -> dict[str, Path]:
    files = {geom_gcn.EDGES: folder / geom_gcn.EDGES, geom_gcn.NODES: folder / geom_gcn.NODES}
    files[geom_gcn.EDGES].write_bytes(parts["edges"])
    files[geom_gcn.NODES].write_bytes(parts["nodes"])
    stored = parts["splits"]
    if isinstance(stored, list):
        named = {f"toy_split_0.6_0.2_{number}.npz": masks for number, masks in enumerate(stored, start=9)}
    else:
        named = {"toy.npz": {name: array for name, array in stored.items() if array is not None}}
    for name, masks in reversed(named.items()):
        files[name] = folder / name
        np.savez(files[name], **masks)
    return files


def csr_npz_parts() -> Parts:
    return {
        "adj_data": np.array([1.0, 3.0, 1.0, 1.0, 1.0, 0.0], dtype=np.float32),
        "adj_indices": np.array([1, 2, 0, 3, 5, 4], dtype=np.int32),
        "adj_indptr": np.array([0, 1, 2, 3, 4, 5, 6], dtype=np.int32),
        "adj_shape": np.array([6, 6]),
        "attr_data": np.array([0.5, 2.0], dtype=np.float32),
        "attr_indices": np.array([3, 0], dtype=np.int32),
        "attr_indptr": np.array([0, 1, 1, 1, 1, 1, 2], dtype=np.int32),
        "attr_shape": np.array([6, 4]),
        "labels": LABELS,
        "node_names": np.array(["never", {"loaded": 1}], dtype=object),
    }


def write_npz(folder: Path, parts: Parts) -> dict[str, Path]:
    path = folder / "toy.npz"
    np.savez(path, **parts)
    return {path.name: path}


def heterophilous_parts() -> Parts:
    masks = {f"{part}_masks": np.stack([mask] * 3) for part, mask in zip(("train", "val", "test"), MASKS, strict=True)}
    return {"node_features": BITS + 0.5, "node_labels": LABELS, "edges": EDGES, **masks}


def ogb_parts() -> Parts:
    return {
        "edge": csv(EDGES),
        "node-feat": csv(WIDE, "%.3f"),
        "node_year": csv(YEARS),
        "num-node-list": b"6\n",
        "splits": INDEX_SPLITS,
    }


def write_ogb(folder: Path, parts: Parts) -> dict[str, Path]:
    files = {ogb.ARCHIVE: folder / ogb.ARCHIVE, ogb.SPLITS: folder / ogb.SPLITS}
    with zipfile.ZipFile(files[ogb.ARCHIVE], "w") as archive:
        for name, text in parts.items():
            if name != "splits":
                packed = text.removeprefix(b"RAW") if text.startswith(b"RAW") else gzip.compress(text)
                archive.writestr(f"arxiv/raw/{name}.csv.gz", packed)
    save_splits(files[ogb.SPLITS], parts["splits"])
    return files


def linkx_parts() -> Parts:
    return {
        "edge_index": EDGES.T,
        "node_feat": csc_array(BITS.astype(float)),
        "years": YEARS[np.newaxis].astype(float),
        "num_nodes": NODES,
        "other": "never read",
        "splits": INDEX_SPLITS,
    }


def write_linkx(folder: Path, parts: Parts) -> dict[str, Path]:
    files = {linkx_mat.MATRICES: folder / linkx_mat.MATRICES, linkx_mat.SPLITS: folder / linkx_mat.SPLITS}
    savemat(files[linkx_mat.MATRICES], {name: value for name, value in parts.items() if name != "splits"})
    save_splits(files[linkx_mat.SPLITS], parts["splits"])
    return files


@dataclass(frozen=True)
class Layout:
    """A format: the parts of a good graph in it, how they are written, and the reader."""

    parts: Callable[[], Parts]
    write: Callable[[Path, Parts], dict[str, Path]]
    read: Callable[[dict[str, Path]], Graph]

    def load(self, folder: Path, **changes: Any) -> Graph:
        """Write the graph with some parts changed, and read it; a part that is None is left out."""
        parts = {name: part for name, part in {**self.parts(), **changes}.items() if part is not None}
        return self.read(self.write(folder, parts))


LAYOUTS = {
    "geom_gcn": Layout(geom_gcn_parts, write_geom_gcn, geom_gcn.read),
    "geom_gcn_lists": Layout(geom_gcn_lists_parts, write_geom_gcn, geom_gcn.read),
    "geom_gcn_masks": Layout(geom_gcn_masks_parts, write_geom_gcn, geom_gcn.read),
    "csr_npz": Layout(csr_npz_parts, write_npz, csr_npz.read),
    "heterophilous": Layout(heterophilous_parts, write_npz, heterophilous.read),
    "ogb": Layout(ogb_parts, write_ogb, ogb.read),
    "linkx_mat": Layout(linkx_parts, write_linkx, linkx_mat.read),
}


def arcs(graph: Graph) -> list[list[int]]:
    assert graph.adjacency.data.tolist() == [1.0] * graph.adjacency.nnz
    return np.argwhere(graph.adjacency.toarray()).tolist()


def sparse(graph: Graph) -> np.ndarray:
    """The features of a graph, which are sparse."""
    assert isinstance(graph.features, csr_array)
    assert graph.features.has_canonical_format
    assert (graph.features.indices.dtype, graph.features.indptr.dtype) == (np.int32, np.int32)
    return graph.features.toarray()
