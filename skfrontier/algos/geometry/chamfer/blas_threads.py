"""One BLAS thread while many small matrix products run."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def single_threaded_blas() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread.

    Products that fit the second-level cache take less time than BLAS threads need to meet, many times
    less on a busy machine. Parallel work goes by blocks of queries instead (``n_jobs``).
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: looking for them takes milliseconds."""
    return ThreadpoolController()
