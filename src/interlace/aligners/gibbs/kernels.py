"""Numba kernels of `gibbs`: numbering pairs of word types, sampling, posteriors of new pairs.

Legend: in one direction each of the J words of one side of a pair (`to`) draws one of the I words of the other (`by`)
or none. A cell is a word `j` with a candidate `i`; the cells of a pair are stored row by row:
`cells[first + j * I + i]` holds the number of the pair of word types. Counts are integers in units of the Dirichlet
prior: one link is `UNIT` of them, so a type pair without links counts 1.

The weight of candidate i for word j, with the counts of all links but that of j, is

    pairs[i, j] / words[i]  *  ahead[i - before] * back[i - after]  *  fertility[i, links of i]
    translation                jumps                                   (Östling and Tiedemann 2016, section 3)

and that of no partner is odds * alone[j] / all alone * ahead[after - before], where `before` and `after` are the
partners of the aligned words before and after j. Example: UNIT = 10, the candidates a (12 units in its type's links, 11
of them with j) and b (12, 1): translations 11/12 and 1/12. Evidence from outside the text is a further factor of each
cell.

All kernels release the GIL and are cached on disk. Inner loops take arrays one by one: taking one out of a tuple counts
a reference, which costs more than a cell.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.alignment.pair_numbers import PairTable, add, number_of, with_room
from interlace.core.kernels import compiled, compiler, inner
from interlace.core.ragged import AnyArray, FloatArray, Int32Array, IntArray

Types = Int32Array
Offsets = IntArray
Numbers = NDArray[np.uint32]
Floats = FloatArray

WORDS, JUMPS, FERTILITY = 1, 2, 3  # models: translation; also jumps; also fertility
NONE = -1
BURN, KEEP = 4, 8  # sweeps over a new pair: without and with counted posteriors
UNIT = 1000  # one over the Dirichlet prior of a word translation, in links
ALPHA = 1 / UNIT

# loops in which a division by 0 gives infinity; the fast ones may also add in another order
_outer_loop = compiler(error_model="numpy")
_inner_loop = compiler(no_cpython_wrapper=True, error_model="numpy")
_fast_loop = compiler(no_cpython_wrapper=True, fastmath=True, error_model="numpy")


class Words(NamedTuple):
    """A text in one direction: types of both sides with the offsets of rows, and the numbers of type pairs by cell.

    twins: by word of `by`, the position of the next word of its type in the pair, cyclically.
    evidence: factors by cell; empty: all 1.
    """

    by: Types
    by_starts: Offsets
    to: Types
    to_starts: Offsets
    cells: Numbers
    cell_starts: Offsets
    twins: Types
    evidence: Floats


class SamplerCounts(NamedTuple):
    """Current links: by type pair, by type of `by`, by type of `to` without partner, and the sum of the latter."""

    pairs: NDArray[np.int32 | np.int64]
    words: Offsets
    alone: Offsets
    all_alone: Offsets


class Tables(NamedTuple):
    """Probabilities that are constant during a sweep.

    ahead[middle + d]: of a jump by d words. back: the same in reverse. fertility[type, n]: ratio of the probabilities
    of n + 1 and n links. odds: of no partner. model: WORDS, JUMPS or FERTILITY.
    """

    ahead: Floats
    back: Floats
    middle: int
    fertility: Floats
    odds: float
    model: int


class Tally(NamedTuple):
    """Counts of a sweep: jumps by width, types by number of links, and (if `keep`) posteriors summed by cell."""

    jumps: Offsets
    fertility: Types
    posterior: Floats
    keep: bool


class Known(NamedTuple):
    """The parameters of a trained sampler for new pairs.

    table, links: pairs of types, and the links of each by its number, prior included; those of number 0 are of all
    others. words: links of each drawn type. alone: probability by type of having no partner. unknown_links: links of an
    unknown drawn type. unknown_alone: probability of an unknown word without a partner.
    """

    table: PairTable
    links: Floats
    words: Floats
    alone: Floats
    unknown_links: float
    unknown_alone: float


class Buffers(NamedTuple):
    """Memory for one pair: by candidate weights, scores and links; by word the following partner and its own."""

    weight: Floats
    score: Floats
    links: Types
    following: Types
    chosen: Types


# ---- cells and pairs of types ----


@compiled
def number_cells(table: PairTable, text: Words) -> PairTable:
    """Number the type pairs of all cells, from 0, in the order of occurrence, which keeps neighbors close in memory.

    Returns the table, enlarged if needed.
    """
    by, by_starts, to, to_starts, cells, cell_starts, _, _ = text
    cell = 0
    for row in range(len(by_starts) - 1):
        table = with_room(table, cell_starts[row + 1] - cell_starts[row])
        slots, keys, used = table
        for j in range(to_starts[row], to_starts[row + 1]):
            for i in range(by_starts[row], by_starts[row + 1]):
                cells[cell] = add(slots, keys, used, by[i], to[j]) - 1
                cell += 1
    return table


@compiled
def twins(types: Types, starts: Offsets, latest: Offsets, following: Types) -> None:
    """Fill in, by word, the position in its row of the next word of the same type, cyclically.

    latest: -1 by type.
    """
    for row in range(len(starts) - 1):
        for word in range(starts[row], starts[row + 1]):
            kind = types[word]
            before = latest[kind]
            following[word] = word - starts[row]
            if before >= starts[row]:
                following[word], following[before] = following[before], following[word]
            latest[kind] = word


@compiled
def transpose(
    by_starts: Offsets,
    to_starts: Offsets,
    cell_starts: Offsets,
    cells: AnyArray,
    out: AnyArray,
) -> None:
    """Transpose the cells of each pair: from rows by word of `to` to rows by word of `by`."""
    for row in range(len(by_starts) - 1):
        columns = by_starts[row + 1] - by_starts[row]
        rows = to_starts[row + 1] - to_starts[row]
        first = cell_starts[row]
        for j in range(rows):
            for i in range(columns):
                out[first + i * rows + j] = cells[first + j * columns + i]


# ---- sampling ----


@compiled
def count_links(text: Words, chosen: Types, pairs: Offsets, alone: Offsets) -> None:
    """Add the links of a text, by word of `to` as in `sweep`, to counts by type pair and by type without partner."""
    _, by_starts, to, to_starts, cells, cell_starts, _, _ = text
    for row in range(len(by_starts) - 1):
        cell = cell_starts[row]
        many = by_starts[row + 1] - by_starts[row]
        for word in range(to_starts[row], to_starts[row + 1]):
            partner = chosen[word]
            if partner == NONE:
                alone[to[word]] += UNIT
            else:
                pair = cells[cell + partner]
                pairs[pair] += UNIT
            cell += many


@inner
def _fertility_ratio(fertility: Floats, kind: int, links: int, model: int) -> np.float32:
    """Return the fertility ratio of one more link; 1 for unknown types and models without fertility."""
    if model != FERTILITY or kind < 0:
        return np.float32(1)
    return fertility[kind, min(links, fertility.shape[1] - 1)]


@_inner_loop
def _score(words: Offsets, fertility: Floats, kind: int, links: int, model: int) -> np.float32:
    """Return the factor of a candidate that does not depend on the drawing word: fertility ratio / count."""
    score = np.float32(1) / np.float32(words[kind])
    return score * _fertility_ratio(fertility, kind, links, model)


@_inner_loop
def _change_link(
    words: Offsets, links: Types, score: Floats, kinds: Types, twins: Types, partner: int, change: int,
    fertility: Floats, model: int,
) -> None:  # fmt: skip
    """Add a link to a candidate (`change` 1) or remove one (-1), and score all words of its type again.

    kinds, twins: of the words of `by` in the pair.
    """
    kind = kinds[partner]
    words[kind] += change * UNIT
    links[partner] += change
    twin = partner
    while True:
        score[twin] = _score(words, fertility, kind, links[twin], model)
        twin = twins[twin]
        if twin == partner:
            break


@_fast_loop
def _weigh_words(
    weight: Any, score: Any, pairs: Any, cells: Any, first: int, many: int
) -> np.float32:
    """Weigh all candidates by translation; return the sum. Unsigned indices let the compiler drop checks."""
    total = np.float32(0)
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        now = np.float32(pairs[cells[start + i]]) * score[i]
        weight[i] = now
        total += now
    return total


@_fast_loop
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


@_fast_loop
def _weigh_evidence(
    weight: Any, evidence: Any, first: int, many: int, total: np.float32
) -> np.float32:
    """Multiply the weights of all candidates by their evidence, if there is any; return the sum."""
    if not len(evidence):
        return total
    total = np.float32(0)
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        now = weight[i] * evidence[start + i]
        weight[i] = now
        total += now
    return total


@_fast_loop
def _keep(weight: Any, posterior: Any, first: int, many: int, share: np.float32) -> None:
    """Add the probabilities of all candidates to their cells."""
    start = np.uint64(first)
    for i in range(np.uint64(many)):
        posterior[start + i] += weight[i] * share


@inner
def next_random(state: np.uint64) -> np.uint64:
    """Return the state of a xorshift generator after one draw (Marsaglia 2003)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@inner
def below_one(state: np.uint64) -> np.float32:
    """Return a number in [0, 1) from the upper bits of a state."""
    return np.float32(state >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@inner
def draw(weight: Floats, many: int, total: np.float32, point: np.float32) -> int:
    """Return the candidate at a point of the cumulative weights, NONE beyond their sum."""
    if point >= total:
        return NONE
    i = 0
    reached = weight[0]
    while reached <= point and i < many - 1:
        i += 1
        reached += weight[i]
    return i


@inner
def followers(
    chosen: Types, links: Types, following: Types, begin: int, end: int, many: int
) -> None:
    """Fill in the partner of the next aligned word after each word (`many` at the end), and the links of candidates."""
    links[:many] = 0
    after = many
    for word in range(end - 1, begin - 1, -1):
        following[word - begin] = after
        if chosen[word] != NONE:
            after = chosen[word]
            links[after] += 1


@_outer_loop
def sweep(  # noqa: PLR0915 - a function for a word would take 20 arrays
    text: Words, chosen: Types, counts: SamplerCounts, tables: Tables, tally: Tally, state: Any
) -> Any:
    """Draw the partner of every word of a text once, given all others; return the generator's state.

    chosen: by word of `to`, its partner's position in the pair or NONE; updated in place, as are counts and tally.
    """
    by, by_starts, to, to_starts, cells, cell_starts, all_twins, evidence = text
    pairs, words, alone, all_alone = counts
    ahead, back, middle, fertility, all_odds, model = tables
    jumps, fertilities, posterior, keep = tally
    odds = np.float32(all_odds)
    types = np.float32(len(alone))
    most_links = fertilities.shape[1] - 1
    weight = np.empty(middle, np.float32)
    score = np.empty(middle, np.float32)
    links = np.empty(middle, np.int32)
    following = np.empty(middle, np.int32)
    for row in range(len(by_starts) - 1):
        kinds = by[by_starts[row] : by_starts[row + 1]]
        twins = all_twins[by_starts[row] : by_starts[row + 1]]
        many = len(kinds)
        begin = to_starts[row]
        end = to_starts[row + 1]
        if many == 0 or begin == end:
            continue
        followers(chosen, links, following, begin, end, many)
        for i in range(many):
            score[i] = _score(words, fertility, kinds[i], links[i], model)
        before = -1
        cell = cell_starts[row]
        for word in range(begin, end):
            # remove the word's link
            drawing = to[word]
            partner = chosen[word]
            if partner == NONE:
                alone[drawing] -= UNIT
                all_alone[0] -= UNIT
            else:
                pair = cells[cell + partner]
                pairs[pair] -= UNIT
                _change_link(words, links, score, kinds, twins, partner, -1, fertility, model)
            # weigh all partners
            none = odds * np.float32(alone[drawing] + 1) / (np.float32(all_alone[0]) + types)
            if model == WORDS:
                total = _weigh_words(weight, score, pairs, cells, cell, many)
                none *= np.float32(many)
            else:
                after = following[word - begin]
                widths = (middle - before, middle - after)
                total = _weigh_places(
                    weight, score, pairs, cells, ahead, back, cell, many, widths
                )
                none *= ahead[middle + after - before]
            total = _weigh_evidence(weight, evidence, cell, many, total)
            full = total + none
            if keep:
                _keep(weight, posterior, cell, many, np.float32(1) / full)
            # draw one, and add its link
            state = next_random(state)
            partner = draw(weight, many, total, below_one(state) * full)
            chosen[word] = partner
            if partner == NONE:
                alone[drawing] += UNIT
                all_alone[0] += UNIT
            else:
                pair = cells[cell + partner]
                pairs[pair] += UNIT
                _change_link(words, links, score, kinds, twins, partner, 1, fertility, model)
                width = middle + partner - before
                jumps[width] += 1
                before = partner
            cell += many
        last_width = middle + many - before
        jumps[last_width] += 1
        for i in range(many):
            drawn = kinds[i]
            count = min(links[i], most_links)
            fertilities[drawn, count] += 1
    return state


# ---- new pairs ----


@inner
def _look_up(by: Types, to: Types, known: Known, cells: Floats) -> None:
    """Fill in the translation probabilities of all cells of a pair; -1 is an unknown word."""
    slots, keys, _ = known.table
    all_links = known.links
    all_word_links = known.words
    cell = 0
    for drawing in to:
        for drawn in by:
            links = all_links[0]
            word_links = np.float32(known.unknown_links)
            if drawn >= 0:
                word_links = all_word_links[drawn]
                if drawing >= 0:
                    pair = number_of(slots, keys, drawn, drawing)
                    links = all_links[pair]
            cells[cell] = links / word_links
            cell += 1


@_inner_loop
def _weigh_jumps(weight: Any, ahead: Any, back: Any, many: int, to: int, away: int) -> None:
    """Multiply weights by the jumps to and from each candidate; to, away: indices of those of the first candidate."""
    jump_to = np.uint64(to)  # unsigned indices let the compiler drop checks
    jump_away = np.uint64(away)
    for i in range(np.uint64(many)):
        weight[i] *= ahead[jump_to + i] * back[jump_away + i]


@_fast_loop
def _sum(weight: Any, many: int) -> np.float32:
    """Return the sum of the weights.

    A loop of its own, because the order of additions in a loop that also writes depends on where its arrays are.
    """
    total = np.float32(0)
    for i in range(np.uint64(many)):
        total += weight[i]
    return total


@_inner_loop
def _sweep_new(
    by: Types, to: Types, cells: Floats, known: Known, tables: Tables, model: int, buffers: Buffers, out: Floats,
    share: np.float32, state: np.uint64,
) -> np.uint64:  # fmt: skip
    """Draw the partner of every word of a new pair once; add `share` of each probability to `out`."""
    weight, score, links, following, chosen = buffers
    ahead, back, middle, fertility, all_odds, _ = tables
    alone = known.alone
    odds = np.float32(all_odds)
    many = len(by)
    before = -1
    followers(chosen, links, following, 0, len(to), many)
    for i in range(many):
        score[i] = _fertility_ratio(fertility, by[i], links[i], model)
    for j in range(len(to)):
        # remove the word's link
        partner = chosen[j]
        if partner != NONE:
            links[partner] -= 1
            score[partner] = _fertility_ratio(fertility, by[partner], links[partner], model)
        # weigh all partners
        drawing = to[j]
        none = odds * np.float32(known.unknown_alone)
        if drawing >= 0:
            none = odds * alone[drawing]
        cell = np.uint64(j * many)
        for i in range(np.uint64(many)):
            weight[i] = cells[cell + i] * score[i]
        if model == WORDS:
            none *= np.float32(many)
        else:
            after = following[j]
            _weigh_jumps(weight, ahead, back, many, middle - before, middle - after)
            none *= ahead[middle + after - before]
        total = _sum(weight, many)
        full = total + none
        if share:
            for i in range(np.uint64(many)):
                out[cell + i] += weight[i] / full * share
        # draw one, and add its link
        state = next_random(state)
        partner = draw(weight, many, total, below_one(state) * full)
        chosen[j] = partner
        if partner != NONE:
            links[partner] += 1
            score[partner] = _fertility_ratio(fertility, by[partner], links[partner], model)
            before = partner
    return state


@inner
def _seed(by: Types, to: Types, seed: np.uint64) -> np.uint64:
    """Return a state that depends on the pair's words only, so that its alignment does not depend on its position."""
    state = seed | np.uint64(1)
    for kind in by:
        state = (state ^ np.uint64(kind + 2)) * np.uint64(0x100000001B3)
    for kind in to:
        state = (state ^ np.uint64(kind + 2)) * np.uint64(0x100000001B3)
    return state | np.uint64(1)


@compiled
def add_posteriors(
    text: Words,
    known: Known,
    tables: Tables,
    rows: tuple[int, int],
    seed: np.uint64,
    posterior: Floats,
    share: float,
) -> None:
    """Add `share` of the posteriors of all cells of rows[0] to rows[1] to `posterior`.

    The first sweep uses translations, the second also jumps, the others also fertility; the last KEEP are averaged.
    Cells hold translation probabilities, looked up once for all sweeps; nothing is counted.
    """
    words = tables.middle
    buffers = Buffers(  # in place: a function that returns them makes the loops slower
        np.empty(words, np.float32),
        np.empty(words, np.float32),
        np.empty(words, np.int32),
        np.empty(words, np.int32),
        np.empty(words, np.int32),
    )
    cells = np.empty(0, np.float32)
    for row in range(rows[0], rows[1]):
        first_cell = text.cell_starts[row]
        last_cell = text.cell_starts[row + 1]
        size = last_cell - first_cell
        if size == 0:
            continue
        if len(cells) < size:
            cells = np.empty(size, np.float32)
        by = text.by[text.by_starts[row] : text.by_starts[row + 1]]
        to = text.to[text.to_starts[row] : text.to_starts[row + 1]]
        _look_up(by, to, known, cells)
        if len(text.evidence):
            cells[:size] *= text.evidence[first_cell:last_cell]
        buffers.chosen[: len(to)] = NONE
        out = posterior[first_cell:last_cell]
        state = _seed(by, to, seed)
        for number in range(BURN + KEEP):
            model = min(WORDS + number, FERTILITY)
            kept_share = np.float32(share / KEEP) if number >= BURN else np.float32(0)
            state = _sweep_new(
                by, to, cells, known, tables, model, buffers, out, kept_share, state
            )


# ---- links from posteriors ----


@compiled
def most_probable(
    by_starts: Offsets,
    to_starts: Offsets,
    cell_starts: Offsets,
    posterior: Floats,
    chosen: Types,
) -> None:
    """Fill in the candidate with the highest posterior by word of `to`, NONE if no partner is more probable.

    Posteriors .5 .3 give candidate 0, because no partner has .2; .2 .3 give NONE.
    """
    for row in range(len(by_starts) - 1):
        many = by_starts[row + 1] - by_starts[row]
        cell = cell_starts[row]
        for word in range(to_starts[row], to_starts[row + 1]):
            best = NONE
            highest = np.float32(0)
            none = np.float32(1)
            for i in range(many):
                probability = posterior[cell + i]
                none -= probability
                if best == NONE or probability > highest:
                    best = i
                    highest = probability
            if highest <= none:
                best = NONE
            chosen[word] = best
            cell += many
