"""Checking the arrays of a saved model: a folder may be damaged, or somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def checked(
    arrays: Mapping[str, NDArray[Any]], name: str, kind: type[np.generic], shape: tuple[int, ...], where: str
) -> NDArray[Any]:
    """An array that is there, of this kind and shape."""
    array = arrays.get(name)
    if array is None:
        raise DataError(f"{where}: damaged model: the array {name!r} is missing")
    if array.shape != shape or array.dtype != kind:
        raise DataError(
            f"{where}: damaged model: {name!r} is {array.dtype} of shape {array.shape}, "
            f"where {np.dtype(kind)} of shape {shape} is expected"
        )
    return array
