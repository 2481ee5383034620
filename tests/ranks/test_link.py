"""Which processes are ranks, and of how many."""

from cgnn_cli.ranks import leading
from cgnn_cli.ranks.link import place
from tests.ranked import variables


def test_only_torchrun_makes_ranks() -> None:
    assert place({}) == (0, 1)
    assert place(variables(1, 29500)) == (1, 2)
    for name in ("RANK", "TORCHELASTIC_RUN_ID"):
        assert place({key: value for key, value in variables(1, 29500).items() if key != name}) == (0, 1)
    assert place({**variables(1, 29500), "WORLD_SIZE": "many"}) == (0, 1)
    assert leading.GROUP is None and leading.size() == 1
