"""Joining goes on in text that is cut already: counts by hand, and against counting anew after every join."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from interlace.data.extension import continued_merges


def numbered(first: int, refused: set[tuple[int, int]] = frozenset()):
    """Ids from `first` on, for all pairs but the refused ones."""
    state = {"next": first}

    def join(left: int, right: int) -> int | None:
        if (left, right) in refused:
            return None
        state["next"] += 1
        return state["next"] - 1

    return join


def test_by_hand() -> None:
    """1 2 stands together five times, then 9 3 three times; 3 4 is met once and 4 4 never."""
    words, counts = [(1, 2, 3), (1, 2), (3, 4), (4,)], [3, 2, 1, 9]
    first, second = continued_merges(words, counts, numbered(9), min_count=2)
    assert (first.left, first.right, first.new, first.count) == (1, 2, 9, 5)
    assert first.lift == math.log(5 * 24 / (5 * 5))
    assert (second.left, second.right, second.new, second.count) == (9, 3, 10, 3)
    assert second.lift == math.log(3 * 19 / (5 * 4))


def test_what_must_stay_apart_is_never_offered_again() -> None:
    merges = list(continued_merges([(1, 2, 3)], [5], numbered(9, {(1, 2)})))
    assert [(merge.left, merge.right) for merge in merges] == [(2, 3), (1, 9)]


def test_what_stands_together_by_chance_stays_apart() -> None:
    words, counts = [(1, 1), (1, 2), (2, 1), (2, 2)], [10, 10, 10, 10]
    assert list(continued_merges(words, counts, numbered(9))) == []


def test_runs_of_one_subword_are_joined_from_the_left() -> None:
    merges = list(continued_merges([(1, 1, 1), (2,)], [4, 40], numbered(9)))
    assert (merges[0].left, merges[0].right, merges[0].count) == (1, 1, 8)
    assert (merges[1].left, merges[1].right) == (9, 1)


def slowly(words, counts, least):
    """The same by counting everything anew after each join."""
    words, new, refused = [list(word) for word in words], 100, set()
    while True:
        pairs, singles = Counter(), Counter()
        for word, count in zip(words, counts, strict=True):
            for pair in pairwise(word):
                pairs[pair] += count
            for part in word:
                singles[part] += count
        open_ = [pair for pair, count in pairs.items() if count >= least and pair not in refused]
        if not open_:
            return
        best = min(open_, key=lambda pair: (-pairs[pair], pair))
        lift = math.log(pairs[best] * singles.total() / (singles[best[0]] * singles[best[1]]))
        if lift <= 1e-12:
            refused.add(best)
            continue
        yield (*best, new, pairs[best])
        for word in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = [new]
                place += 1
        new += 1


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 5)), max_size=8),
    st.integers(1, 3),
)
def test_as_if_counted_anew_after_each_join(entries, least) -> None:
    words, counts = [tuple(word) for word, _ in entries], [count for _, count in entries]
    found = [(m.left, m.right, m.new, m.count) for m in continued_merges(words, counts, numbered(100), least)]
    assert found == list(slowly(words, counts, least))
