"""Our Adam is torch's, bit for bit, and its state can be saved and restored."""

import subprocess
import sys
from typing import Any

import pytest
import torch

from cgnn_cli.models.parts.adam import Adam


def parameters() -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((4, 3), (3,), (2, 2))]


def loss(values: list[torch.nn.Parameter], step: int) -> torch.Tensor:
    return (values[0] @ values[1] - step).square().sum()  # the third has no gradient


@pytest.mark.parametrize("weight_decay", [0.0, 5e-3])
def test_the_same_bits_as_torch(weight_decay: float) -> None:
    ours, theirs = parameters(), parameters()
    our_adam = Adam(ours, 0.05, weight_decay)
    their_adam = torch.optim.Adam(theirs, lr=0.05, weight_decay=weight_decay, fused=True)
    for step in range(20):
        for values, optimiser in ((ours, our_adam), (theirs, their_adam)):
            optimiser.zero_grad()
            loss(values, step).backward()
            optimiser.step()
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)


def test_undecayed_parameters_are_a_group_without_decay() -> None:
    ours, theirs = parameters(), parameters()
    our_adam = Adam(ours, 0.05, 0.1, undecayed=[ours[1]])
    groups: list[dict[str, Any]] = [{"params": [theirs[0], theirs[2]]}, {"params": [theirs[1]], "weight_decay": 0.0}]
    their_adam = torch.optim.Adam(groups, lr=0.05, weight_decay=0.1, fused=True)
    for step in range(20):
        for values, optimiser in ((ours, our_adam), (theirs, their_adam)):
            optimiser.zero_grad()
            loss(values, step).backward()
            optimiser.step()
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)


def test_a_parameter_kept_by_columns_moves_like_any_other() -> None:
    """The fused kernel walks through memory: gradient and state must lie as the parameter does."""
    plain, turned = parameters()[:1], parameters()[:1]
    turned[0].data = turned[0].data.t().contiguous().t()
    reference = torch.optim.Adam(plain, lr=0.05, foreach=False)
    ours = Adam(turned, 0.05, 0.0)
    factor = torch.arange(12.0).reshape(4, 3)
    for _ in range(5):
        for values, optimiser in ((plain, reference), (turned, ours)):
            optimiser.zero_grad()
            (values[0] * factor).sin().sum().backward()
            optimiser.step()
    assert turned[0].stride() == (1, 4)
    torch.testing.assert_close(turned[0], plain[0])


def test_state_is_complete() -> None:
    first, second = parameters(), parameters()
    straight, resumed = Adam(first, 0.05, 1e-3), Adam(second, 0.05, 1e-3)
    for step in range(5):
        straight.zero_grad()
        loss(first, step).backward()
        straight.step()
    resumed.load_state(straight.state())
    with torch.no_grad():
        for a, b in zip(first, second, strict=True):
            b.copy_(a)
    for values, optimiser in ((first, straight), (second, resumed)):
        optimiser.zero_grad()
        loss(values, 9).backward()
        optimiser.step()
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_training_does_not_import_the_compiler() -> None:
    code = (
        "import sys, torch, cgnn_cli.stages.train, cgnn_cli.models.cgnn; from cgnn_cli.models.parts.adam import Adam\n"
        "p = torch.nn.Parameter(torch.ones(2)); a = Adam([p], 0.1, 0.0); p.sum().backward(); a.step()\n"
        "sys.exit('torch._dynamo' in sys.modules or 'torch_geometric' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
