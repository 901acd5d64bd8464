"""Changes that an interrupt (Ctrl-C) must not cut in two."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def undivided() -> Iterator[None]:
    """Let an interrupt wait until the block is done: it is raised then.

    For short changes of a state that is too large to be copied first. Python delivers interrupts to the
    main thread only; in other threads there is nothing to do.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *what: came.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[-1])
