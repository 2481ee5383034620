"""Row normalisation and the maximum over layers against torch's own, and their gradients."""

import pytest
import torch
import torch.nn.functional as F

from cgnn_cli.models.parts.panels import largest, unit_rows


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
