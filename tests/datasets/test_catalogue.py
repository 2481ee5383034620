"""The table of benchmark graphs."""

from cgnn_cli.datasets.catalogue import BENCHMARKS


def test_the_catalogue_is_complete() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.files, name
        for file in benchmark.files:
            assert bool(file.address.startswith("https://")) != bool(file.drive), file
            assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
        assert benchmark.protocols[0] in ("published", "per-class") and benchmark.citation and benchmark.licence
