"""Compiled loops, and the number of processors that may run them."""

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiler(**options: Any) -> Callable[[Loop], Loop]:
    """Return a decorator that compiles a loop: machine code is cached beside the module, and other threads run."""
    decorator: Any = njit  # whose type hints lack options
    return cast(
        "Callable[[Loop], Loop]",
        decorator(cache=True, nogil=True, no_cfunc_wrapper=True, **options),
    )


compiled = compiler()
# of loops that Python does not call, which compile faster
inner = compiler(no_cpython_wrapper=True)


def processors() -> int:
    """Return the number of processors that this process may use, at least 1; NUMBA_NUM_THREADS lowers it."""
    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    if limit.isdecimal():
        return max(1, min(usable, int(limit)))
    return usable
