"""Files that are not what a stage needs, or that want to do harm: refused, with the command that helps."""

import hashlib
import io
import json
import pathlib
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from cgnn_cli.keys import canonical_json
from cgnn_cli.pipeline import COMMANDS, STAGES
from cgnn_cli.store import artifact as files
from cgnn_cli.store.artifact import Artifact, Header
from tests.faults.conftest import write_graph
from tests.faults.processes import artifacts_of
from tests.front_door import FrontDoor
from tests.store.samples import sample, write

ORDER = list(STAGES)


def crafted(source: Path, change: Callable[[h5py.File], object]) -> Path:
    """A copy of an artifact with a change that its author has covered with a fitting checksum of the file."""
    target = Path("crafted.h5")
    target.write_bytes(source.read_bytes()[: -files.TRAILER_LENGTH])
    with h5py.File(target, "r+") as file:
        change(file)
    content = target.read_bytes()
    target.write_bytes(content + files.TRAILER + hashlib.sha256(content).hexdigest().encode() + b"\n")
    return target


def element(file: h5py.File, name: str, item: h5py.Dataset | None = None) -> None:
    """Give a dataset the attributes of an honest element."""
    (item or file[name]).attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


# --- wrong type, wrong order, wrong graph ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ORDER)
@pytest.mark.parametrize("target", COMMANDS)
def test_case_22_every_ordered_pair_of_stage_and_input(target: str, given: str, full: Path, cgnn: FrontDoor) -> None:
    path, *_ = artifacts_of(full, given)  # of a graph without features one of the operators is its structural columns
    command = (target, "--input", path, "--store", full)
    if given not in ("operators", "fit") and ORDER.index(given) < ORDER.index(target):
        assert f"{target} " in cgnn.ok(*command, "--dry-run").out
        return
    before = artifacts_of(full)
    assert "`cgnn " in cgnn.fails(4, *command)
    assert artifacts_of(full) == before


def test_case_23_artifacts_of_two_graphs_are_not_mixed(full: Path, cgnn: FrontDoor) -> None:
    edges, labels = write_graph(Path(), seed=1)
    other = cgnn.ok("data", "import", "other", "--edges", edges, "--labels", labels, "--store", full, "--json").json
    (graph,), (commute,) = (
        [path for path in artifacts_of(full, stage) if path.stem != other["key"]] for stage in ("graph", "commute")
    )
    for inputs in ((commute, other["artifact"]), (other["artifact"], commute)):
        message = cgnn.fails(4, "train", "--input", inputs[0], "--input", inputs[1], "--store", full)
        assert "different graphs" in message and graph.stem[:12] in message and other["key"][:12] in message


def test_case_23_artifacts_of_two_chains_of_one_graph_are_not_mixed(full: Path, cgnn: FrontDoor) -> None:
    (commute,) = artifacts_of(full, "commute")
    tiny = ("--dataset", "tiny", "--store", full)
    for other in (
        Path(cgnn.ok("dilap", *tiny, "--form", "random-walk").path),
        Path(cgnn.ok("commute", *tiny, "--solver", "pi-only").path),
    ):
        message = cgnn.fails(4, "train", "--input", commute, "--input", other, "--store", full)
        assert commute.stem[:12] in message and other.stem[:12] in message


def test_the_files_of_one_chain_may_all_be_named(full: Path, cgnn: FrontDoor) -> None:
    chain = [artifacts_of(full, stage)[0] for stage in ("commute", "graph", "dilap", "rewire")]
    options = [part for path in chain for part in ("--input", path)]
    assert "train " in cgnn.ok("train", *options, "--store", "empty", "--dry-run").out


def test_an_artifact_without_its_graph_names_what_is_missing(full: Path, cgnn: FrontDoor) -> None:
    (commute,), (graph,) = artifacts_of(full, "commute"), artifacts_of(full, "graph")
    message = cgnn.fails(4, "train", "--input", commute, "--store", "empty")
    assert graph.stem[:12] in message and "--store" in message and "--input" in message


# --- versions and foreign files --------------------------------------------------------------------------------------


def test_case_19_a_newer_format_says_upgrade(full: Path, cgnn: FrontDoor) -> None:
    newer = crafted(artifacts_of(full, "dilap")[0], lambda file: file.attrs.modify("encoding-version", "3"))
    message = cgnn.fails(4, "commute", "--input", newer, "--store", full)
    assert "artifact format 3, this cgnn reads up to 2" in message and "upgrade" in message


def test_case_19_a_newer_npz_format_says_upgrade(full: Path, cgnn: FrontDoor) -> None:
    artifact = sample("dilap")
    text = {"type": "cgnn-dilap", "version": 3, "header": artifact.header.to_json(), "header-sha256": ""}
    np.savez("newer.npz", **{files.NPZ_HEADER: np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)})  # type: ignore[arg-type]
    assert "artifact format 3" in cgnn.fails(4, "commute", "--input", "newer.npz", "--store", full)


@pytest.mark.parametrize("version", ["0", "-1", "1.5", "²", ""])
def test_a_version_that_never_was_is_corrupt(version: str, full: Path, cgnn: FrontDoor) -> None:
    odd = crafted(artifacts_of(full, "dilap")[0], lambda file: file.attrs.modify("encoding-version", version))
    cgnn.fails(5, "commute", "--input", odd, "--store", full)


def test_another_programs_hdf5_file_is_not_an_artifact(cgnn: FrontDoor) -> None:
    with h5py.File("anndata.h5ad", "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        file["X"] = np.zeros(3)
    assert "anndata.h5ad is not a cgnn artifact" in cgnn.fails(4, "commute", "--input", "anndata.h5ad")
    with h5py.File("plain.h5", "w") as file:
        file["x"] = 1
    assert "plain.h5 is not a cgnn artifact" in cgnn.fails(4, "show", "plain.h5")


@pytest.mark.parametrize("content", [b"", b"source,target\n0,1\n", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\0" * 5000])
def test_other_files_are_not_artifacts(content: bytes, cgnn: FrontDoor) -> None:
    Path("file.h5").write_bytes(content)
    assert "file.h5 is" in cgnn.fails(5, "commute", "--input", "file.h5")
    assert Path("file.h5").read_bytes() == content


def test_missing_files_and_folders_are_upstream_errors(cgnn: FrontDoor) -> None:
    assert "gone.h5" in cgnn.fails(4, "commute", "--input", "gone.h5")
    assert "cannot read ." in cgnn.fails(4, "commute", "--input", ".")


# --- HDF5 that reaches out of its file, or claims too much -----------------------------------------------------------


def external_link(file: h5py.File) -> None:
    file["secret"] = h5py.ExternalLink("/etc/passwd", "/")


def soft_link(file: h5py.File) -> None:
    file["secret"] = h5py.SoftLink("/perron")


def soft_link_for_an_element(file: h5py.File) -> None:
    file.move("perron", "moved")
    file["perron"] = h5py.SoftLink("/moved")


def virtual_dataset(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "x", shape=(4,))
    file.create_virtual_dataset("secret", layout)
    element(file, "secret")


def external_storage(file: h5py.File) -> None:
    file.create_dataset("secret", shape=(64,), dtype="u1", external=[("/etc/passwd", 0, 64)])
    element(file, "secret")


def terabyte(file: h5py.File) -> None:
    del file["perron"]
    file.create_dataset("perron", shape=(1 << 37,), dtype="f8", chunks=(1 << 17,), compression="gzip")
    element(file, "perron")


def terabyte_contiguous(file: h5py.File) -> None:
    del file["perron"]
    space = h5py.h5s.create_simple((1 << 37,))
    h5py.h5d.create(file.id, b"perron", h5py.h5t.NATIVE_DOUBLE, space)
    element(file, "perron")


def variable_length(file: h5py.File) -> None:
    file.create_dataset("secret", data=["text"], dtype=h5py.string_dtype())
    element(file, "secret")


def references(file: h5py.File) -> None:
    file.create_dataset("secret", data=np.array([file["perron"].ref], dtype=h5py.ref_dtype))
    element(file, "secret")


def compound(file: h5py.File) -> None:
    file.create_dataset("secret", data=np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]))
    element(file, "secret")


def cycle_of_groups(file: h5py.File) -> None:
    group = file.create_group("loop")
    group.attrs.update({"encoding-type": "dict", "encoding-version": "0.1.0"})
    group["again"] = group


def unknown_encoding(file: h5py.File) -> None:
    file["perron"].attrs["encoding-type"] = "categorical"


def no_encoding(file: h5py.File) -> None:
    del file["perron"].attrs["encoding-version"]


def encoding_that_is_an_array(file: h5py.File) -> None:
    file["perron"].attrs["encoding-type"] = np.array(["array", "array"], dtype="S5")


def one_more_element(file: h5py.File) -> None:
    file["more"] = np.zeros(3)
    element(file, "more")


def one_element_less(file: h5py.File) -> None:
    del file["perron"]


def wild_matrix(file: h5py.File) -> None:
    file["transition/indptr"][-1] = 1 << 30


def shape_of_another_matrix(file: h5py.File) -> None:
    file["transition"].attrs["shape"] = np.array([-1, 1 << 60])


REFUSALS: dict[Callable[[h5py.File], object], str] = {
    external_link: "secret is a link",
    soft_link: "secret is a link",
    soft_link_for_an_element: "perron is a link",
    virtual_dataset: "secret is stored in a way",
    external_storage: "secret is stored in a way",
    terabyte: "perron declares 1099511627776 bytes but stores 0",
    terabyte_contiguous: "perron declares 1099511627776 bytes but stores 0",
    variable_length: "secret is stored in a way",
    references: "secret is stored in a way",
    compound: "secret is stored in a way",
    cycle_of_groups: "cannot read it",
    unknown_encoding: "perron has the unknown encoding",
    no_encoding: "perron has the unknown encoding",
    encoding_that_is_an_array: "cannot read it",
    one_more_element: "does not match its checksum",
    one_element_less: "does not match its checksum",
    wild_matrix: "",
    shape_of_another_matrix: "",
}


@pytest.mark.parametrize(("change", "reason"), REFUSALS.items(), ids=[change.__name__ for change in REFUSALS])
def test_case_28_crafted_hdf5_is_refused(
    change: Callable[[h5py.File], object], reason: str, full: Path, cgnn: FrontDoor
) -> None:
    path = crafted(artifacts_of(full, "dilap")[0], change)
    message = cgnn.fails(5, "commute", "--input", path, "--store", full)
    assert "crafted.h5 is damaged: " in message and reason in message


def test_crafting_changes_nothing_by_itself(full: Path, cgnn: FrontDoor) -> None:
    """The control of the tests above: without a change the crafted file is accepted."""
    path = crafted(artifacts_of(full, "dilap")[0], lambda file: None)
    cgnn.ok("commute", "--input", path, "--store", full)


def test_case_29_a_header_cannot_name_files_outside_of_the_store(full: Path, cgnn: FrontDoor) -> None:
    victim = Path("victim.h5")
    victim.write_bytes(b"precious")
    artifact = sample("rewire", inputs={"graph": "../../victim"})
    path = write(Path("traversal.h5"), artifact)
    cgnn.fails(5, "dilap", "--input", path, "--store", full)
    assert victim.read_bytes() == b"precious"


# --- NPZ -------------------------------------------------------------------------------------------------------------


class Payload:
    """Unpickling it makes the file `executed`."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return pathlib.Path.touch, (Path("executed").absolute(),)


def npz_with(extra: dict[str, np.ndarray], stage: str = "dilap") -> Path:
    """An artifact with a fitting header and one more array."""
    header: Header = sample(stage).header
    text = canonical_json(
        {
            "type": f"cgnn-{stage}",
            "version": 1,
            "header": header.to_json(),
            "header-sha256": files.header_sha256(header),
        }
    )
    arrays = {files.NPZ_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **extra}
    np.savez("evil.npz", **arrays)  # type: ignore[arg-type]
    return Path("evil.npz")


def test_case_27_object_arrays_are_never_unpickled(cgnn: FrontDoor) -> None:
    path = npz_with({"perron": np.array([Payload()], dtype=object)})
    for command in (("commute", "--input", path), ("show", path), ("export", path, "--to", "npz", "--output", "o.npz")):
        assert "evil.npz" in cgnn.fails(5, *command)
    assert not Path("executed").exists()


def test_case_27_object_arrays_for_the_header_are_never_unpickled(cgnn: FrontDoor) -> None:
    np.savez("evil.npz", **{files.NPZ_HEADER: np.array([Payload()], dtype=object)})  # type: ignore[arg-type]
    cgnn.fails(5, "show", "evil.npz")
    assert not Path("executed").exists()


def test_case_27_imported_object_arrays_are_never_unpickled(cgnn: FrontDoor) -> None:
    np.save("evil.npy", np.array([Payload(), Payload()], dtype=object), allow_pickle=True)
    np.savez("evil.npz", edges=np.array([Payload()], dtype=object))
    for name in ("evil.npy", "evil.npz"):
        cgnn.fails(3, "data", "import", "mine", "--edges", name)
    assert not Path("executed").exists()


@pytest.mark.parametrize("role", ["edges", "features", "labels", "splits"])
@pytest.mark.parametrize("name", ["evil.pt", "evil.pkl"])
def test_case_27_files_of_torch_and_pickle_are_refused(name: str, role: str, cgnn: FrontDoor) -> None:
    torch.save(Payload(), "evil.pt")
    Path("evil.pkl").write_bytes(pickle.dumps(Payload()))
    Path("edges.csv").write_text("0,1\n1,2\n2,0\n")
    Path("labels.csv").write_text("0,a\n1,b\n2,a\n")
    named = {"edges": "edges.csv", "labels": "labels.csv", role: name}
    given = [word for each, file in named.items() for word in (f"--{each}", file)]
    assert name in cgnn.fails(3, "data", "import", "mine", *given)
    assert name in cgnn.fails(5, "show", name)
    assert not Path("executed").exists()


def test_the_payload_is_a_real_one() -> None:
    """The control of the tests above: numpy would run it if it were asked to."""
    path = npz_with({"x": np.array([Payload()], dtype=object)})
    with np.load(path, allow_pickle=True) as archive:
        assert archive["x"].shape == (1,)
    assert Path("executed").exists()


def test_an_array_that_claims_a_terabyte_is_refused(cgnn: FrontDoor) -> None:
    path = npz_with({})
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(claim, {"descr": "<f8", "fortran_order": False, "shape": (1 << 37,)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("perron.npy", claim.getvalue() + bytes(1000))
    cgnn.fails(5, "show", path)


def test_names_that_contradict_each_other_are_refused(cgnn: FrontDoor) -> None:
    assert "evil.npz" in cgnn.fails(5, "show", npz_with({"a": np.zeros(1), "a/b": np.zeros(1)}))


def test_an_honest_npz_without_its_header_is_refused(cgnn: FrontDoor) -> None:
    np.savez("plain.npz", x=np.zeros(3))
    cgnn.fails(5, "show", "plain.npz")


def test_npz_is_taken_like_hdf5(full: Path, cgnn: FrontDoor) -> None:
    """The control of the tests above: an honest npz file gives the same commute artifact."""
    written = cgnn.ok("dilap", "--dataset", "tiny", "--store", full, "--format", "npz").path
    shutil.copy(written, "honest.npz")
    values = cgnn.ok("commute", "--input", "honest.npz", "--store", full, "--solver", "exact", "--json").json
    assert (values["cache"], values["key"]) == ("hit", artifacts_of(full, "commute")[0].stem)
    assert isinstance(files.read(Path("honest.npz")), Artifact)
