"""The sparse operator: products, gradients, corner cases."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from cgnn_cli.models.parts.propagate import Propagator, as_input, beside, lay_out, multiply, with_last

CPU = torch.device("cpu")


def random_matrix(rows: int, columns: int, density: float = 0.3, seed: int = 0) -> csr_array:
    return csr_array(random_array((rows, columns), density=density, rng=np.random.default_rng(seed)))


@pytest.mark.parametrize(("rows", "columns"), [(6, 6), (5, 9), (9, 5)])
def test_product_and_gradient_against_dense(rows: int, columns: int) -> None:
    matrix = random_matrix(rows, columns)
    operator = Propagator(matrix, CPU, torch.float64)
    x = torch.randn(columns, 3, dtype=torch.float64, requires_grad=True)
    dense = torch.from_numpy(matrix.toarray())
    torch.testing.assert_close(operator(x), dense @ x)
    assert torch.autograd.gradcheck(operator, (x,))


def test_rows_without_entries_and_an_empty_matrix_give_zeros() -> None:
    empty = Propagator(csr_array((4, 3)), CPU)
    x = torch.ones(3, 2, requires_grad=True)
    result = empty(x)
    assert torch.equal(result, torch.zeros(4, 2))
    result.sum().backward()
    assert torch.equal(x.grad, torch.zeros(3, 2)) if x.grad is not None else False
    one = Propagator(csr_array(([2.0], ([1], [0])), shape=(3, 3)), CPU)
    assert torch.equal(one(torch.ones(3, 1)).ravel(), torch.tensor([0.0, 2.0, 0.0]))


def test_sparse_features_multiply_like_dense_ones() -> None:
    features = random_matrix(20, 12, density=0.1)
    sparse = as_input(features, CPU)
    dense = torch.from_numpy(features.toarray().astype(np.float32))
    assert isinstance(sparse, Propagator)
    gradients = []
    for x in (sparse, dense):
        weight = torch.linspace(-1, 1, 48).reshape(4, 12).requires_grad_()
        product = multiply(x, weight)
        torch.testing.assert_close(product, dense @ weight.t())
        product.square().sum().backward()
        gradients.append(weight.grad)
    torch.testing.assert_close(*gradients)


def test_dense_features_that_are_mostly_zero_go_the_sparse_way() -> None:
    assert isinstance(as_input(random_matrix(30, 30, density=0.05).toarray(), CPU), Propagator)
    assert isinstance(as_input(random_matrix(30, 30, density=0.9), CPU), torch.Tensor)


def test_columns_beside_features_can_be_exchanged() -> None:
    """Zeros too, which a sparse matrix would forget; the weights get the gradient of what was there."""
    features = random_matrix(20, 12, density=0.1)
    dense = torch.from_numpy(features.toarray().astype(np.float32))
    first, second = (np.random.default_rng(seed).integers(0, 3, (20, 4)).astype(np.float32) for seed in (0, 1))
    for own in (as_input(features, CPU), dense, dense[:, :0]):
        x = beside(own, first)
        y = with_last(x, torch.from_numpy(second))
        for made, columns in ((x, first), (y, second), (with_last(y, torch.from_numpy(first)), first)):
            expected = torch.cat([dense[:, : own.shape[1]], torch.from_numpy(columns)], dim=1)
            weight = torch.linspace(-1, 1, 3 * expected.shape[1]).reshape(3, -1).requires_grad_()
            torch.testing.assert_close(multiply(made, weight), expected @ weight.t())
            (found,) = torch.autograd.grad(multiply(made, weight).square().sum(), weight)
            (wanted,) = torch.autograd.grad((expected @ weight.t()).square().sum(), weight)
            torch.testing.assert_close(found, wanted)


def without(matrix: csr_array, rows: list[int], columns: list[int]) -> csr_array:
    """The matrix with some rows and columns emptied."""
    dense = matrix.toarray()
    dense[rows], dense[:, columns] = 0, 0
    return csr_array(dense)


@pytest.mark.parametrize("widths", [(7, 2), (2, 7), (4, 4)])
@pytest.mark.parametrize(
    ("rows", "columns"), [([], []), ([0, 3, 8], [1]), ([2], [0, 5, 6, 8]), ([*range(9)], []), ([0, 1], [7, 8])]
)
def test_every_order_of_multiplication_gives_the_product(
    widths: tuple[int, int], rows: list[int], columns: list[int]
) -> None:
    matrix = without(random_matrix(9, 9), rows, columns)
    operator, dense = Propagator(matrix, CPU, torch.float64), torch.from_numpy(matrix.toarray())
    inputs, outputs = widths
    x = torch.randn(9, inputs, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(outputs, inputs, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(operator.after(x, weight), dense @ x @ weight.t())
    assert torch.autograd.gradcheck(operator.after, (x, weight))


def test_factors_leave_out_empty_rows_and_columns() -> None:
    operator = Propagator(without(random_matrix(9, 8, density=0.9), [0, 3, 8], [1, 2]), CPU)
    choose, inner = operator.by_columns
    assert isinstance(choose, Propagator) and (choose.shape, inner.shape) == ((6, 8), (9, 6))
    outer, spread = operator.by_rows
    assert isinstance(spread, Propagator) and (outer.shape, spread.shape) == ((6, 8), (9, 6))
    x = torch.randn(8, 3)
    for product in (inner(choose(x)), spread(outer(x))):
        torch.testing.assert_close(product, operator(x))
    assert inner.forward.values is operator.forward.values  # nothing but one array of numbers is copied
    assert outer.forward.indices is operator.forward.indices


def test_the_dense_product_is_made_for_the_rows_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A star that nobody points back to: one node is read, and one is filled."""
    edges = ([1.0] * 49, ([0] * 49, list(range(1, 50))))
    star = csr_array(edges, shape=(50, 50))
    seen: list[int] = []
    product = torch.Tensor.__matmul__

    def counted(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        seen.append(len(a))
        return product(a, b)

    monkeypatch.setattr(torch.Tensor, "__matmul__", counted)
    x, weight = torch.randn(50, 4), torch.randn(4, 4)
    for matrix in (star, csr_array(star.T.tocsr())):
        Propagator(matrix, CPU).after(x, weight)
    assert seen == [1, 1]


def test_weights_that_meet_sparse_features_lie_by_columns() -> None:
    weights = [torch.nn.Parameter(torch.randn(shape)) for shape in ((4, 12), (4, 4), (12,))]
    before = [weight.detach().clone() for weight in weights]
    lay_out(weights, as_input(random_matrix(20, 12, density=0.1), CPU))
    assert [weight.stride() for weight in weights] == [(1, 4), (4, 1), (1,)]
    for old, new in zip(before, weights, strict=True):
        assert torch.equal(old, new)
    lay_out(weights, torch.ones(20, 4))
    assert weights[1].stride() == (4, 1)
