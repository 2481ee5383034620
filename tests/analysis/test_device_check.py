"""Trainings on two devices are compared; here the second device is the CPU with other threads, or a liar."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cgnn_cli.analysis import device_check
from cgnn_cli.analysis.device_check import CPU, Agreement, Problem, Trained, compare, compare_devices, train_on


@pytest.fixture(scope="module")
def problem() -> Problem:
    return device_check.tiny_problem()


@pytest.fixture(scope="module")
def first(problem: Problem) -> Trained:
    return train_on(problem, CPU)


def test_other_threads_agree_and_stay_as_they_were(problem: Problem, first: Trained) -> None:
    before = torch.get_num_threads()
    found = compare(first, train_on(problem, CPU, 2))
    assert torch.get_num_threads() == before
    assert not found.differs and found.scores < 1e-4
    assert 0.4 < first.accuracy < 0.7  # it has learnt something: a tenth of the nodes are of each class


@pytest.mark.parametrize("change", [{"dropout": 0.05}, {"epochs": 19}, {"precision": "bfloat16"}])
def test_another_training_disagrees(problem: Problem, first: Trained, change: dict[str, object]) -> None:
    other = replace(problem, config=replace(problem.config, **change))  # type: ignore[arg-type]
    assert compare(first, train_on(other, CPU)).differs


def test_a_made_up_disagreement_is_told(first: Trained) -> None:
    off = replace(first, device="cuda:0", scores=first.scores + 0.02 * np.abs(first.scores).max())
    found = compare(first, off)
    assert found.differs and found.scores == pytest.approx(0.02)
    assert "differ by 2.0e-02 (up to 0.01 is well)" in found.told
    assert compare(first, replace(first, accuracy=first.accuracy - 0.02)).differs


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_disagrees(first: Trained, value: float) -> None:
    broken = first.scores.copy()
    broken[3, 1] = value
    assert compare(first, replace(first, scores=broken)).differs
    assert compare(replace(first, scores=broken), first).differs
    assert compare(replace(first, scores=0 * first.scores), first).differs


def test_a_device_that_cannot_train_is_told_and_is_no_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_check, "devices_here", lambda: [CPU, "xpu:7"])
    found = list(compare_devices(1))
    assert [each.device for each in found] == [CPU, "xpu:7"]
    assert found[0].is_first and "trains" in found[0].told
    assert found[1].fault and not found[1].differs and "cannot train" in found[1].told


def test_the_cpu_is_the_first_device() -> None:
    assert device_check.devices_here()[0] == CPU


def test_an_agreement_at_the_bound_holds() -> None:
    assert not Agreement("a", device_check.SCORE_TOLERANCE, -device_check.ACCURACY_TOLERANCE).differs
