"""Types of the arrays of derived texts."""

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import AnyArray, BoolArray, ByteArray, DoubleArray, IntArray

Ints = IntArray
Flags = BoolArray
Floats = DoubleArray
Bits = NDArray[np.uint64]
Bytes = ByteArray
Codes = AnyArray  # code points, bytes or uint32
