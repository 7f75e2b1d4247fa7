"""NaN and infinity, which training that diverged and damaged files leave behind.

Comparisons with NaN are false, so that a rank or a maximum over NaN looks perfect. Whatever ranks, averages or exports
the numbers of a model checks them first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from interlace.core.errors import CheckpointError, DataError

if TYPE_CHECKING:
    from torch import Tensor

_REASON = "(NaN or infinity): training diverged, or the weights are damaged"


def check_finite(rows: ArrayLike, what: str) -> None:
    """Raise a DataError if any of the rows, (n,) or (n, ...), is not finite; what: names them, such as 'vectors'."""
    array = np.asarray(rows)
    if np.isfinite(array).all():
        return
    finite_rows = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    raise DataError(
        f"{int((~finite_rows).sum()):,} of {len(array):,} {what} are not finite {_REASON}"
    )


def check_finite_weights(weights: Iterable[tuple[str, Tensor]], where: str) -> None:
    """Raise a CheckpointError if a weight is not finite; where: a folder, or what the weights are of."""
    for name, weight in weights:
        # The sum is finite only if all values are, and needs no memory; large finite values may overflow it.
        if (
            weight.is_floating_point()
            and not weight.sum().isfinite()
            and not weight.isfinite().all()
        ):
            count = int((~weight.isfinite()).sum())
            raise CheckpointError(
                f"{where}: {count:,} of {weight.numel():,} values of {name} are not finite {_REASON}"
            )
