"""Byte-pair encoding that goes on where a tokenizer stopped: the next pairs to join in text that it has cut already.

A pair is joined when it is the most frequent one (Sennrich et al. 2016), as long as it stands together more often than
chance and `join` has a name for it. Starting from the tokenizer's own cuts, a new subword always takes the place of
two or more that the text has now; learning a vocabulary anew would mostly find subwords that are there already.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Pair = tuple[int, int]


@dataclass(frozen=True)
class Merge:
    """Two subwords that become one.

    count: how often they stood side by side.
    lift: log of that over what chance would give; how much likelier the pair is than its parts by themselves.
    """

    left: int
    right: int
    new: int
    count: int
    lift: float


def continued(
    words: Sequence[Sequence[int]],
    counts: Sequence[int],
    join: Callable[[int, int], int | None],
    least: int = 1,
) -> Iterator[Merge]:
    """The pairs to join, one after another, until none is left that stands together `least` times.

    Args:
        words: subwords of each kind of word, within which pairs are joined.
        counts: how often each word is met.
        join: gives the id of the joined subword, or None where the two must stay apart.
        least: see above.
    """
    state = _State(words, counts)
    while (pair := state.best(least)) is not None:
        lift = state.lift(pair)
        new = join(*pair) if lift > 0 else None
        if new is None:
            state.refuse(pair)
            continue
        count = state.pairs[pair]
        state.replace(pair, new)
        yield Merge(*pair, new, count, lift)


class _State:
    """Words as they are cut by now, with counts of subwords and pairs that follow every join."""

    def __init__(self, words: Sequence[Sequence[int]], counts: Sequence[int]) -> None:
        self.words = [list(word) for word in words]
        self.counts = list(counts)
        self.subwords: Counter[int] = Counter()
        self.total = 0  # of all subwords
        self.refused: set[Pair] = set()
        self.pairs: dict[Pair, int] = defaultdict(int)
        self.where: dict[Pair, set[int]] = defaultdict(set)
        for number in range(len(self.words)):
            self._count(number, 1)
        self.heap = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.heap)

    def best(self, least: int) -> Pair | None:
        """The most frequent pair; of equal ones that of the lowest ids."""
        while self.heap:
            count, pair = self.heap[0]
            now = 0 if pair in self.refused else self.pairs.get(pair, 0)
            if -count == now and now >= least:
                return pair
            heapq.heappop(self.heap)
            if now >= least:  # it fell since it was put there
                heapq.heappush(self.heap, (-now, pair))
        return None

    def lift(self, pair: Pair) -> float:
        """Log of the pair's count over what chance would give."""
        left, right = (self.subwords[part] for part in pair)
        return math.log(self.pairs[pair] * self.total / (left * right))

    def refuse(self, pair: Pair) -> None:
        """Never offer the pair again."""
        self.refused.add(pair)

    def replace(self, pair: Pair, new: int) -> None:
        """Join the pair in every word that holds it."""
        touched: set[Pair] = set()
        for number in sorted(self.where.pop(pair)):
            self._count(number, -1)
            self.words[number] = _joined(self.words[number], pair, new)
            self._count(number, 1)
            touched.update(_pairs(self.words[number]))
        for other in touched:
            if new in other:
                heapq.heappush(self.heap, (-self.pairs[other], other))

    def _count(self, number: int, sign: int) -> None:
        word, count = self.words[number], sign * self.counts[number]
        self.total += count * len(word)
        for subword in word:
            self.subwords[subword] += count
        for pair in _pairs(word):
            self.pairs[pair] += count
            if sign > 0:
                self.where[pair].add(number)


def _pairs(word: list[int]) -> Iterator[Pair]:
    return pairwise(word)


def _joined(word: list[int], pair: Pair, new: int) -> list[int]:
    """From left to right, as tokenizers do."""
    left, right = pair
    joined: list[int] = []
    place, last = 0, len(word) - 1
    while place <= last:
        if place < last and word[place] == left and word[place + 1] == right:
            joined.append(new)
            place += 2
        else:
            joined.append(word[place])
            place += 1
    return joined
