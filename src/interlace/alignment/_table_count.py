"""Counting phrase pairs: how often two phrases stood together, and which links were inside them.

Phrases and inner links are numbered as they come. Their pairs are counted in memory, or put in a folder by source
phrase and counted one part after the other, so that memory grows with the phrases of each side and not with the pairs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment._table_trie import Trie

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.core.ragged import Ragged

_PARTS = 64  # of a folder; a power of two


@dataclass(frozen=True)
class Counted:
    """Distinct phrase pairs that were seen often enough, in no special order.

    source, target: (m,) int32 nodes of the phrases. links: (m,) int32 nodes of their most frequent inner links.
    counts: (m,) int64 times seen. source_totals, target_totals: by node, of all pairs, also of the rare ones.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    links: NDArray[np.int32]
    counts: NDArray[np.int64]
    source_totals: NDArray[np.int64]
    target_totals: NDArray[np.int64]


class Counting:
    """Counts the phrase pairs of one chunk after the other.

    grid: width of the grid that inner links are places of. spool: an empty folder, or None to count in memory.
    """

    def __init__(self, grid: int, spool: Path | None) -> None:
        self.source, self.target, self.links = Trie(), Trie(), Trie()
        self._grid = grid
        self._pairs = _Pairs()
        self._files = [spool / str(part) for part in range(_PARTS)] if spool else []

    def add(self, pairs: WordPairs, links: Ragged, spans: Ragged) -> None:
        """The phrase pairs of a chunk; links are sorted in each row."""
        with ThreadPoolExecutor(3) as pool:  # each has a trie of its own, so the numbers do not depend on who is first
            columns = [
                pool.submit(self.source.number, pairs.source, spans, 0),
                pool.submit(self.target.number, pairs.target, spans, 2),
                pool.submit(self.links.number_links, links, spans, self._grid),
            ]
        seen = np.stack([column.result() for column in columns], axis=1)
        if not self._files:
            self._pairs.add(seen)
        for part, path in zip(_parted(seen) if self._files else (), self._files, strict=True):
            with path.open("ab") as file:
                file.write(part.tobytes())

    def finish(self, minimum: int) -> Counted:
        """All pairs seen at least so often."""
        totals = (np.zeros(self.source.used, np.int64), np.zeros(self.target.used, np.int64))
        if not self._files:
            found = [self._pairs.finish(minimum, totals)]
        else:
            found = []
            for path in self._files:
                part = _Pairs()
                part.add(np.fromfile(path, np.int32).reshape(-1, 3) if path.exists() else np.zeros((0, 3), np.int32))
                found.append(part.finish(minimum, totals))
        source, target, links, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        return Counted(source, target, links, counts, *totals)


def _parted(seen: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The rows of each part, in their order; sorting once takes a quarter of the time of looking for each part."""
    parts = (seen[:, 0] % _PARTS).astype(np.uint8)
    ends = np.cumsum(np.bincount(parts, minlength=_PARTS))
    return np.split(seen[np.argsort(parts, kind="stable")], ends[:-1])


class _Pairs:
    """Counts (source phrase, target phrase, inner links)."""

    def __init__(self) -> None:
        self._pairs, self._seen = Trie(), Trie()
        self._counts = np.zeros(len(self._seen.keys), np.int32)

    def add(self, occurrences: NDArray[np.int32]) -> None:
        from interlace.alignment._table_kernels import count_pairs

        pairs, seen = self._pairs, self._seen
        (pairs.slots, pairs.keys), pairs.used, (seen.slots, seen.keys), seen.used, self._counts = count_pairs(
            (pairs.slots, pairs.keys), pairs.used, (seen.slots, seen.keys), seen.used, self._counts, occurrences
        )

    def finish(
        self, minimum: int, totals: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Source, target, links and count of each pair that is frequent enough; all are added to the totals."""
        from interlace.alignment._table_kernels import sum_up

        counts, links = np.zeros(self._pairs.used, np.int64), np.zeros(self._pairs.used, np.int32)
        sum_up(self._seen.keys, self._seen.used, self._counts, counts, links)
        keys = self._pairs.keys[1 : self._pairs.used]
        source, target, counts, links = (keys >> 32).astype(np.int32), keys.astype(np.int32), counts[1:], links[1:]
        for nodes, total in zip((source, target), totals, strict=True):
            total[:] += np.bincount(nodes, counts, minlength=len(total)).astype(np.int64)
        kept = counts >= minimum
        return source[kept], target[kept], links[kept], counts[kept]
