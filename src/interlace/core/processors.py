"""The number of usable processors."""

import os


def processors() -> int:
    """Return the number of processors that this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
