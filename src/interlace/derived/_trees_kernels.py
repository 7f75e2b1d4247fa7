"""Compiled loops over dependency trees: made projective, and written out in a new order.

A line's words are numbered from its first; `heads` are such numbers, -1 for a root, and hold no ring. All arrays are
over the words of all lines, `offsets` (lines + 1,) says which words a line has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from interlace.derived._keys_kernels import mixed
from interlace.derived._order_kernels import draw_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_LONGEST = 12  # words to order; their sets are enumerated


@njit(cache=True, nogil=True)
def _below(heads: NDArray[np.int64], word: int, top: int) -> bool:
    """Whether a word is another one or depends on it, by way of others."""
    while word not in {-1, top}:
        word = heads[word]
    return word == top


@njit(cache=True, nogil=True)
def _crossed(heads: NDArray[np.int64]) -> int:
    """The dependent at the shortest arc over a word that does not depend on its head; -1 where there is none."""
    shortest, found = len(heads) + 1, -1
    for word in range(len(heads)):
        head = heads[word]
        if head < 0 or abs(head - word) >= shortest:
            continue
        for between in range(min(head, word) + 1, max(head, word)):
            if not _below(heads, between, head):
                shortest, found = abs(head - word), word
                break
    return found


@njit(cache=True, nogil=True)
def straighten(
    heads: NDArray[np.int64], offsets: NDArray[np.int64], punctuation: NDArray[np.bool_], final: NDArray[np.bool_]
) -> None:
    """Lift arcs until no two cross (Nivre and Nilsson 2005), and hang the mark at the end of a tree on its root.

    heads: changed in place. punctuation: which words are. final: set where such a mark ends its tree.
    """
    for line in range(len(offsets) - 1):
        own = heads[offsets[line] : offsets[line + 1]]
        word = _crossed(own)
        while word >= 0:
            own[word] = own[own[word]]
            word = _crossed(own)
        last = len(own) - 1
        while last >= 0:  # trees from the last to the first: each is a run of words
            root = last
            while own[root] >= 0:
                root = own[root]
            first = root
            while first > 0 and _below(own, first - 1, root):
                first -= 1
            if punctuation[offsets[line] + last] and last != root:
                heavy = False
                for word in range(first, last):
                    heavy = heavy or own[word] == last
                if not heavy:
                    own[last] = root
                    final[offsets[line] + last] = True
            last = first - 1


@njit(cache=True, nogil=True)
def _family(heads: NDArray[np.int64], starts: NDArray[np.int64], members: NDArray[np.int64]) -> None:
    """For each word, it and its dependents in their order: `members[starts[w]:starts[w + 1]]`; roots come last."""
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
    """Fill `order` with the word that comes to stand at each place; returns how many heads had too many dependents.

    kinds: the kind of head that a word is, -1 for one whose dependents stay. keys: what a word is to its head.
    bits: for each word, bits that its family's order is drawn from.
    weights: (kinds, 1 + keys, 1 + keys) for a before b, of which 0 is the head; known: where the treebank has both.
    Two of which nothing is known keep the order that they have.
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
    """Put a head and its dependents into an order that is drawn; False where there are too many."""
    count = len(family)
    if final[first + family[count - 1]]:
        count -= 1
    if count > _LONGEST:
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
    drawn = np.empty(count, np.int64)
    draw_order(before, bits[first + head], drawn)
    old = family[:count].copy()
    for place in range(count):
        family[place] = old[drawn[place]]
    return True


@njit(cache=True, nogil=True)
def letter_bits(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64], offsets: NDArray[np.int64],
    key: np.uint64, bits: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Fill `bits` (words,) with numbers that hang on the letters of the line and on those before the word.

    So they are the same however the line is cut into words.
    """
    for line in range(len(offsets) - 1):
        value = key
        for word in range(offsets[line], offsets[line + 1]):
            for place in range(starts[word], ends[word]):
                value = mixed((value ^ np.uint64(codes[place])) + _STEP)
        letters = np.uint64(0)
        for word in range(offsets[line], offsets[line + 1]):
            bits[word] = mixed(value + letters * _STEP)
            letters += np.uint64(ends[word] - starts[word])
