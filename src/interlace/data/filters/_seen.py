"""A set of 64-bit hashes that takes whole arrays: sorted runs that are merged as they grow, eight bytes an entry."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

BYTES = 8  # two of n different lines share a hash with probability n² / 2^65: once in four million corpora of 3M lines


def hashes(lines: Iterable[str]) -> NDArray[np.uint64]:
    """(n,) a hash of each line, the same on all machines."""
    digests = [blake2b(line.encode("utf-8", "surrogatepass"), digest_size=BYTES).digest() for line in lines]
    return np.frombuffer(b"".join(digests), "<u8")


class Seen:
    """Hashes met so far."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []  # sorted, each at least twice as long as the next

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def has(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """(n,) which keys were met before."""
        found = np.zeros(len(keys), np.bool_)
        for run in self._runs:
            found |= run[np.minimum(np.searchsorted(run, keys), len(run) - 1)] == keys
        return found

    def add(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """(n,) which keys are new, counting only the first of equal ones; all are met from now on."""
        unique, first = np.unique(keys, return_index=True)
        fresh = ~self.has(unique)
        new = np.zeros(len(keys), np.bool_)
        new[first[fresh]] = True
        run = unique[fresh]
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")  # merges, as both are sorted
        if len(run):
            self._runs.append(run)
        return new
