"""What "all processors" means."""

import os

import pytest

from interlace.core.kernels import processors


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system binds no process to processors"
)
def test_only_those_count_that_the_process_may_use():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert processors() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert processors() == len(allowed)
