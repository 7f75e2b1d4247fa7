"""Numba kernels of `gibbs`: numbering pairs of word types, sampling, posteriors of new pairs, links from posteriors.

Kernels take arrays one by one: taking one out of a tuple counts a reference, which costs more than a cell.

Legend: in one direction each of the J words of one side of a pair (`to`) draws one of the I words of the other (`by`)
or none. A cell is a word `j` with a candidate `i`; the cells of a pair are stored row by row:
`cells[first + j * I + i]` holds the number of the pair of word types. Counts are integers in units of the Dirichlet
prior: one link is `unit` of them, so a type pair without links counts 1.

All kernels release the GIL and are cached on disk.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Types = NDArray[np.int32]
Offsets = NDArray[np.int64]
Keys = NDArray[np.uint64]
Numbers = NDArray[np.uint32]
Floats = NDArray[np.float32]

WORDS, JUMPS, FERTILITY = 1, 2, 3  # models: translation; also jumps; also fertility
NONE = -1
BURN, KEEP = 4, 8  # sweeps over a new pair: without and with counted posteriors


class Words(NamedTuple):
    """A text in one direction: types of both sides with the offsets of rows, and the numbers of type pairs by cell.

    twins: by word of `by`, the position of the next word of its type in the pair, cyclically.
    """

    by: Types
    by_starts: Offsets
    to: Types
    to_starts: Offsets
    cells: Numbers
    cell_starts: Offsets
    twins: Types


class SamplerCounts(NamedTuple):
    """Current links: by type pair, by type of `by`, by type of `to` without partner, and the sum of the latter."""

    pairs: NDArray[np.int32 | np.int64]
    words: Offsets
    alone: Offsets
    all_alone: Offsets
    unit: int


class Tables(NamedTuple):
    """Probabilities that are constant during a sweep.

    ahead[middle + d]: of a jump by d words. back: the same in reverse. fertility[type, n]: ratio of the probabilities
    of n + 1 and n links. null: odds of no partner. model: WORDS, JUMPS or FERTILITY.
    """

    ahead: Floats
    back: Floats
    middle: int
    fertility: Floats
    null: float
    model: int


class Found(NamedTuple):
    """Counts of a sweep: jumps by width, types by number of links, and (if `keep`) posteriors summed by cell."""

    jumps: Offsets
    fertility: Types
    posterior: Floats
    keep: bool


class Known(NamedTuple):
    """The parameters of a trained sampler for new pairs.

    keys, links: an open-addressing table from type pairs to their links, prior included. words: links of each drawn
    type. alone: probability by type of having no partner. unseen: links of a pair that is not in the table.
    unknown_links: links of an unknown drawn type. unknown_alone: probability of an unknown word without a partner.
    """

    keys: Keys
    links: Floats
    words: Floats
    alone: Floats
    unseen: float
    unknown_links: float
    unknown_alone: float


class Posteriors(NamedTuple):
    """Posterior probabilities of each cell of a text: of target words drawing, and of source words drawing.

    source_starts, target_starts: (n + 1,) the first word of each pair; cell_starts: its first cell.
    by_target: (cells,) rows by target word; by_source: (cells,) rows by source word.
    """

    source_starts: Offsets
    target_starts: Offsets
    cell_starts: Offsets
    by_target: Floats
    by_source: Floats


# ---- cells and pairs of types ----


@njit(cache=True, nogil=True)
def key_of(by: int, to: int) -> np.uint64:
    """Return a pair of types as one integer other than 0, which marks an empty slot."""
    return ((np.uint64(by) << np.uint64(32)) | np.uint64(to)) + np.uint64(1)


@njit(cache=True, nogil=True)
def slot_of(keys: Keys, key: np.uint64) -> np.uint64:
    """Return the slot of a key in an open-addressing table whose size is a power of two, or the empty slot for it."""
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    most = np.uint64(len(keys) - 1)
    slot = mixed & most
    while keys[slot] != np.uint64(0) and keys[slot] != key:
        slot = (slot + np.uint64(1)) & most
    return slot


@njit(cache=True, nogil=True)
def widened(keys: Keys, numbers: Numbers) -> tuple[Keys, Numbers]:
    """Return the same table with twice the size."""
    wider, moved = np.zeros(2 * len(keys), np.uint64), np.zeros(2 * len(keys), np.uint32)
    for old in range(len(keys)):
        if keys[old] != np.uint64(0):
            slot = slot_of(wider, keys[old])
            wider[slot], moved[slot] = keys[old], numbers[old]
    return wider, moved


@njit(cache=True, nogil=True)
def number_pairs(
    by: Types,
    by_starts: Offsets,
    to: Types,
    to_starts: Offsets,
    cells: Numbers,
    keys: Keys,
    numbers: Numbers,
    known: int,
) -> tuple[Keys, Numbers, int]:
    """Number the type pairs of all cells in the order of occurrence, which keeps neighbors close in memory.

    known: number of pairs so far. Returns the table, enlarged if needed, and the new number of pairs.
    """
    cell = 0
    for row in range(len(by_starts) - 1):
        for j in range(to_starts[row], to_starts[row + 1]):
            while 2 * (known + by_starts[row + 1] - by_starts[row]) > len(keys):
                keys, numbers = widened(keys, numbers)
            for i in range(by_starts[row], by_starts[row + 1]):
                key = key_of(by[i], to[j])
                slot = slot_of(keys, key)
                if keys[slot] == np.uint64(0):
                    keys[slot], numbers[slot] = key, known
                    known += 1
                cells[cell] = numbers[slot]
                cell += 1
    return keys, numbers, known


@njit(cache=True, nogil=True)
def twins(types: Types, starts: Offsets, many: int) -> Types:
    """(words,) the position in its row of the next word of the same type, cyclically; many: number of types."""
    following = np.empty(len(types), np.int32)
    latest = np.full(many, -1, np.int64)
    for row in range(len(starts) - 1):
        for word in range(starts[row], starts[row + 1]):
            before = latest[types[word]]
            following[word] = word - starts[row]
            if before >= starts[row]:
                following[word], following[before] = following[before], following[word]
            latest[types[word]] = word
    return following


@njit(cache=True, nogil=True)
def transpose(
    by_starts: Offsets, to_starts: Offsets, cell_starts: Offsets, cells: NDArray[Any], out: NDArray[Any]
) -> None:
    """Transpose the cells of each pair: from rows by word of `to` to rows by word of `by`."""
    for row in range(len(by_starts) - 1):
        many, rows = by_starts[row + 1] - by_starts[row], to_starts[row + 1] - to_starts[row]
        first = cell_starts[row]
        for j in range(rows):
            for i in range(many):
                out[first + i * rows + j] = cells[first + j * many + i]


# ---- sampling ----


@njit(cache=True, nogil=True, error_model="numpy")
def _score(words: Any, fertility: Any, kind: int, links: int, model: int) -> np.float32:
    """Return the factor of a candidate that does not depend on the drawing word: fertility ratio / count."""
    score = np.float32(1) / np.float32(words[kind])
    if model == FERTILITY:
        score *= fertility[kind, min(links, fertility.shape[1] - 1)]
    return score


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _weigh_words(weight: Any, score: Any, pairs: Any, cells: Any, first: int, many: int) -> np.float32:
    """Weigh all candidates by translation; return the sum. Unsigned indices let the compiler drop checks."""
    total = np.float32(0)
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        now = np.float32(pairs[cells[start + i]]) * score[i]
        weight[i] = now
        total += now
    return total


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _weigh_places(
    weight: Any, score: Any, pairs: Any, cells: Any, ahead: Any, back: Any, first: int, many: int,
    jumps: tuple[int, int],
) -> np.float32:  # fmt: skip
    """Weigh all candidates by translation and by the jumps to and from them; return the sum.

    jumps: the indices of the jumps to and from the first candidate in their tables.
    """
    total = np.float32(0)
    start, to, away = np.uint64(first), np.uint64(jumps[0]), np.uint64(jumps[1])
    for i in range(np.uint64(many)):
        now = np.float32(pairs[cells[start + i]]) * score[i] * ahead[to + i] * back[away + i]
        weight[i] = now
        total += now
    return total


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _keep(weight: Any, posterior: Any, first: int, many: int, share: np.float32) -> None:
    """Add the probabilities of all candidates to their cells."""
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        posterior[start + i] += weight[i] * share


@njit(cache=True, nogil=True)
def next_random(state: np.uint64) -> np.uint64:
    """Return the state of a xorshift generator after one draw (Marsaglia 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit(cache=True, nogil=True)
def below_one(state: np.uint64) -> np.float32:
    """Return a number in [0, 1) from the upper bits of a state."""
    return np.float32(state >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@njit(cache=True, nogil=True)
def draw(weight: Any, many: int, total: np.float32, point: np.float32) -> int:
    """Return the candidate at a point of the cumulative weights, NONE beyond their sum."""
    if point >= total:
        return NONE
    i, reached = 0, weight[0]
    while reached <= point and i < many - 1:
        i += 1
        reached += weight[i]
    return i


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep_pair(
    by: Any, to: Any, cells: Any, twins: Any, chosen: Any, pairs: Any, words: Any, alone: Any, all_alone: Any,
    unit: int, ahead: Any, back: Any, fertility: Any, jumps: Any, posterior: Any, weight: Any, score: Any, links: Any,
    following: Any, place: tuple[int, int, int, int, int], odds: np.float32, model: int, keep: bool, state: np.uint64,
) -> np.uint64:  # fmt: skip
    """Draw the partner of every word of a pair once.

    place: its first word of `by`, their number, its first word of `to`, their end, and its first cell.
    """
    first, many, begin, end, cell = place
    middle, before, types = len(ahead) // 2, -1, np.float32(len(alone))
    for word in range(begin, end):
        old, other, after = chosen[word], to[word], following[word - begin]
        if old == NONE:
            alone[other] -= unit
            all_alone[0] -= unit
        else:
            kind = by[first + old]
            pairs[cells[cell + old]] -= unit
            words[kind] -= unit
            links[old] -= 1
            score[old], twin = _score(words, fertility, kind, links[old], model), twins[first + old]
            while twin != old:
                score[twin], twin = _score(words, fertility, kind, links[twin], model), twins[first + twin]
        none = odds * np.float32(alone[other] + 1) / (np.float32(all_alone[0]) + types)
        if model == WORDS:
            total = _weigh_words(weight, score, pairs, cells, cell, many)
            none *= np.float32(many)
        else:
            places = (middle - before, middle - after)
            total = _weigh_places(weight, score, pairs, cells, ahead, back, cell, many, places)
            none *= ahead[middle + after - before]
        full = total + none
        if keep:
            _keep(weight, posterior, cell, many, np.float32(1) / full)
        state = next_random(state)
        new = draw(weight, many, total, below_one(state) * full)
        chosen[word] = new
        if new == NONE:
            alone[other] += unit
            all_alone[0] += unit
        else:
            kind = by[first + new]
            pairs[cells[cell + new]] += unit
            words[kind] += unit
            links[new] += 1
            score[new], twin = _score(words, fertility, kind, links[new], model), twins[first + new]
            while twin != new:
                score[twin], twin = _score(words, fertility, kind, links[twin], model), twins[first + twin]
            jumps[middle + new - before] += 1
            before = new
        cell += many
    jumps[middle + many - before] += 1
    return state


@njit(cache=True, nogil=True)
def followers(chosen: Any, links: Any, following: Any, begin: int, end: int, many: int) -> None:
    """Fill in the partner of the next aligned word after each word (`many` at the end), and the links of candidates."""
    links[:many] = 0
    after = many
    for word in range(end - 1, begin - 1, -1):
        following[word - begin] = after
        if chosen[word] != NONE:
            after = chosen[word]
            links[after] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(text: Any, chosen: Any, counts: Any, tables: Any, found: Any, state: np.uint64) -> np.uint64:
    """Draw the partner of every word of a text once, given all others; return the generator's state.

    chosen: by word of `to`, its partner's position in the pair or NONE; updated in place, as are counts and found.
    """
    by, by_starts, to, to_starts, cells, cell_starts, twins = text
    pairs, words, alone, all_alone, unit = counts
    ahead, back, middle, fertility, null, model = tables
    jumps, fertilities, posterior, keep = found
    odds, most = np.float32(null), fertilities.shape[1] - 1
    weight, score = np.empty(middle, np.float32), np.empty(middle, np.float32)
    links, following = np.empty(middle, np.int32), np.empty(middle, np.int32)
    for row in range(len(by_starts) - 1):
        first, many = by_starts[row], by_starts[row + 1] - by_starts[row]
        begin, end = to_starts[row], to_starts[row + 1]
        if many == 0 or begin == end:
            continue
        followers(chosen, links, following, begin, end, many)
        for i in range(many):
            score[i] = _score(words, fertility, by[first + i], links[i], model)
        state = _sweep_pair(
            by, to, cells, twins, chosen, pairs, words, alone, all_alone, unit,
            ahead, back, fertility, jumps, posterior, weight, score, links,
            following, (first, many, begin, end, cell_starts[row]), odds, model, keep, state,
        )  # fmt: skip
        for i in range(many):
            fertilities[by[first + i], min(links[i], most)] += 1
    return state


# ---- new pairs ----


@njit(cache=True, nogil=True)
def _look_up(
    by: Any, to: Any, keys: Any, links: Any, words: Any, unseen: float, unknown_links: float, cells: Any
) -> None:
    """Fill in the translation probabilities of all cells of a pair."""
    cell = 0
    for j in range(len(to)):
        for i in range(len(by)):
            seen, all_seen = np.float32(unseen), np.float32(unknown_links)
            if by[i] >= 0:
                all_seen = words[by[i]]
                if to[j] >= 0:
                    slot = slot_of(keys, key_of(by[i], to[j]))
                    if keys[slot] != np.uint64(0):
                        seen = links[slot]
            cells[cell] = seen / all_seen
            cell += 1


@njit(cache=True, nogil=True)
def _fertility_ratio(fertility: Any, kind: int, links: int, model: int) -> np.float32:
    """Return the fertility ratio of one more link; 1 for unknown types and models without fertility."""
    if model != FERTILITY or kind < 0:
        return np.float32(1)
    ratio: np.float32 = fertility[kind, min(links, fertility.shape[1] - 1)]
    return ratio


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _weigh_cells(
    weight: Any, score: Any, cells: Any, ahead: Any, back: Any, first: int, many: int, jumps: tuple[int, int]
) -> np.float32:
    """Weigh all candidates; return the sum. jumps: indices of the first candidate's jumps, negative for none."""
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
def _sweep_new(
    by: Any, to: Any, cells: Any, out: Any, chosen: Any, weight: Any, score: Any, links: Any, following: Any,
    alone: Any, fertility: Any, ahead: Any, back: Any, odds: np.float32, unknown_alone: np.float32, model: int,
    share: np.float32, state: np.uint64,
) -> np.uint64:  # fmt: skip
    """Draw the partner of every word of a new pair once; add `share` of each probability to `out`."""
    many, before, middle = len(by), -1, len(ahead) // 2
    followers(chosen, links, following, 0, len(to), many)
    for i in range(many):
        score[i] = _fertility_ratio(fertility, by[i], links[i], model)
    for j in range(len(to)):
        old, after = chosen[j], following[j]
        if old != NONE:
            links[old] -= 1
            score[old] = _fertility_ratio(fertility, by[old], links[old], model)
        none = odds * (alone[to[j]] if to[j] >= 0 else unknown_alone)
        if model == WORDS:
            total = _weigh_cells(weight, score, cells, ahead, back, j * many, many, (-1, -1))
            none *= np.float32(many)
        else:
            total = _weigh_cells(weight, score, cells, ahead, back, j * many, many, (middle - before, middle - after))
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
            score[new] = _fertility_ratio(fertility, by[new], links[new], model)
            before = new
    return state


@njit(cache=True, nogil=True)
def _seed(by: Any, to: Any, seed: np.uint64) -> np.uint64:
    """Return a state that depends on the pair's words only, so that its alignment does not depend on its position."""
    state = seed | np.uint64(1)
    for kind in by:
        state = (state ^ np.uint64(kind + 2)) * np.uint64(0x100000001B3)
    for kind in to:
        state = (state ^ np.uint64(kind + 2)) * np.uint64(0x100000001B3)
    return state | np.uint64(1)


@njit(cache=True, nogil=True)
def add_posteriors(
    text: Any, rows: Any, known: Any, tables: Any, seed: np.uint64, posterior: Any, share: float
) -> None:
    """Add `share` of the posteriors of all cells of rows[0] to rows[1] to `posterior`.

    The first sweep uses translations, the second also jumps, the others also fertility; the last KEEP are averaged.
    Cells hold translation probabilities, looked up once for all sweeps; nothing is counted.
    """
    all_by, by_starts, all_to, to_starts, _, cell_starts, _ = text
    keys, seen, words, alone, unseen, unknown_links, unknown_alone = known
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
        _look_up(by, to, keys, seen, words, unseen, unknown_links, cells)
        chosen[: len(to)] = NONE
        out = posterior[cell_starts[row] : cell_starts[row + 1]]
        state = _seed(by, to, seed)
        for number in range(BURN + KEEP):
            model = WORDS if number == 0 else (JUMPS if number == 1 else FERTILITY)
            state = _sweep_new(
                by, to, cells, out, chosen, weight, score, links, following, alone, fertility, ahead, back,
                np.float32(null), np.float32(unknown_alone), model,
                np.float32(share / KEEP if number >= BURN else 0.0), state,
            )  # fmt: skip


# ---- links from posteriors ----


@njit(cache=True, nogil=True)
def above(posteriors: Any, threshold: float, links: Types, confidence: Floats, counts: Offsets) -> int:
    """Fill in the cells whose mean posterior reaches `threshold`, sorted, and their number per pair; return the total.

    links, confidence: arrays of that length, or of length 0 to only count.
    """
    source_starts, target_starts, cell_starts, by_target, by_source = posteriors
    written = 0
    for row in range(len(source_starts) - 1):
        m, n = source_starts[row + 1] - source_starts[row], target_starts[row + 1] - target_starts[row]
        first, before = cell_starts[row], written
        for i in range(m):
            for j in range(n):
                mean = np.float32(0.5) * (by_target[first + j * m + i] + by_source[first + i * n + j])
                if mean >= np.float32(threshold):
                    if len(links):
                        links[written, 0], links[written, 1] = i, j
                        confidence[written] = min(mean, np.float32(1))
                    written += 1
        counts[row] = written - before
    return written


@njit(cache=True, nogil=True)
def most_probable(
    by_starts: Offsets, to_starts: Offsets, cell_starts: Offsets, posterior: Floats, chosen: Types
) -> None:
    """Fill in the candidate with the highest posterior by word of `to`, -1 if no partner is more probable."""
    for row in range(len(by_starts) - 1):
        many = by_starts[row + 1] - by_starts[row]
        cell = cell_starts[row]
        for word in range(to_starts[row], to_starts[row + 1]):
            best, none = -1, np.float32(1)
            for i in range(many):
                none -= posterior[cell + i]
                if best < 0 or posterior[cell + i] > posterior[cell + best]:
                    best = i
            chosen[word] = best if best >= 0 and posterior[cell + best] > none else -1
            cell += many
