"""Ctrl-C at any moment of some work."""

import signal
import sys
from collections.abc import Callable, Iterator


def interrupted_at(moment: int, work: Callable[[], object]) -> bool:
    """Run ``work`` with an interrupt at its ``moment``-th call; tell whether there was such a call.

    Python drops an interrupt that falls into the clean-up of a generator; the work then goes on.
    """
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
        if event == "call" and calls == moment:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    # where tests run in the background, interrupts may be ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setprofile(count)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, before)
    return calls >= moment


def interruptions(make: Callable[[], object], work: Callable[[object], object]) -> Iterator:
    """Objects whose ``work`` was interrupted, ever later, until it ran to its end."""
    moment, came = 1, True
    while came:
        made = make()
        came = interrupted_at(moment, lambda made=made: work(made))
        yield made
        moment = moment + 1 + moment // 6
    assert moment > 10, "there was nothing to interrupt"
