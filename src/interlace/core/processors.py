"""How many processors there are to work with: what "all" means wherever threads are counted."""

from __future__ import annotations

import os


def processors() -> int:
    """Processors this process may use, which may be fewer than the machine has; at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
