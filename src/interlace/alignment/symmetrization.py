"""Symmetrization: combine the alignments of both directions into one."""

from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.links import sorted_links
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.processors import processors
from interlace.core.ragged import Ragged

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
_ROWS = 10_000  # pairs per task of a thread


def symmetrize(
    forward: Ragged, backward: Ragged, heuristic: str = "grow-diag-final-and", threads: int | None = None
) -> Ragged:
    """Combine the links of both directions (Och and Ney 2003, section 4; Koehn, Och and Marcu 2003).

    The result equals that of Moses' `symal`, where the order of scanning matters:

    - `intersection`, `union`: of both sets.
    - `grow-diag`: start with the intersection. Scan its links by target, then source word. Add those of a link's eight
      neighbors (horizontal and vertical ones first) that are in the union and align a word without link. Links added
      later in the order are visited in the same scan. Repeat until no link is added.
    - `grow-diag-final`: then add the remaining links of which *at least one* word is unaligned, those of `forward`
      first, then those of `backward`, by target, then source word.
    - `grow-diag-final-and`: the same for links of which *both* words are unaligned.
    - `target-to-source`: `forward` unchanged. `source-to-target`: `backward` unchanged. The names are those of Moses.

    forward: n rows of (source word, target word), in any order: what each target word chose, the model
        p(target | source); the output of `fast_align` and the option `-i` of `atools`. A word may have several links.
    backward: what each source word chose, p(source | target), also as (source word, target word); see
        `interlace.alignment.links.reverse_links`.
    heuristic: one of `HEURISTICS`. threads: None: one per processor; the result does not depend on it.

    A SettingsError names the nearest heuristic, a DataError the pair with a negative index, from 1.
    """
    if heuristic not in HEURISTICS:
        raise SettingsError(f"there is no symmetrization heuristic {heuristic!r}{did_you_mean(heuristic, HEURISTICS)}")
    if len(forward) != len(backward):
        raise DataError(f"links of {len(forward)} pairs forward and of {len(backward)} backward; one row per pair each")
    if heuristic not in _COMPILED:
        chosen = forward if heuristic == "target-to-source" else backward
        return Ragged(*_arrays(chosen, 0, len(chosen)))
    number = _COMPILED.index(heuristic)

    def work(start: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        from interlace.alignment._symmetrization_kernels import combine

        stop = min(start + _ROWS, len(forward))
        links, counts = combine(*_arrays(forward, start, stop), *_arrays(backward, start, stop), number)
        return links, counts

    with ThreadPoolExecutor(threads or processors()) as pool:
        parts = list(pool.map(work, range(0, len(forward), _ROWS)))
    links = np.concatenate([np.zeros((0, 2), np.int32), *(part[0] for part in parts)])
    return Ragged.from_lengths(links, np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]))


def _arrays(links: Ragged, start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return sorted links and offsets of rows start to stop, in the memory layout of the compiled kernels."""
    part = links.slice(start, stop)
    flat = part.flat.reshape(-1, 2)
    if flat.min(initial=0) < 0:
        at = int(np.argmax(flat.min(axis=1) < 0))
        pair = start + part.rows()[at] + 1
        raise DataError(f"pair {pair}: link {flat[at, 0]}-{flat[at, 1]}; words are counted from 0")
    part = sorted_links(part.rows(), flat, len(part))
    return np.array(part.values), part.offsets  # a copy: columns may be mapped from a file
