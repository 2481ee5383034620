"""The table of benchmark graphs."""

from cgnn_cli.datasets.catalogue import BENCHMARKS
from cgnn_cli.paper.experiment_table import ALL, EXPERIMENTS


def test_the_catalogue_is_complete() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.files, name
        for file in benchmark.files:
            assert bool(file.address.startswith("https://")) != bool(file.drive), file
            assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
        assert benchmark.protocols[0] in ("published", "per-class") and benchmark.citation and benchmark.licence


def test_the_paper_s_graphs_are_told_from_the_others() -> None:
    """Only these have the paper's figures and settings; but for `where`, experiments take no others unasked."""
    own = {name for name, benchmark in BENCHMARKS.items() if benchmark.in_paper}
    assert own == set(ALL) == {name for name, benchmark in BENCHMARKS.items() if benchmark.settings}
    assert {"film", "texas", "wisconsin", "cornell", "cora"} <= BENCHMARKS.keys() - own
    others = {name for name, experiment in EXPERIMENTS.items() if not set(experiment.datasets) <= own}
    assert others == {"where"}, "which is about every graph there is"
