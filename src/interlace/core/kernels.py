"""The decorator of compiled loops."""

from numba import njit

# Machine code is cached beside the module, and other threads run while it does.
compiled = njit(cache=True, nogil=True)
