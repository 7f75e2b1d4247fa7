"""Equal rows as one: what is written alike is compared once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged


def numbered(rows: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each row among the distinct ones, by first appearance, and where each of those appears first."""
    seen: dict[bytes, int] = {}
    numbers = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], np.int64)
    return numbers, np.unique(numbers, return_index=True)[1].astype(np.int64)
