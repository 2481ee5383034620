"""The contrastive loss and its gradient, in any chunks, against the formula and autograd on whole matrices."""

import math

import pytest
import torch
from torch import Tensor

from cgnn_cli.models.digcl.contrast import contrastive_loss


def views(count: int = 9, width: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.randn(count, width, generator=generator, dtype=torch.float64) for _ in range(2))
    return first.requires_grad_(), second.requires_grad_()


def by_loops(first: Tensor, second: Tensor, temperature: float) -> float:
    """The formula, a node at a time."""

    def similarity(x: Tensor, y: Tensor) -> float:
        return float(torch.dot(x, y) / (x.norm() * y.norm())) / temperature

    total = 0.0
    for one, other in ((first, second), (second, first)):
        for i in range(len(one)):
            positive = math.exp(similarity(one[i], other[i]))
            negatives = sum(math.exp(similarity(one[i], one[j])) for j in range(len(one)) if j != i)
            total -= math.log(positive / (positive + negatives))
    return total / (2 * len(first))


def whole(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """The same with whole matrices, for autograd."""
    total = first.new_zeros(())
    for one, other in ((first, second), (second, first)):
        within = torch.cosine_similarity(one[:, None], one[None, :], dim=2) / temperature
        positive = torch.cosine_similarity(one, other, dim=1) / temperature
        negatives = within.exp() * (1 - torch.eye(len(one), dtype=one.dtype))
        total = total - torch.log(positive.exp() / (positive.exp() + negatives.sum(dim=1))).mean() / 2
    return total


@pytest.mark.parametrize("temperature", [0.1, 0.4, 2.0])
@pytest.mark.parametrize("chunk_entries", [1, 27, 40, 10**6])
def test_chunks_give_the_full_loss_and_gradient(temperature: float, chunk_entries: int) -> None:
    first, second = views()
    loss = contrastive_loss(first, second, temperature, chunk_entries)
    assert loss.item() == pytest.approx(by_loops(first.detach(), second.detach(), temperature), rel=1e-9)
    ours = torch.autograd.grad(3 * loss, (first, second))
    torch.testing.assert_close(ours, torch.autograd.grad(3 * whole(first, second, temperature), (first, second)))


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(lambda a, b: contrastive_loss(a, b, 0.4, 20), views(6, 3))


def test_a_single_node_has_nothing_to_tell_it_from() -> None:
    first, second = views(1)
    assert contrastive_loss(first, second, 0.4).item() == pytest.approx(0, abs=1e-12)


def test_rows_of_zeros_and_small_temperatures_stay_finite() -> None:
    first, second = (view.detach().float() for view in views())
    first[0] = second[0] = 0
    first.requires_grad_()
    loss = contrastive_loss(first, second, 1e-3)
    loss.backward()
    assert torch.isfinite(loss) and first.grad is not None and torch.isfinite(first.grad).all()


def test_reduced_precision_is_summed_in_32_bits() -> None:
    first, second = (view.detach().to(torch.bfloat16) for view in views())
    with torch.autocast("cpu", torch.bfloat16):
        loss = contrastive_loss(first, second, 0.4)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(by_loops(first.double(), second.double(), 0.4), rel=1e-5)
