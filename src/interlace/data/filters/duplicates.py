"""Drops repeated pairs, repeated lines, or pairs with a repeated side."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.data.filters import Chunk, Filter, Keep, Mask, sides

Hashes = NDArray[np.uint64]


class Duplicates(Filter):
    """The first of equal rows is kept. White space at the ends is ignored. Memory: eight bytes per line."""

    by: Literal["pair", "source", "target", "either"] = Field(
        "pair", description="What must not repeat: the pair, one side, or either side. A single line counts as a pair."
    )

    def start(self) -> Keep:
        """Return a function that keeps rows which no chunk before had."""
        source, target = HashSet(), HashSet()  # pairs are in the first

        def keep(chunk: Chunk) -> Mask:
            columns = [[line.strip() for line in text.lines] for text in sides(chunk)]
            if len(columns) == 1 or self.by == "source":
                return source.add(line_hashes(columns[0]))
            if self.by == "target":
                return target.add(line_hashes(columns[1]))
            if self.by == "pair":
                return source.add(line_hashes(map("\n".join, zip(*columns, strict=True))))
            return _new_on_both(source, target, line_hashes(columns[0]), line_hashes(columns[1]))

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
        found = np.zeros(len(keys), np.bool_)
        for run in self._runs:
            found |= run[np.minimum(np.searchsorted(run, keys), len(run) - 1)] == keys
        return found

    def add(self, keys: Hashes) -> Mask:
        """Add all keys; return (n,) which were new, of equal ones only the first."""
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


def line_hashes(lines: Iterable[str]) -> Hashes:
    """(n,) a hash of each line, the same on all machines; two of n lines share one with probability n² / 2^65."""
    digests = [blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest() for line in lines]
    return np.frombuffer(b"".join(digests), "<u8")


def _new_on_both(source: HashSet, target: HashSet, sources: Hashes, targets: Hashes) -> Mask:
    """(n,) where neither side occurs in a kept pair; pairs of the chunk are decided in order."""
    free = ~(source.has(sources) | target.has(targets))
    seen: tuple[set[int], set[int]] = (set(), set())
    for row in np.flatnonzero(free).tolist():
        pair = int(sources[row]), int(targets[row])
        free[row] = pair[0] not in seen[0] and pair[1] not in seen[1]
        if free[row]:
            seen[0].add(pair[0])
            seen[1].add(pair[1])
    source.add(sources[free])
    target.add(targets[free])
    return free
