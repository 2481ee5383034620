"""The sparse operator: products, gradients, corner cases."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from cgnn_cli.models.propagate import Propagator, as_input, multiply

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
