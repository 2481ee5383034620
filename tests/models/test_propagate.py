"""The sparse operator: products, gradients, corner cases."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array
from torch import nn

from cgnn_cli.models.propagate import Propagator, apply_linear, as_input

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


def test_linear_layer_on_sparse_features_equals_the_dense_one() -> None:
    features = random_matrix(20, 12, density=0.1)
    sparse, dense = as_input(features, CPU), as_input(features.toarray().astype(np.float32) + 1e-3, CPU)
    assert isinstance(sparse, Propagator) and isinstance(dense, torch.Tensor)
    layer = nn.Linear(12, 4)
    expected = layer(torch.from_numpy(features.toarray().astype(np.float32)))
    torch.testing.assert_close(apply_linear(layer, sparse), expected)
    apply_linear(layer, sparse).square().sum().backward()
    from_sparse = layer.weight.grad.clone() if layer.weight.grad is not None else None
    layer.zero_grad()
    layer(torch.from_numpy(features.toarray().astype(np.float32))).square().sum().backward()
    torch.testing.assert_close(from_sparse, layer.weight.grad)


def test_dense_features_that_are_mostly_zero_go_the_sparse_way() -> None:
    assert isinstance(as_input(random_matrix(30, 30, density=0.05).toarray(), CPU), Propagator)
    assert isinstance(as_input(random_matrix(30, 30, density=0.9), CPU), torch.Tensor)
