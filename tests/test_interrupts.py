"""A change that an interrupt must not cut in two."""

import signal
import threading

import pytest

from skfrontier.algos._interrupts import undivided


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """Where tests run in the background, interrupts may be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_work(done):
    with undivided():
        with undivided():
            signal.raise_signal(signal.SIGINT)
        done.append("all of it")


def test_interrupt_waits_for_the_end_of_the_outermost_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_work(done)
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_is_raised():
    with undivided():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_errors_of_the_block_pass_through():
    with pytest.raises(ZeroDivisionError), undivided():
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_go_on_as_ever():
    done = []

    def work():
        with undivided():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


def test_ignored_interrupts_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with undivided():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
