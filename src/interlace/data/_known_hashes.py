"""A sorted set of hashes, built from several parts, that whole arrays are looked up in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Rows = NDArray[np.int64]

_SIEVE_BITS = 22  # a table of 4 MB, which stays in the cache, turns most hashes away


class KnownHashes:
    """Remembers which of its hashes were met, and in which part each stands."""

    def __init__(self, parts: Sequence[Hashes]) -> None:
        every = np.concatenate([np.zeros(0, np.uint64), *parts])
        self._bounds = np.cumsum([0, *map(len, parts)])
        self._keys, self._first, self._inverse = np.unique(every, return_index=True, return_inverse=True)
        self._met = np.zeros(len(self._keys), np.bool_)
        self._sieve = np.zeros(1 << _SIEVE_BITS, np.bool_)
        self._sieve[_cells(self._keys)] = True

    def meet(self, hashes: Hashes) -> tuple[Rows, Rows]:
        """Mark those that are known: which of `hashes` were met for the first time, and their keys."""
        rows = np.flatnonzero(self._sieve[_cells(hashes)])
        if not len(rows) or not len(self._keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys = np.minimum(np.searchsorted(self._keys, hashes[rows]), len(self._keys) - 1)
        fresh = (self._keys[keys] == hashes[rows]) & ~self._met[keys]
        keys, first = np.unique(keys[fresh], return_index=True)
        self._met[keys] = True
        return rows[fresh][first], keys

    def owners(self, keys: Rows) -> tuple[Rows, Rows]:
        """The part in which each key stands first, and where in it."""
        places = self._first[keys]
        parts = np.searchsorted(self._bounds, places, side="right") - 1
        return parts, places - self._bounds[parts]

    def met_in(self, part: int) -> NDArray[np.bool_]:
        """Which hashes of a part were met, as they were given."""
        found: NDArray[np.bool_] = self._met[self._inverse[self._bounds[part] : self._bounds[part + 1]]]
        return found


def _cells(hashes: Hashes) -> Rows:
    return (hashes >> np.uint64(64 - _SIEVE_BITS)).astype(np.int64)
