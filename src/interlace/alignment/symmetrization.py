"""One set of links from two: those that each side chose for itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from interlace.alignment.links import ordered
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.processors import processors
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

Heuristic = Literal[
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "source-to-target",
    "target-to-source",
]
HEURISTICS: tuple[str, ...] = get_args(Heuristic)

_COMPILED = HEURISTICS[:5]  # in the order of the constants in `_symmetrization_kernels`
_ROWS = 10_000  # pairs a thread works on at a time


def symmetrize(
    forward: Ragged, backward: Ragged, heuristic: str = "grow-diag-final-and", threads: int | None = None
) -> Ragged:
    """Combine the links of both directions (Och and Ney 2003, section 4; Koehn, Och and Marcu 2003).

    The result is what Moses' `symal` gives, whose order of scanning matters:

    - `intersection`, `union`: of both sets.
    - `grow-diag`: begins with the intersection. It scans the links it has by target, then source word. Around each it
      looks at the eight neighbours (straight ones first) and takes those of the union that link a word without a
      link. What is taken further on is met in the same scan; scans are repeated until nothing is added.
    - `grow-diag-final`: then takes the other links of which *one or both* words have no link yet, those of `forward`
      first, then those of `backward`, by target, then source word.
    - `grow-diag-final-and`: the same, where *both* words have none.
    - `target-to-source`: `forward` as it is. `source-to-target`: `backward` as it is. So Moses calls them: there it
      is the word that chooses which comes first.

    forward: n rows of (source word, target word), in any order: what each target word chose, the model
        p(target | source); what `fast_align` writes, and `atools` takes as `-i`. Sets in which a word chose several
        are allowed too.
    backward: what each source word chose, p(source | target), also as (source word, target word); see `reverse`.
    heuristic: one of `HEURISTICS`.
    threads: None for all processors; the result is the same for any number.

    Raises:
        SettingsError: there is no such heuristic.
        DataError: the two differ in rows, or a word's number is negative; names the pair, from 1.
    """
    if heuristic not in HEURISTICS:
        raise SettingsError(
            f"there is no heuristic {heuristic!r} to symmetrization{did_you_mean(heuristic, HEURISTICS)}"
        )
    if len(forward) != len(backward):
        raise DataError(f"links of {len(forward)} pairs forward and of {len(backward)} backward; one row a pair each")
    if heuristic not in _COMPILED:
        chosen = forward if heuristic == "target-to-source" else backward
        return ordered(chosen.rows(), chosen.flat, len(chosen))
    how = _COMPILED.index(heuristic)

    def work(start: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        from interlace.alignment._symmetrization_kernels import combine

        stop = min(start + _ROWS, len(forward))
        links, found = combine(*_part(forward, start, stop), *_part(backward, start, stop), how)
        return links, found

    with ThreadPoolExecutor(threads or processors()) as pool:
        parts = list(pool.map(work, range(0, len(forward), _ROWS)))
    links = np.concatenate([np.zeros((0, 2), np.int32), *(part[0] for part in parts)])
    return Ragged.from_lengths(links, np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]))


def reverse(links: Ragged) -> Ragged:
    """Links as (target, source), sorted again: those of the pairs with their sides exchanged."""
    return ordered(links.rows(), links.flat[:, ::-1], len(links))


def _part(links: Ragged, start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Links and offsets of some rows, sorted, each once, as the kernels are compiled for them."""
    part = links.slice(start, stop)
    flat = part.flat.reshape(-1, 2)
    if flat.min(initial=0) < 0:
        at = int(np.argmax(flat.min(axis=1) < 0))
        raise DataError(f"pair {start + part.rows()[at] + 1}: link {flat[at, 0]}-{flat[at, 1]}; words count from 0")
    part = ordered(part.rows(), flat, len(part))
    return np.array(part.values), part.offsets  # a copy: columns may be mapped from a file
