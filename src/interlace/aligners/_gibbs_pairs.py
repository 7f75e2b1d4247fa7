"""Which pairs samplers hold, and how many at a time: what bounds the memory of `gibbs`."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners._usable import MOST_CELLS
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs

log = logging.getLogger(__name__)

_PORTION = MOST_CELLS  # cells of pairs that are linked at a time; no pair has more
_NAME = "gibbs"


def cells_of(pairs: WordPairs) -> NDArray[np.int64]:
    """(n,) source words times target words of each pair; 0 for those that get no links."""
    cells = pairs.source.lengths * pairs.target.lengths
    return np.where(cells <= MOST_CELLS, cells, 0)


def warn_of_long(pairs: WordPairs) -> None:
    """Say how many pairs are too long to be linked."""
    if beyond := int((pairs.source.lengths * pairs.target.lengths > MOST_CELLS).sum()):
        log.warning(
            "%s: %d of %d pairs have more than %d source words times target words and get no links",
            _NAME, beyond, len(pairs), MOST_CELLS,
        )  # fmt: skip


def usable(pairs: WordPairs) -> WordPairs:
    """The same pairs, without any word in those that get no links: what they hold is not learnt from."""
    kept = cells_of(pairs) > 0
    if kept.all():
        return pairs
    return replace(pairs, source=_only(pairs.source, kept), target=_only(pairs.target, kept))


def sample(pairs: WordPairs, most: int) -> WordPairs | None:
    """Evenly spaced pairs of about `most` cells in all, at least one; None where all have no more than that."""
    cells = cells_of(pairs)
    total = int(cells.sum())
    if total <= most:
        return None
    rows = np.flatnonzero(cells)
    chosen = rows[np.diff(np.ceil(np.arange(len(rows) + 1) * (most / total))) > 0]
    log.info("%s: learns from %d of %d pairs, which is what fit_cells allows", _NAME, len(chosen), len(rows))
    return replace(pairs, source=pairs.source.take(chosen), target=pairs.target.take(chosen))


def portions(pairs: WordPairs) -> Iterator[WordPairs]:
    """The pairs in slices of few enough cells for their posteriors to be held, `usable` ones only."""
    for chunk in pairs.chunks():
        ends, start = np.cumsum(cells_of(chunk)), 0
        while start < len(chunk):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _PORTION, side="right")))
            yield usable(chunk.slice(start, stop))
            start = stop


def _only(rows: Ragged, kept: NDArray[np.bool_]) -> Ragged:
    """The rows with those that are not kept empty."""
    lengths = rows.lengths
    return Ragged.from_lengths(rows.flat[np.repeat(kept, lengths)], np.where(kept, lengths, 0))
