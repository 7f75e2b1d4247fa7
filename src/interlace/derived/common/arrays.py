"""Types of the arrays of derived texts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Codes = NDArray[Any]  # code points, bytes or uint32
