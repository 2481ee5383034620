"""What all models share: dropout, jumping knowledge, normalisation."""

import pytest
import torch

from cgnn_cli.models.parts.classifier import dropout, hide_entries


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


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_hidden_entries_are_the_share_and_keep_the_mean(share: float) -> None:
    torch.manual_seed(0)
    x = torch.rand(401, 501) + 1
    result = hide_entries(x, share)
    kept = result != 0
    assert kept.double().mean().item() == pytest.approx(1 - share, abs=0.003)
    assert torch.allclose(result[kept] * (1 - share), x[kept], rtol=1e-3)
    halves = kept.double().view(-1)
    assert torch.corrcoef(torch.stack([halves[:-1], halves[1:]]))[0, 1].abs() < 0.01  # neighbours are independent


def test_hidden_entries_are_seeded() -> None:
    x = torch.ones(7, 3)
    torch.manual_seed(3)
    first = hide_entries(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(first, hide_entries(x, 0.5))
    assert not torch.equal(first, hide_entries(x, 0.5))
