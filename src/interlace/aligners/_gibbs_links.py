"""From posteriors to links: those likely enough, or the likeliest of each side joined by a heuristic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners import Alignments
from interlace.aligners import _gibbs_cells as kernels
from interlace.alignment.symmetrization import symmetrize
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.aligners._gibbs_cells import Posteriors


def likely(posteriors: Posteriors, least: float) -> Alignments:
    """The cells whose mean posterior reaches `least`."""
    lengths = np.zeros(len(posteriors.cell_starts) - 1, np.int64)
    many = kernels.likely(posteriors, least, np.empty((0, 2), np.int32), np.empty(0, np.float32), lengths)
    links, confidence = np.empty((many, 2), np.int32), np.empty(many, np.float32)
    kernels.likely(posteriors, least, links, confidence, lengths)
    return Alignments(Ragged.from_lengths(links, lengths), confidence)


def joined(posteriors: Posteriors, heuristic: str) -> Alignments:
    """The likeliest partner of each word, if likelier than none, joined as `interlace.alignment.symmetrization` says."""
    sides = (posteriors.source_starts, posteriors.target_starts)
    backward = _chosen(sides[1], sides[0], posteriors.cell_starts, posteriors.by_source)
    forward = _chosen(*sides, posteriors.cell_starts, posteriors.by_target)
    forward = Ragged(np.ascontiguousarray(forward.values[:, ::-1]), forward.offsets)
    links = symmetrize(_sorted(forward), backward, heuristic)
    confidence = np.empty(len(links.flat), np.float32)
    kernels.mean_at(posteriors, links.offsets, np.ascontiguousarray(links.values), confidence)
    return Alignments(links, confidence)


def _chosen(
    by: NDArray[np.int64], to: NDArray[np.int64], starts: NDArray[np.int64], posterior: NDArray[np.float32]
) -> Ragged:
    """Rows of (drawing word, drawn word), sorted; `by` and `to` are the first words of each pair."""
    chosen = np.full(to[-1], -1, np.int32)
    kernels.likeliest(by, to, starts, posterior, chosen)
    words = Ragged(chosen, to)
    linked = chosen >= 0
    pairs = np.stack([words.columns()[linked].astype(np.int32), chosen[linked]], axis=1)
    return Ragged.from_lengths(pairs, np.bincount(words.rows()[linked], minlength=len(words)))


def _sorted(links: Ragged) -> Ragged:
    order = np.lexsort((links.values[:, 1], links.values[:, 0], links.rows()))
    return Ragged(np.ascontiguousarray(links.values[order]), links.offsets)
