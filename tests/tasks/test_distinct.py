from __future__ import annotations

import numpy as np

from interlace.core.ragged import Ragged
from interlace.tasks._distinct import numbered


def test_equal_rows_share_a_number():
    numbers, first = numbered(Ragged.of([[5], [1, 2], [5], [], [1, 2], [1]], np.int64))
    assert numbers.tolist() == [0, 1, 0, 2, 1, 3]
    assert first.tolist() == [0, 1, 3, 5]
