"""Compiled loops (numba) over characters, words and dependency trees; the arrays to fill come last.

Legend: W words of all lines, L lines. `heads` (W,) are places in the line, -1 for a root; `offsets` (L + 1,) is the
first word of each line.
"""

from typing import Any

import numpy as np

from interlace.core.kernels import compiled, inner
from interlace.core.ragged import Int32Array
from interlace.derived.common.arrays import Bits, Bytes, Codes, Flags, Floats, Ints
from interlace.derived.common.characters import CLOSER, LETTER, LOOSE, MARK, TIGHT

_STEP = np.uint64(0x9E3779B97F4A7C15)  # splitmix64 (Steele, Lea and Flood 2014)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@compiled
def _mixed(value: np.uint64) -> np.uint64:
    """Return a number whose bits all depend on all bits of another."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@inner
def _hashed(
    codes: Codes,
    start: int,
    end: int,
    value: np.uint64,
) -> np.uint64:
    """Return a number with the letters `codes[start:end]` mixed in."""
    for position in range(start, end):
        value = _mixed((value ^ np.uint64(codes[position])) + _STEP)
    return value


@compiled
def hash_words(
    codes: Codes,
    starts: Ints,
    ends: Ints,
    key: np.uint64,
    out: Bits,
) -> None:
    """Fill `out` with 64 bits per word `codes[starts[w]:ends[w]]`, which depend on its letters and the key alone."""
    for word in range(len(starts)):
        out[word] = _hashed(codes, starts[word], ends[word], key)


@compiled
def hash_lines(words: Any, key: np.uint64, out: Bits) -> None:
    """Fill `out` with 64 bits per word, from the line's letters and the number of letters before it, however split."""
    codes, _, offsets, starts, ends = words
    for line in range(len(offsets) - 1):
        value = key
        for word in range(offsets[line], offsets[line + 1]):
            value = _hashed(codes, starts[word], ends[word], value)
        letters = np.uint64(0)
        for word in range(offsets[line], offsets[line + 1]):
            out[word] = _mixed(value + letters * _STEP)
            letters += np.uint64(ends[word] - starts[word])


# ---- lines ----

_BLANK = ord(" ")
_PERIOD = ord(".")


@inner
def _copied(
    codes: Codes,
    start: int,
    end: int,
    out: Codes,
    at: int,
) -> int:
    """Copy `codes[start:end]` to `out[at:]`; return the position after them."""
    for position in range(start, end):
        out[at] = codes[position]
        at += 1
    return at


@compiled
def write_lines(
    gaps: Any,
    order: Ints,
    spelled: Any,
    separate: Flags,
    out: Codes,
    spans: Int32Array,
) -> int:
    """Fill `out` with lines, each followed by a line feed, and `spans` with the words' spans in their lines.

    The gap before a word moves with it. The first word of a line has none, so it takes that of the word that becomes
    first: the gaps of a line stay the same as a whole. Words that must not touch get a blank instead of an empty gap.

    gaps: `WordSpans` of a text, of which the characters outside of words are used. spelled: of which the words are.
    order: (W,) the word at each place; words stay in their line.
    separate: (W,) whether the word at a place must not touch the one before it.
    out: large enough for all. Returns the number of characters written.
    """
    codes, lines, offsets, starts, ends = gaps
    at = 0
    for line in range(len(lines) - 1):
        first_word = offsets[line]
        line_begin = at
        gap_begin = lines[line]  # of the next gap to write, also after the last word
        for slot in range(first_word, offsets[line + 1]):
            word = order[slot]
            if slot == first_word:
                gap = first_word
            else:
                gap = order[first_word] if word == first_word else word
                gap_begin = ends[gap - 1]
                if separate[slot] and gap_begin == starts[gap]:
                    out[at] = _BLANK
                    at += 1
            at = _copied(codes, gap_begin, starts[gap], out, at)
            spans[slot, 0] = at - line_begin
            at = _copied(spelled.codes, spelled.starts[word], spelled.ends[word], out, at)
            spans[slot, 1] = at - line_begin
            gap_begin = ends[offsets[line + 1] - 1]
        at = _copied(codes, gap_begin, lines[line + 1], out, at)
    return at


# ---- sentences ----

_ENDS = 1  # state of a sentence-final mark, or of what closes after it
_INSIDE = 2  # state of a mark inside a word such as 3.5, or of what closes after it


@compiled
def find_ends(
    words: Any,
    traits: Bytes,
    periods: bool,
    stops: Flags,
    cuts: Flags,
    joined: Flags,
) -> None:
    """Fill `stops`, `cuts` and `joined`, all (W,) and False before.

    A mark is inside a word if it touches what follows, unless that is sentence-final itself, or of a script without
    blanks. This depends only on words that move with the mark, so it is the same after reordering.

    traits: bits of each character (`characters`). periods: whether a period is the only mark.
    stops: sentence-final marks and what closes after them. cuts: the last of each such run.
    joined: whether a word is one piece with the next word.
    """
    starts = words.starts
    ends = words.ends
    kinds = np.zeros(len(starts), np.uint8)  # MARK, CLOSER
    states = np.zeros(len(starts), np.uint8)
    _classify(words, traits, periods, kinds, states)
    inside = False  # a mark inside a word, or what closes right after one
    for word in range(len(starts)):
        touches = word > 0 and starts[word] == ends[word - 1]
        mark = kinds[word] & MARK > 0
        at_end = states[word] == _ENDS
        if mark and at_end and _ends_abbreviation(words, traits, joined, word):
            joined[word - 1] = True
            inside = False
            continue
        if touches and (inside or (mark and not at_end and not stops[word - 1])):
            joined[word - 1] = True
        inside = states[word] == _INSIDE and (mark or (inside and touches))
        closes = kinds[word] & CLOSER > 0 and touches and stops[word - 1]
        if at_end and (mark or closes):
            stops[word] = True
            cuts[word] = True
            if closes:
                cuts[word - 1] = False


@inner
def _classify(
    words: Any,
    traits: Bytes,
    periods: bool,
    kinds: Bytes,
    states: Bytes,
) -> None:
    """Fill `kinds` and `states` of words made of sentence-final or closing marks; others stay 0."""
    codes, _, _, starts, ends = words
    count = len(starts)
    for word in range(count - 1, -1, -1):
        kind = traits[codes[starts[word]]] & (MARK | CLOSER | LOOSE)
        if kind == 0:
            continue
        only_periods = codes[starts[word]] == _PERIOD
        for position in range(starts[word] + 1, ends[word]):
            kind &= traits[codes[position]]
            only_periods &= codes[position] == _PERIOD
        if periods and not only_periods:
            kind &= CLOSER
        if kind & (MARK | CLOSER) == 0:
            continue
        kinds[word] = kind
        free = (
            word + 1 == count
            or starts[word + 1] > ends[word]
            or (kind & MARK and not kind & LOOSE)
        )
        at_end = free or states[word + 1] == _ENDS or traits[codes[starts[word + 1]]] & TIGHT
        states[word] = _ENDS if at_end else _INSIDE


@inner
def _ends_abbreviation(
    words: Any,
    traits: Bytes,
    joined: Flags,
    word: int,
) -> bool:
    """Whether a mark is the last period of an abbreviation such as `U.S.`: it follows a letter and a period inside.

    word: the mark, which is a word of its own. joined: (W,) whether a word is one piece with the next one; filled up to
    the period inside.
    """
    codes, _, _, starts, ends = words
    if word < 2 or ends[word] - starts[word] > 1 or codes[starts[word]] != _PERIOD:
        return False
    letter = word - 1
    period = word - 2
    return bool(
        starts[word] == ends[letter]
        and ends[letter] - starts[letter] == 1
        and traits[codes[starts[letter]]] & LETTER > 0
        and joined[period]
        and ends[period] - starts[period] == 1
        and codes[starts[period]] == _PERIOD
    )


@compiled
def reverse(runs: Any, order: Ints) -> None:
    """Reverse the pieces of each run (`SentenceRuns`); `order` (W,) is filled within the runs."""
    for run in range(len(runs.starts)):
        firsts = _pieces(runs, run)
        numbers = np.arange(len(firsts) - 1)
        _write_pieces(firsts, numbers[::-1], order)


@compiled
def shuffle(runs: Any, hashes: Bits, order: Ints) -> None:
    """Permute the pieces of each run (`SentenceRuns`) by an order that depends on the set of their words alone.

    hashes: (W,) bits of each word. order: (W,) the word at each place; filled within the runs.
    """
    for run in range(len(runs.starts)):
        firsts = _pieces(runs, run)
        numbers = np.arange(len(firsts) - 1)
        state = np.uint64(len(numbers))
        for word in range(runs.starts[run], runs.ends[run]):
            state += hashes[word]
        for slot in range(len(numbers) - 1, 0, -1):  # Fisher and Yates
            state += _STEP
            earlier = np.int64(_mixed(state) % np.uint64(slot + 1))
            piece = numbers[slot]
            numbers[slot] = numbers[earlier]
            numbers[earlier] = piece
        _write_pieces(firsts, numbers, order)


@compiled
def _pieces(runs: Any, run: int) -> Ints:
    """Return the first word of each piece of a run, and the word after the run."""
    start = runs.starts[run]
    end = runs.ends[run]
    firsts = np.empty(end - start + 1, np.int64)
    count = 0
    for word in range(start, end):
        if word == start or not runs.joined[word - 1]:
            firsts[count] = word
            count += 1
    firsts[count] = end
    return firsts[: count + 1]


@inner
def _write_pieces(firsts: Ints, numbers: Ints, order: Ints) -> None:
    """Fill `order` with the words of a run's pieces, which come in the order of their numbers."""
    at = firsts[0]
    for number in numbers:
        for word in range(firsts[number], firsts[number + 1]):
            order[at] = word
            at += 1


# ---- a log-linear model of the orders of heads and dependents ----

# p(order) is proportional to exp of the sum, over all pairs, of the weight of the first before the second. An order is
# built item by item, so sums over all orders are sums over paths through subsets: 2^n sets instead of n! orders,
# without approximation. Legend: n items; before (n, n) the weight of i before j.

_MAX_ORDERED = 12  # words of a family; their subsets are enumerated
_MAX_WEIGHT = 10.0  # so that products over all pairs of twelve items fit a float64


@inner
def _factors_and_sums(before: Floats) -> tuple[Floats, Floats]:
    """Return (2^n, n) the factor of placing item j after all items of a set, and (2^n,) the sum over a set's orders.

    A set is the number whose bits are its items: 5 = 101 in binary is the set of items 0 and 2.
    """
    count = len(before)
    limited = np.minimum(np.maximum(before, -_MAX_WEIGHT), _MAX_WEIGHT)
    single = np.where(before == -np.inf, 0.0, np.exp(limited))
    factors = np.ones((1 << count, count))
    for done in range(1, 1 << count):
        lowest = 0
        while not done >> lowest & 1:
            lowest += 1
        without_lowest = done & (done - 1)
        for item in range(count):
            factors[done, item] = factors[without_lowest, item] * single[lowest, item]
    sums = np.zeros(len(factors))
    sums[0] = 1.0
    for done in range(len(factors)):
        for item in range(count):
            if not done >> item & 1:
                sums[done | 1 << item] += sums[done] * factors[done, item]
    return factors, sums


@compiled
def sample_order(before: Floats, bits: np.uint64, order: Ints) -> None:
    """Fill `order` (n,) with a sample from p(order), the last item first; it depends on `bits` alone.

    before: (n, n) the weight of i before j. A weight of minus infinity is a constraint: i never precedes j. Some order
    must satisfy all constraints.
    """
    factors, sums = _factors_and_sums(before)
    # the set of items without a place, as in `_factors_and_sums`; first all of them
    unplaced = len(factors) - 1
    for slot in range(len(before) - 1, -1, -1):
        bits += _STEP
        uniform = np.float64(_mixed(bits) >> np.uint64(11)) / 2.0**53 * sums[unplaced]
        chosen = -1
        for item in range(len(before)):
            if not (unplaced >> item) & 1:
                continue
            without_item = unplaced ^ (1 << item)  # the set without the item
            share = sums[without_item] * factors[without_item, item]
            if share > 0:
                chosen = item  # the last possible one, if rounding leaves a remainder
            uniform -= share
            if uniform < 0:
                break
        order[slot] = chosen
        unplaced ^= 1 << chosen


@compiled
def expect(
    keys: Ints,
    offsets: Ints,
    counts: Floats,
    weights: Floats,
    expected: Floats,
) -> float:
    """Add to `expected` (K, K) how often a precedes b in the model; return the log of the sums over all orders.

    keys: the kinds of the items of each group, `keys[offsets[g]:offsets[g + 1]]`. counts: of each group.
    weights: (K, K) for a before b.
    """
    total = 0.0
    for group in range(len(offsets) - 1):
        items = keys[offsets[group] : offsets[group + 1]]
        before = np.ascontiguousarray(weights[items][:, items])
        factors, forward = _factors_and_sums(before)
        full = len(forward) - 1
        total += counts[group] * np.log(forward[full])
        backward = np.zeros(len(forward))
        backward[full] = 1.0
        for done in range(full - 1, -1, -1):
            share = counts[group] * forward[done] / forward[full]
            for item in range(len(items)):
                if done >> item & 1:
                    continue
                step = factors[done, item] * backward[done | 1 << item]
                backward[done] += step
                for earlier in range(len(items)):
                    if done >> earlier & 1:
                        expected[items[earlier], items[item]] += share * step
    return total


# ---- dependency trees ----


@compiled
def invalid_line(heads: Ints, offsets: Ints) -> int:
    """Return the number, from 1, of the first line in which a word does not lead to a root; 0 if there is none."""
    for line in range(len(offsets) - 1):
        tree = heads[offsets[line] : offsets[line + 1]]
        for word in range(len(tree)):
            ancestor = word
            for _ in range(len(tree)):
                if ancestor < 0 or ancestor >= len(tree):
                    break
                ancestor = tree[ancestor]
            if ancestor != -1:
                return line + 1
    return 0


@inner
def _descends(heads: Ints, word: int, top: int) -> bool:
    """Whether a word is `top` or a descendant of it."""
    while word not in {-1, top}:
        word = heads[word]
    return word == top


@inner
def _crossing(heads: Ints) -> int:
    """Return the dependent of the shortest arc over a word that is no descendant of its head; -1 if there is none."""
    shortest = len(heads) + 1
    crossing = -1
    for word in range(len(heads)):
        head = heads[word]
        if head < 0 or abs(head - word) >= shortest:
            continue
        for between in range(min(head, word) + 1, max(head, word)):
            if not _descends(heads, between, head):
                shortest = abs(head - word)
                crossing = word
                break
    return crossing


@compiled
def projectivize(
    heads: Ints,
    offsets: Ints,
    punctuation: Flags,
    final: Flags,
) -> None:
    """Lift arcs until no two cross (Nivre and Nilsson 2005), and attach the mark at the end of a tree to its root.

    heads: changed in place. punctuation: which words are. final: set for the mark that ends its tree.
    """
    for line in range(len(offsets) - 1):
        tree = heads[offsets[line] : offsets[line + 1]]
        word = _crossing(tree)
        while word >= 0:
            tree[word] = tree[tree[word]]
            word = _crossing(tree)
        last_word = len(tree) - 1
        # trees from the last to the first; each is a contiguous run of words
        while last_word >= 0:
            root = last_word
            while tree[root] >= 0:
                root = tree[root]
            first_word = root
            while first_word > 0 and _descends(tree, first_word - 1, root):
                first_word -= 1
            if (
                punctuation[offsets[line] + last_word]
                and last_word != root
                and not (tree[first_word:last_word] == last_word).any()
            ):
                tree[last_word] = root
                final[offsets[line] + last_word] = True
            last_word = first_word - 1


@compiled
def _family(heads: Ints, head: int) -> Ints:
    """Return a word with its dependents in order; the roots for -1."""
    members = np.empty(len(heads), np.int64)
    count = 0
    for word in range(len(heads)):
        if word == head or heads[word] == head:
            members[count] = word
            count += 1
    return members[:count]


@compiled
def order_words(
    forest: Any,
    kinds: Ints,
    keys: Ints,
    bits: Bits,
    weights: Floats,
    is_known: Flags,
    order: Ints,
) -> None:
    """Fill `order` with the word at each place; heads with too many dependents keep them in place.

    forest: heads, offsets, and which words are marks that end a tree.
    kinds: the kind of head of each word, -1 if its dependents stay. keys: the kind of dependent of each word.
    bits: for each word, random bits for the order of its family.
    weights: (kinds, 1 + keys, 1 + keys) for a before b, where 0 is the head. is_known: pairs that occur in the
    treebank; others keep their order.
    """
    heads, offsets, final = forest
    for line in range(len(offsets) - 1):
        line_start = offsets[line]
        tree = heads[line_start : offsets[line + 1]]
        slot = line_start
        # Words whose subtrees are to be written, the next one on top; a head without its family is its complement.
        stack = np.empty(2 * len(tree), np.int64)
        family = _family(tree, -1)
        head = -1
        size = 0
        while True:
            for member in family[::-1]:
                stack[size] = ~member if member == head else member
                size += 1
            while size > 0 and stack[size - 1] < 0:
                size -= 1
                order[slot] = line_start + ~stack[size]
                slot += 1
            if size == 0:
                break
            size -= 1
            head = stack[size]
            family = _family(tree, head)
            kind = kinds[line_start + head]
            if kind < 0:
                continue
            movable = family[:-1] if final[line_start + family[-1]] else family
            if 1 < len(movable) <= _MAX_ORDERED:
                items = np.where(movable == head, 0, 1 + keys[line_start + movable])
                random_bits = bits[line_start + head]
                _arrange(movable, items, weights[kind], is_known[kind], random_bits)


@inner
def _arrange(
    family: Ints,
    items: Ints,
    weights: Floats,
    is_known: Flags,
    bits: np.uint64,
) -> None:
    """Put a head and its dependents into a sampled order, in place; `items`: the kinds of the family's words."""
    count = len(family)
    before = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if is_known[items[i], items[j]]:
                before[i, j] = weights[items[i], items[j]]
            elif i > j:
                before[i, j] = -np.inf
    sampled = np.empty(count, np.int64)
    sample_order(before, bits, sampled)
    family[:] = family.copy()[sampled]
