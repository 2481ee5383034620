"""What follows a layer and the maximum over layers against torch's own, and their gradients."""

import pytest
import torch
import torch.nn.functional as F

from cgnn_cli.models.parts.classifier import dropout
from cgnn_cli.models.parts.panels import BLOCK, largest, rectified, unit_rows


def panels(count: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(count)
    return [torch.randn(6, 4, dtype=dtype, generator=generator, requires_grad=True) for _ in range(count)]


def test_unit_rows_are_those_of_torch_with_their_gradient() -> None:
    (x,) = panels(1)
    assert torch.autograd.gradcheck(unit_rows, (x,))
    factor = torch.arange(24.0, dtype=torch.float64).reshape(6, 4)
    results = []
    for normalise in (unit_rows, lambda x: F.normalize(x, p=2, dim=1)):
        made = normalise(x)
        (gradient,) = torch.autograd.grad((made * factor).sum(), x)
        results.append((made, gradient))
    torch.testing.assert_close(*results)


def test_a_row_of_zeros_stays_and_gives_no_gradient() -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    made = unit_rows(x)
    assert torch.equal(made, torch.tensor([[0.0, 0.0], [0.6, 0.8]]))
    (gradient,) = torch.autograd.grad((made * torch.tensor([1.0, 2.0])).sum(), x)
    assert torch.equal(gradient[0], torch.zeros(2)) and gradient[1].abs().sum() > 0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_largest_is_that_of_a_stack_with_its_gradient(count: int) -> None:
    inputs = panels(count)
    assert torch.equal(largest(inputs), torch.stack(inputs).amax(dim=0))
    assert torch.autograd.gradcheck(lambda *values: largest(values), tuple(inputs))


def test_among_equals_the_first_takes_the_whole_gradient() -> None:
    a, b, c = (torch.tensor([values], requires_grad=True) for values in ([1.0, 2.0], [1.0, 3.0], [0.0, 3.0]))
    largest([a, b, c]).backward(torch.tensor([[5.0, 7.0]]))
    gradients = [panel.grad.tolist() for panel in (a, b, c) if panel.grad is not None]
    assert gradients == [[[5.0, 0.0]], [[0.0, 7.0]], [[0.0, 0.0]]]


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5])
def test_rectified_blocks_of_rows_are_relu_dropout_and_unit_rows_bit_for_bit(share: float, unit: bool) -> None:
    """So are the gradient and the random numbers that come next; the last of three blocks is a short one."""
    generator = torch.Generator().manual_seed(1)
    shape = (2 * BLOCK // 64 + 5, 64)
    x, factor = (torch.randn(shape, generator=generator) for _ in range(2))
    x[3] = -1.0  # nothing is left of it

    def in_passes(x: torch.Tensor) -> torch.Tensor:
        made = dropout(F.relu(x), share, training=True)
        return unit_rows(made) if unit else made

    found = []
    for function in (lambda x: rectified(x, share, unit=unit), in_passes):
        torch.manual_seed(2)
        given = x.clone().requires_grad_()
        made = function(given)
        (made * factor).sum().backward()
        assert given.grad is not None
        found.append((made.detach(), given.grad, torch.rand(3)))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert found[0][0].any() and found[0][1].any()


def test_the_largest_over_several_blocks_has_the_gradient_of_whole_panels() -> None:
    generator = torch.Generator().manual_seed(3)
    inputs = [torch.randn(BLOCK // 16 + 3, 32, generator=generator, requires_grad=True) for _ in range(3)]
    found = [
        torch.autograd.grad(made.square().sum(), inputs) for made in (largest(inputs), torch.stack(inputs).amax(0))
    ]
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
