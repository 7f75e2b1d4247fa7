"""Which word types stand together in any pair: a table that grows with the vocabulary and not with the text.

Each source type has a row of slots, a small hash table over the target types it was seen with. A slot is a record of
the target type and of whatever is known of the pair, side by side, because most of the time goes into fetching slots
from memory. Half as many slots again as pairs keep rows quick to search.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Fields = list[tuple[str, type[np.generic]]]
Sides = tuple[Ragged, Ragged]  # rows of source and of target types, int32, numbered as in the table


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of types in rows by source type.

    starts: (source types + 1,) int64, the slots of each row; every row has an empty slot, where searches end.
    slots: (slots,) records; the field `target` is the target type, -1 in an empty slot.
    """

    starts: NDArray[np.int64]
    slots: NDArray[np.void]

    @property
    def targets(self) -> NDArray[np.int32]:
        """(slots,) the target types, a view."""
        targets: NDArray[np.int32] = self.slots["target"]
        return targets

    def find(self, entries: NDArray[np.int32]) -> NDArray[np.int64]:
        """(m,) the slot of each (source type, target type), all of which are in the table."""
        from interlace.aligners import _cooccurrence_kernels as kernels

        slots = np.empty(len(entries), np.int64)
        kernels.find(self.starts, self.targets, np.ascontiguousarray(entries, np.int32), slots)
        return slots


def entries_of(starts: NDArray[np.int64], targets: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """((m, 2) int32 all pairs of a table, sorted; (m,) int64 their slots)."""
    slots = np.flatnonzero(targets >= 0)
    sources = (np.searchsorted(starts, slots, side="right") - 1).astype(np.int32)
    order = np.lexsort((targets[slots], sources))
    slots = slots[order]
    return np.stack([sources[order], targets[slots]], axis=1), slots


def cooccurrence(
    chunks: Iterable[Sides],
    source_types: int,
    extra: NDArray[np.int32],
    fields: Fields,
    pool: ThreadPoolExecutor,
) -> Cooccurrence:
    """The table of all type pairs of a text that comes in chunks.

    chunks: rows of both sides whose values begin at offset 0.
    extra: (m, 2) int32 pairs of types that are in the table whether they stand in the text or not.
    fields: what a slot holds beside the target type, zero at first; the widest first, so that none is split.
    """
    from interlace.aligners import _cooccurrence_kernels as kernels

    sets = [(np.full(1 << 12, kernels.EMPTY, np.int64), 0) for _ in range(kernels.PARTS)]
    for source, target in chain(chunks, [_in_pairs_of_one(extra)]):
        sides = (source.values, source.offsets, target.values, target.offsets)
        jobs = [pool.submit(kernels.collect, *sides, part, *sets[part]) for part in range(kernels.PARTS)]
        sets = [job.result() for job in jobs]
    return _in_rows([keys for keys, _ in sets], source_types, fields, pool)


def packed(entries: NDArray[np.int32], source_types: int, fields: Fields) -> Cooccurrence:
    """The table of known pairs: (m, 2) source and target type, each once."""
    keys = (entries[:, 0].astype(np.int64) << 32) | entries[:, 1]
    with ThreadPoolExecutor(1) as pool:
        return _in_rows([keys], source_types, fields, pool)


def _in_rows(
    sets: list[NDArray[np.int64]], source_types: int, fields: Fields, pool: ThreadPoolExecutor
) -> Cooccurrence:
    """Rows made of sets that share no source type."""
    from interlace.aligners import _cooccurrence_kernels as kernels

    degrees = np.zeros(source_types, np.int64)
    list(pool.map(lambda keys: kernels.count_rows(keys, degrees), sets))
    starts = np.zeros(source_types + 1, np.int64)
    np.cumsum(degrees + degrees // 2 + 1, out=starts[1:])
    table = Cooccurrence(starts, np.zeros(starts[-1], np.dtype([*fields, ("target", np.int32)], align=True)))
    table.targets[:] = kernels.EMPTY
    list(pool.map(lambda keys: kernels.fill_rows(keys, starts, table.targets), sets))
    return table


def _in_pairs_of_one(entries: NDArray[np.int32]) -> Sides:
    """A text in which each pair of types is a pair of lines of one word."""
    source, target = (np.ascontiguousarray(column, np.int32) for column in entries.T)
    one_each = np.arange(len(entries) + 1, dtype=np.int64)
    return Ragged(source, one_each), Ragged(target, one_each)
