"""Links of a chunk of pairs under a model of `diagonal`: both directions, joined, with confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.aligners import Alignments
from interlace.aligners._diagonal_model import Rows
from interlace.aligners._diagonal_training import by_parts
from interlace.alignment.links import sorted_links
from interlace.alignment.symmetrization import symmetrize

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from interlace.aligners._diagonal_model import Model
    from interlace.alignment.symmetrization import Heuristic
    from interlace.core.ragged import Ragged


def link(
    model: Model, source: Ragged, target: Ragged, heuristic: Heuristic, pool: ThreadPoolExecutor, threads: int
) -> Alignments:
    """Links of pairs whose words are types of the model, -1 where unknown."""
    from interlace.aligners import _diagonal_link_kernels as kernels

    rows = Rows(source.values, source.offsets, target.values, target.offsets)
    words = (len(source.values), len(target.values))
    partners = (np.empty(words[0], np.int32), np.empty(words[1], np.int32))
    sums = (np.empty(words[0]), np.empty(words[1]))
    by_parts(pool, lambda first, last: kernels.decide(rows, first, last, model, partners, sums), len(source))
    forward = _linked(target.rows(), partners[1], target.columns(), len(target))
    backward = _linked(source.rows(), source.columns(), partners[0], len(source))
    links = symmetrize(forward, backward, heuristic, threads or None)
    confidence = np.empty(len(links.values), np.float32)
    found = (links.values, links.offsets, sums, confidence)
    by_parts(pool, lambda first, last: kernels.confidence(rows, first, last, model, *found), len(source))
    return Alignments(links, confidence)


def _linked(rows: NDArray[np.int64], source: NDArray[Any], target: NDArray[Any], count: int) -> Ragged:
    """Links of source and target places where both are words."""
    both = (source >= 0) & (target >= 0)
    links = np.stack([source[both], target[both]], axis=1)
    return sorted_links(rows[both], links, count)
