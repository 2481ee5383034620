"""What all models share: dropout, jumping knowledge, normalisation."""

import pytest
import torch

from cgnn_cli.models.network import dropout


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_dropout_zeroes_the_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(400, 50, requires_grad=True)
    result = dropout(x, share, training=True)
    kept = result != 0
    assert kept.double().mean().item() == pytest.approx(1 - share, abs=0.01)
    assert torch.allclose(result[kept], torch.tensor(1 / (1 - share)))
    result.sum().backward()
    assert x.grad is not None and torch.equal(x.grad != 0, kept)


def test_dropout_is_seeded() -> None:
    x = torch.ones(30, 4)
    torch.manual_seed(3)
    first = dropout(x, 0.5, training=True)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(x, 0.5, training=True))
    assert not torch.equal(first, dropout(x, 0.5, training=True))
