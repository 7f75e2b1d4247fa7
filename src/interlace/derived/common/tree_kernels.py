"""Compiled loops (numba) over dependency trees, and a log-linear model of the orders of heads and dependents.

A line's words are numbered from its first; `heads` are such numbers, -1 for a root, without cycles. All arrays are over
the words of all lines; `offsets` (lines + 1,) delimits the words of each line.

In the model, p(order) is proportional to exp of the sum, over all pairs, of the weight of the first before the second.
An order is built item by item, so sums over all orders are sums over paths through subsets: 2^n sets instead of n!
orders, without approximation. Legend: n items; before (n, n) the weight of i before j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from interlace.derived.common.kernels import STEP, mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_ORDERED = 12  # words of a family; their subsets are enumerated
_MAX_WEIGHT = 10.0  # so that products over all pairs of twelve items fit a float64


# ---- orders ----


@njit(cache=True, nogil=True)
def _factors(before: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2^n, n) the factor of placing item j after all items of a set."""
    count = len(before)
    single = np.exp(np.minimum(np.maximum(before, -_MAX_WEIGHT), _MAX_WEIGHT))
    for i in range(count):
        for j in range(count):
            if before[i, j] == -np.inf:
                single[i, j] = 0.0
    factors = np.ones((1 << count, count))
    for done in range(1, 1 << count):
        lowest = 0
        while not done >> lowest & 1:
            lowest += 1
        rest = done & (done - 1)
        for item in range(count):
            factors[done, item] = factors[rest, item] * single[lowest, item]
    return factors


@njit(cache=True, nogil=True)
def _sums(factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2^n,) the sum over all orders of each set."""
    sums = np.zeros(len(factors))
    sums[0] = 1.0
    for done in range(len(factors)):
        for item in range(factors.shape[1]):
            if not done >> item & 1:
                sums[done | 1 << item] += sums[done] * factors[done, item]
    return sums


@njit(cache=True, nogil=True)
def sample_order(before: NDArray[np.float64], bits: np.uint64, order: NDArray[np.int64]) -> None:
    """Fill `order` (n,) with an order sampled from the model, the last item first; it depends on `bits` alone.

    A weight of minus infinity is a constraint: i never precedes j. Some order must satisfy all constraints.
    """
    factors = _factors(before)
    sums = _sums(factors)
    left = len(factors) - 1
    for place in range(len(before) - 1, -1, -1):
        bits += STEP
        uniform = np.float64(mixed(bits) >> np.uint64(11)) / 2.0**53 * sums[left]
        chosen = -1
        for item in range(len(before)):
            if not left >> item & 1:
                continue
            rest = left ^ 1 << item
            share = sums[rest] * factors[rest, item]
            if share > 0:
                chosen = item  # the last possible one, if rounding leaves a remainder
            uniform -= share
            if uniform < 0:
                break
        order[place] = chosen
        left ^= 1 << chosen


@njit(cache=True, nogil=True)
def expect(
    keys: NDArray[np.int64],
    offsets: NDArray[np.int64],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
    expected: NDArray[np.float64],
) -> float:
    """Add to `expected` (K, K) how often a precedes b in the model; return the log of the sums over all orders.

    keys: the kinds of the items of each group, `keys[offsets[g]:offsets[g + 1]]`. counts: of each group.
    weights: (K, K) for a before b.
    """
    total = 0.0
    for group in range(len(offsets) - 1):
        own = keys[offsets[group] : offsets[group + 1]]
        count = len(own)
        before = np.empty((count, count))
        for i in range(count):
            for j in range(count):
                before[i, j] = weights[own[i], own[j]]
        factors = _factors(before)
        forward = _sums(factors)
        full = len(forward) - 1
        total += counts[group] * np.log(forward[full])
        backward = np.zeros(len(forward))
        backward[full] = 1.0
        for done in range(full - 1, -1, -1):
            share = counts[group] * forward[done] / forward[full]
            for item in range(count):
                if done >> item & 1:
                    continue
                step = factors[done, item] * backward[done | 1 << item]
                backward[done] += step
                for other in range(count):
                    if done >> other & 1:
                        expected[own[other], own[item]] += share * step
    return total


# ---- trees ----


@njit(cache=True, nogil=True)
def _descends(heads: NDArray[np.int64], word: int, top: int) -> bool:
    """Whether a word is `top` or a descendant of it."""
    while word not in {-1, top}:
        word = heads[word]
    return word == top


@njit(cache=True, nogil=True)
def _crossing(heads: NDArray[np.int64]) -> int:
    """Return the dependent of the shortest arc over a word that is no descendant of its head; -1 if there is none."""
    shortest, found = len(heads) + 1, -1
    for word in range(len(heads)):
        head = heads[word]
        if head < 0 or abs(head - word) >= shortest:
            continue
        for between in range(min(head, word) + 1, max(head, word)):
            if not _descends(heads, between, head):
                shortest, found = abs(head - word), word
                break
    return found


@njit(cache=True, nogil=True)
def projectivize(
    heads: NDArray[np.int64], offsets: NDArray[np.int64], punctuation: NDArray[np.bool_], final: NDArray[np.bool_]
) -> None:
    """Lift arcs until no two cross (Nivre and Nilsson 2005), and attach the mark at the end of a tree to its root.

    heads: changed in place. punctuation: which words are. final: set for the mark that ends its tree.
    """
    for line in range(len(offsets) - 1):
        own = heads[offsets[line] : offsets[line + 1]]
        word = _crossing(own)
        while word >= 0:
            own[word] = own[own[word]]
            word = _crossing(own)
        last = len(own) - 1
        while last >= 0:  # trees from the last to the first; each is a contiguous run of words
            root = last
            while own[root] >= 0:
                root = own[root]
            first = root
            while first > 0 and _descends(own, first - 1, root):
                first -= 1
            if punctuation[offsets[line] + last] and last != root:
                has_dependents = False
                for word in range(first, last):
                    has_dependents = has_dependents or own[word] == last
                if not has_dependents:
                    own[last] = root
                    final[offsets[line] + last] = True
            last = first - 1


@njit(cache=True, nogil=True)
def _family(heads: NDArray[np.int64], starts: NDArray[np.int64], members: NDArray[np.int64]) -> None:
    """List each word with its dependents in order: `members[starts[w]:starts[w + 1]]`; roots come last."""
    count = len(heads)
    starts[:] = 0
    for word in range(count):
        starts[word + 1] += 1
        starts[(heads[word] if heads[word] >= 0 else count) + 1] += 1
    for word in range(count + 1):
        starts[word + 1] += starts[word]
    filled = starts[: count + 1].copy()
    for word in range(count):
        parent = heads[word] if heads[word] >= 0 else count
        members[filled[parent]] = word
        filled[parent] += 1
        members[filled[word]] = word
        filled[word] += 1


@njit(cache=True, nogil=True)
def order_words(
    heads: NDArray[np.int64],
    offsets: NDArray[np.int64],
    final: NDArray[np.bool_],
    kinds: NDArray[np.int64],
    keys: NDArray[np.int64],
    bits: NDArray[np.uint64],
    weights: NDArray[np.float64],
    known: NDArray[np.bool_],
    order: NDArray[np.int64],
) -> int:
    """Fill `order` with the word at each place; return how many heads have too many dependents.

    kinds: the kind of head of each word, -1 if its dependents stay. keys: the kind of dependent of each word.
    bits: for each word, random bits for the order of its family.
    weights: (kinds, 1 + keys, 1 + keys) for a before b, where 0 is the head; known: pairs that occur in the treebank.
    Pairs that do not occur keep their order.
    """
    crowded = 0
    for line in range(len(offsets) - 1):
        first, count = offsets[line], offsets[line + 1] - offsets[line]
        own = heads[first : first + count]
        starts = np.empty(count + 2, np.int64)
        members = np.empty(2 * count, np.int64)
        _family(own, starts, members)
        for word in range(count):
            if kinds[first + word] >= 0 and starts[word + 1] - starts[word] > 1:
                family = members[starts[word] : starts[word + 1]]
                if not _arrange(family, word, first, final, kinds, keys, bits, weights, known):
                    crowded += 1
        stack = np.empty(2 * count + 1, np.int64)  # a word whose family is to be written, or ~word for the word alone
        size = 0
        for place in range(starts[count + 1] - 1, starts[count] - 1, -1):
            stack[size] = members[place]
            size += 1
        at = first
        while size:
            size -= 1
            word = stack[size]
            if word < 0 or starts[word + 1] - starts[word] == 1:
                order[at] = first + (~word if word < 0 else word)
                at += 1
                continue
            for place in range(starts[word + 1] - 1, starts[word] - 1, -1):
                stack[size] = ~word if members[place] == word else members[place]
                size += 1
    return crowded


@njit(cache=True, nogil=True)
def _arrange(
    family: NDArray[np.int64],
    head: int,
    first: int,
    final: NDArray[np.bool_],
    kinds: NDArray[np.int64],
    keys: NDArray[np.int64],
    bits: NDArray[np.uint64],
    weights: NDArray[np.float64],
    known: NDArray[np.bool_],
) -> bool:
    """Put a head and its dependents into a sampled order; return False if there are too many."""
    count = len(family)
    if final[first + family[count - 1]]:
        count -= 1
    if count > _MAX_ORDERED:
        return False
    kind = kinds[first + head]
    before = np.zeros((count, count))
    for i in range(count):
        one = 0 if family[i] == head else 1 + keys[first + family[i]]
        for j in range(count):
            other = 0 if family[j] == head else 1 + keys[first + family[j]]
            if known[kind, one, other]:
                before[i, j] = weights[kind, one, other]
            elif i > j:
                before[i, j] = -np.inf
    sampled = np.empty(count, np.int64)
    sample_order(before, bits[first + head], sampled)
    old = family[:count].copy()
    for place in range(count):
        family[place] = old[sampled[place]]
    return True


@njit(cache=True, nogil=True)
def letter_bits(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64], offsets: NDArray[np.int64],
    key: np.uint64, bits: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Fill `bits` (words,) with hashes of the line's letters and of the number of letters before the word.

    They do not depend on how the line is tokenized.
    """
    for line in range(len(offsets) - 1):
        value = key
        for word in range(offsets[line], offsets[line + 1]):
            for place in range(starts[word], ends[word]):
                value = mixed((value ^ np.uint64(codes[place])) + STEP)
        letters = np.uint64(0)
        for word in range(offsets[line], offsets[line + 1]):
            bits[word] = mixed(value + letters * STEP)
            letters += np.uint64(ends[word] - starts[word])
