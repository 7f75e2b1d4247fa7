"""Compiled loops that link pairs with what a sampler learnt: a few sweeps over each pair alone, nothing counted.

Legend as in `_gibbs_kernels`; here a cell holds the probability of its translation, looked up once for all sweeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from interlace.aligners._gibbs_cells import key_of, slot_of
from interlace.aligners._gibbs_kernels import FERTILITY, JUMPS, NONE, WORDS, below_one, draw, followers, next_random

if TYPE_CHECKING:
    from numpy.typing import NDArray


BURN, KEEP = 4, 8  # sweeps before posteriors count, and those that do


class Known(NamedTuple):
    """What was learnt, as pairs need it.

    keys, links: an open-addressing table from type pairs to their links, prior included. words: links of each drawn
    type. alone: probability by type of having no partner. unseen: links of a pair that is not in the table. single:
    links of a drawn type that is not known. stranger: probability of an unknown word without a partner.
    """

    keys: NDArray[np.uint64]
    links: NDArray[np.float32]
    words: NDArray[np.float32]
    alone: NDArray[np.float32]
    unseen: float
    single: float
    stranger: float


@njit(cache=True, nogil=True)
def _look_up(by: Any, to: Any, keys: Any, links: Any, words: Any, unseen: float, single: float, cells: Any) -> None:
    """Probabilities of translation of all cells of a pair."""
    cell = 0
    for j in range(len(to)):
        for i in range(len(by)):
            seen, all_seen = np.float32(unseen), np.float32(single)
            if by[i] >= 0:
                all_seen = words[by[i]]
                if to[j] >= 0:
                    slot = slot_of(keys, key_of(by[i], to[j]))
                    if keys[slot] != np.uint64(0):
                        seen = links[slot]
            cells[cell] = seen / all_seen
            cell += 1


@njit(cache=True, nogil=True)
def _ratio(fertility: Any, kind: int, links: int, model: int) -> np.float32:
    """How much likelier one link more is; 1 for unknown types and where fertility does not count."""
    if model != FERTILITY or kind < 0:
        return np.float32(1)
    ratio: np.float32 = fertility[kind, min(links, fertility.shape[1] - 1)]
    return ratio


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _weigh(
    weight: Any, score: Any, cells: Any, ahead: Any, back: Any, first: int, many: int, jumps: tuple[int, int]
) -> np.float32:
    """Weights of all candidates, and their sum; jumps: where those of the first candidate stand, or below 0."""
    total = np.float32(0)
    start, to, away = np.uint64(first), np.uint64(jumps[0]), np.uint64(jumps[1])
    for i in range(np.uint64(many)):
        now = cells[start + i] * score[i]
        if jumps[0] >= 0:
            now *= ahead[to + i] * back[away + i]
        weight[i] = now
        total += now
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(
    by: Any, to: Any, cells: Any, out: Any, chosen: Any, weight: Any, score: Any, links: Any, following: Any,
    alone: Any, fertility: Any, ahead: Any, back: Any, odds: np.float32, stranger: np.float32, model: int,
    share: np.float32, state: np.uint64,
) -> np.uint64:  # fmt: skip
    """Draw every word of a pair anew; `share` of each probability is added to `out`."""
    many, before, middle = len(by), -1, len(ahead) // 2
    followers(chosen, links, following, 0, len(to), many)
    for i in range(many):
        score[i] = _ratio(fertility, by[i], links[i], model)
    for j in range(len(to)):
        old, after = chosen[j], following[j]
        if old != NONE:
            links[old] -= 1
            score[old] = _ratio(fertility, by[old], links[old], model)
        none = odds * (alone[to[j]] if to[j] >= 0 else stranger)
        if model == WORDS:
            total = _weigh(weight, score, cells, ahead, back, j * many, many, (-1, -1))
            none *= np.float32(many)
        else:
            total = _weigh(weight, score, cells, ahead, back, j * many, many, (middle - before, middle - after))
            none *= ahead[middle + after - before]
        full = total + none
        if share:
            for i in range(many):
                out[j * many + i] += weight[i] / full * share
        state = next_random(state)
        new = draw(weight, many, total, below_one(state) * full)
        chosen[j] = new
        if new != NONE:
            links[new] += 1
            score[new] = _ratio(fertility, by[new], links[new], model)
            before = new
    return state


@njit(cache=True, nogil=True)
def _seed(by: Any, to: Any, seed: np.uint64) -> np.uint64:
    """A state that depends on the pair's words alone, so that it is linked alike wherever it stands."""
    state = seed | np.uint64(1)
    for kind in by:
        state = (state ^ np.uint64(kind + 2)) * np.uint64(0x100000001B3)
    for kind in to:
        state = (state ^ np.uint64(kind + 2)) * np.uint64(0x100000001B3)
    return state | np.uint64(1)


@njit(cache=True, nogil=True)
def link(text: Any, rows: Any, known: Any, tables: Any, seed: np.uint64, posterior: Any, share: float) -> None:
    """Add `share` of the probabilities of all cells of rows[0] to rows[1] to `posterior`.

    The first sweep knows only translations, the second places too, the others fertility too; the last KEEP of them are
    averaged.
    """
    all_by, by_starts, all_to, to_starts, _, cell_starts, _ = text
    keys, seen, words, alone, unseen, single, stranger = known
    ahead, back, size, fertility, null, _ = tables
    weight, score = np.empty(size, np.float32), np.empty(size, np.float32)
    links, following, chosen = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    cells = np.empty(0, np.float32)
    for row in range(rows[0], rows[1]):
        by, to = all_by[by_starts[row] : by_starts[row + 1]], all_to[to_starts[row] : to_starts[row + 1]]
        if len(by) == 0 or len(to) == 0:
            continue
        if len(cells) < len(by) * len(to):
            cells = np.empty(len(by) * len(to), np.float32)
        _look_up(by, to, keys, seen, words, unseen, single, cells)
        chosen[: len(to)] = NONE
        out = posterior[cell_starts[row] : cell_starts[row + 1]]
        state = _seed(by, to, seed)
        for number in range(BURN + KEEP):
            model = WORDS if number == 0 else (JUMPS if number == 1 else FERTILITY)
            state = _sweep(
                by, to, cells, out, chosen, weight, score, links, following, alone, fertility, ahead, back,
                np.float32(null), np.float32(stranger), model,
                np.float32(share / KEEP if number >= BURN else 0.0), state,
            )  # fmt: skip
