"""Linear algebra on one thread: an ask has small matrices, and the cores belong to the trials.

On a busy machine a Cholesky factor of 150 rows takes 120 ms on all cores, which wait for one another, and 1 ms on one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which numpy's and scipy's libraries use one thread."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limits


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  its library must be there before it can be limited
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
