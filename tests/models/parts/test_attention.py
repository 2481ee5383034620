"""Attention over a sparse pattern: dense oracles, gradients, corner cases, and what is kept for the backward pass."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor

from cgnn_cli.models.parts.attention import SLOPE, Pattern
from tests.models.samples import CPU, kept_sizes

ROWS, COLUMNS = 7, 9


def dense_pattern() -> np.ndarray:
    """Row 2 and column 4 are empty."""
    dense = (np.random.default_rng(0).random((ROWS, COLUMNS)) < 0.4).astype(np.float64)
    dense[2] = 0
    dense[:, 4] = 0
    return dense


def inputs(heads: int, width: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """s, t and x in 64 bits, that want gradients."""
    generator = torch.Generator().manual_seed(heads)
    shapes = ((COLUMNS, heads), (ROWS, heads), (COLUMNS, heads * width))
    s, t, x = (torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes)
    return s, t, x


@pytest.mark.parametrize("heads", [1, 3])
def test_softmax_and_sum_against_dense(heads: int) -> None:
    dense = dense_pattern()
    pattern = Pattern(csr_array(dense), CPU)
    s, t, x = inputs(heads)
    weights = pattern.softmax(s, t)
    total = pattern.weighted_sum(weights, x)
    for head in range(heads):
        scores = F.leaky_relu(s[:, head][None, :] + t[:, head][:, None], SLOPE)
        expected = torch.softmax(scores.masked_fill(torch.from_numpy(dense) == 0, -torch.inf), dim=1).nan_to_num()
        torch.testing.assert_close(weights[head], expected[torch.from_numpy(dense) > 0])
        torch.testing.assert_close(total[:, 2 * head : 2 * head + 2], expected @ x[:, 2 * head : 2 * head + 2])
    assert not total[2].any()


@pytest.mark.parametrize("heads", [1, 3])
def test_gradients(heads: int) -> None:
    pattern = Pattern(csr_array(dense_pattern()), CPU)
    s, t, x = inputs(heads)
    weights = torch.rand(heads, pattern.entries, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pattern.softmax, (s, t))
    assert torch.autograd.gradcheck(pattern.weighted_sum, (weights, x))


def test_fixed_weights_between_softmax_and_sum() -> None:
    pattern = Pattern(csr_array(dense_pattern()), CPU)
    s, t, x = inputs(2)
    signs = torch.arange(pattern.entries, dtype=torch.float64) % 3 - 1
    assert torch.autograd.gradcheck(lambda s, t, x: pattern.weighted_sum(pattern.softmax(s, t) * signs, x), (s, t, x))


def test_large_scores_do_not_overflow() -> None:
    pattern = Pattern(csr_array(dense_pattern()), CPU)
    s, t, _ = (part.detach().float() for part in inputs(1))
    weights = pattern.softmax(1e4 * s, -1e5 + t)
    assert torch.isfinite(weights).all()
    torch.testing.assert_close(pattern.row_sums(weights).ravel() > 0.999, torch.arange(ROWS) != 2)


def test_a_pattern_without_entries() -> None:
    pattern = Pattern(csr_array((3, 3)), CPU)
    s, t, x = (torch.randn(3, width, requires_grad=True) for width in (1, 1, 4))
    total = pattern.weighted_sum(pattern.softmax(s, t), x)
    total.sum().backward()
    assert torch.equal(total, torch.zeros(3, 4))
    for part in (s, t, x):
        assert part.grad is not None and not part.grad.any()


def test_reduced_precision_is_summed_in_32_bits() -> None:
    pattern = Pattern(csr_array(dense_pattern()), CPU)
    s, t, x = (part.detach().bfloat16().requires_grad_() for part in inputs(1))
    total = pattern.weighted_sum(pattern.softmax(s, t), x)
    assert total.dtype == torch.float32
    total.sum().backward()
    assert all(part.grad is not None and part.grad.dtype == torch.bfloat16 for part in (s, t, x))


def test_nothing_of_entries_times_width_is_kept() -> None:
    pattern = Pattern(csr_array(np.ones((20, 20))), CPU)
    s, t, x = (torch.randn(20, width, requires_grad=True) for width in (2, 2, 64))
    with kept_sizes() as kept:
        total = pattern.weighted_sum(pattern.softmax(s, t), x)
    assert max(kept) == 20 * 64 and sum(kept) <= 20 * 64 + 2 * 20 * 2 + 2 * 2 * 400
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch's warning about its CSR tensors must not reach users
        total.sum().backward()
