"""Requests to stop, noted or acted on."""

import signal

import pytest

from cgnn_cli.signals import Interrupted, Stopper, Terminated


def test_inside_hold_signals_are_noted_and_a_second_interrupt_ends() -> None:
    stopper = Stopper()
    with stopper.hold():
        stopper._handle(signal.SIGUSR1, None)
        stopper._handle(signal.SIGTERM, None)
        assert stopper.requested() and stopper.received == signal.SIGTERM
    other = Stopper()
    with other.hold():
        other._handle(signal.SIGINT, None)
        with pytest.raises(Interrupted):
            other._handle(signal.SIGINT, None)


def test_outside_hold_term_ends_and_usr1_waits_for_the_next_training() -> None:
    stopper = Stopper()
    stopper._handle(signal.SIGUSR1, None)
    assert stopper.requested()
    with pytest.raises(Terminated):
        stopper._handle(signal.SIGTERM, None)
    with pytest.raises(Interrupted):
        Stopper()._handle(signal.SIGINT, None)
