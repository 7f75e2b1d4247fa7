"""The number of usable processors."""

import os


def processors() -> int:
    """Return the number of processors that this process may use, at least 1; NUMBA_NUM_THREADS lowers it."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("NUMBA_NUM_THREADS", "")
    return max(1, min(usable, int(limit))) if limit.isdecimal() else usable
