"""Compiled loops, and the number of processors that may run them."""

import os
from typing import Any

from numba import njit

# Machine code is cached beside the module, and other threads run while it does.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
compiled: Any = njit(**OPTIONS)
# of kernels that Python does not call, which compile faster
INNER_OPTIONS = {**OPTIONS, "no_cpython_wrapper": True}
inner: Any = njit(**INNER_OPTIONS)


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
