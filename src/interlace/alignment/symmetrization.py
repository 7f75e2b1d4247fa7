"""Symmetrization: combine the alignments of both directions into one."""

from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import numpy as np

from interlace.alignment import Heuristic
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.kernels import processors
from interlace.core.ragged import Int32Array, IntArray, Ragged

HEURISTICS: tuple[str, ...] = get_args(Heuristic)  # in the order of the kernels' constants

_ROWS = 10_000  # pairs per task of a thread
_MAX_WORDS = 1 << 14  # of a sentence: the kernels make a matrix of a byte per pair of words


def symmetrize(
    forward: Ragged,
    backward: Ragged,
    heuristic: str = "grow-diag-final-and",
    threads: int | None = None,
) -> Ragged:
    """Combine the links of both directions (Och and Ney 2003, section 4; Koehn, Och and Marcu 2003).

    The result equals that of Moses' `symal`, where the order of scanning matters:

    - `intersection`, `union`: of both sets.
    - `grow`: start with the intersection. Scan its links by target, then source word. Add those of a link's four
      neighbors, horizontal and vertical, that are in the union and align a word without link. Links added later in the
      order are visited in the same scan. Repeat until no link is added.
    - `grow-diag-final`: the same with the four diagonal neighbors, after the others. Then add the remaining links of
      which *at least one* word is unaligned, those of `forward` first, then those of `backward`, by target, then source
      word.
    - `grow-diag-final-and`: the same, but the last step adds links of which *both* words are unaligned.

    forward: n rows of (source word, target word), in any order: what each target word chose, the model
        p(target | source); the output of `fast_align` and the option `-i` of `atools`. A word may have several links.
    backward: what each source word chose, p(source | target), also as (source word, target word); see
        `interlace.alignment.links.reverse_links`.
    heuristic: one of `HEURISTICS`. threads: None: one per processor; the result does not depend on it.

    A SettingsError names the nearest heuristic, a DataError the pair with a negative index, from 1.
    """
    if heuristic not in HEURISTICS:
        raise SettingsError(
            f"there is no symmetrization heuristic {heuristic!r}{did_you_mean(heuristic, HEURISTICS)}"
        )
    if len(forward) != len(backward):
        raise DataError(
            f"links of {len(forward)} pairs forward and of {len(backward)} backward; one row per pair each"
        )
    _check(forward)
    _check(backward)
    from interlace.alignment._symmetrization_kernels import combine  # compiles loops

    def work(start: int) -> Ragged:
        stop = min(start + _ROWS, len(forward))
        directions = (*_arrays(forward, start, stop), *_arrays(backward, start, stop))
        links, counts = combine(*directions, HEURISTICS.index(heuristic))
        return Ragged.from_lengths(links, counts)

    with ThreadPoolExecutor(threads or processors()) as pool:
        parts = pool.map(work, range(0, len(forward), _ROWS))
        return Ragged.concatenate([Ragged.of([], width=2), *parts])


def _check(links: Ragged) -> None:
    """Raise a DataError that names the first pair, from 1, with a negative index or too many words."""
    flat = links.flat.reshape(-1, 2)
    if flat.min(initial=0) < 0 or flat.max(initial=0) >= _MAX_WORDS:
        link = int(np.argmax(((flat < 0) | (flat >= _MAX_WORDS)).any(axis=1)))
        raise DataError(
            f"pair {links.rows()[link] + 1}: link {flat[link, 0]}-{flat[link, 1]}; words are counted from 0, and only "
            f"links of the first {_MAX_WORDS:,} words of a sentence can be combined"
        )


def _arrays(links: Ragged, start: int, stop: int) -> tuple[Int32Array, IntArray]:
    """Return links and offsets of rows start to stop, in the memory layout of the compiled kernels."""
    part = links.slice(start, stop)
    flat = np.array(part.flat.reshape(-1, 2), np.int32, order="C")  # may be mapped from a file
    return flat, part.offsets - part.offsets[0]
