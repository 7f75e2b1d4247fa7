"""Names for the types of arrays, by the kind of their numbers; shapes stand in docstrings and comments."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
ByteArray = NDArray[np.uint8]
AnyArray = NDArray[Any]
IntegerArray = NDArray[np.integer]
