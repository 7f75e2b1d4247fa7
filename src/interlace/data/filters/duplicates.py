"""Drops repeated lines or pairs."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from interlace.data.filters import Chunk, Filter, Keep, Mask, sides

Hashes = NDArray[np.uint64]


class Duplicates(Filter):
    """The first of equal rows is kept. White space at the ends is ignored. Memory: eight bytes per line."""

    def start(self) -> Keep:
        """Return a function that keeps rows which no chunk before had."""
        seen = HashSet()

        def keep(chunk: Chunk) -> Mask:
            columns = [map(str.strip, text.lines) for text in sides(chunk)]
            return seen.add(line_hashes(map("\n".join, zip(*columns, strict=True))))

        return keep

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) rows that do not repeat an earlier row of the chunk."""
        return self.start()(chunk)


class HashSet:
    """A set of 64-bit hashes that takes whole arrays: sorted runs that are merged as they grow, 8 bytes per entry."""

    def __init__(self) -> None:
        self._runs: list[Hashes] = []  # sorted, each at least twice as long as the next

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def has(self, keys: Hashes) -> Mask:
        """(n,) which keys are in the set."""
        present = np.zeros(len(keys), np.bool_)
        for run in self._runs:
            positions = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            present |= run[positions] == keys
        return present

    def add(self, keys: Hashes) -> Mask:
        """Add all keys; return (n,) which were new, of equal ones only the first."""
        unique, first = np.unique(keys, return_index=True)
        is_new = ~self.has(unique)
        new = np.zeros(len(keys), np.bool_)
        new[first[is_new]] = True
        run = unique[is_new]
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            # merges, as both are sorted
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if len(run):
            self._runs.append(run)
        return new


def line_hashes(lines: Iterable[str]) -> Hashes:
    """(n,) a hash of each line, the same on all machines; two of n lines share one with probability n² / 2^65."""
    digests = [
        blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest() for line in lines
    ]
    return np.frombuffer(b"".join(digests), "<u8")
