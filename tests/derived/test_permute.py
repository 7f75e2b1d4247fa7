"""Random orders: all are drawn, none depends on the order before."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from interlace.derived import TRANSFORMATIONS
from interlace.text import Text


def test_all_orders_are_equally_likely():
    change = TRANSFORMATIONS.build("permute")
    lines = [f"a{n} b{n} c{n} ." for n in range(6000)]
    derived = change.apply(Text.of(lines, "en")).text
    counts = Counter("".join(word[0] for word in line.split()) for line in derived.lines)
    assert set(counts) == {"".join(order) + "." for order in permutations("abc")}
    assert all(abs(count - 1000) < 120 for count in counts.values())  # four deviations


def test_permutations_are_one_to_one():
    """The draw hangs on which words there are, so that it can be made again from the derived line."""
    change = TRANSFORMATIONS.build("permute")
    lines = [" ".join(order) for order in permutations("abcd")]
    derived = change.apply(Text.of(lines, "en")).text.lines
    assert sorted(derived) == sorted(lines)
    assert derived != lines


def test_words_stay_in_their_sentence():
    change = TRANSFORMATIONS.build("permute")
    for line in change.apply(Text.of([f"a b c{n} . d e f{n} !" for n in range(30)], "en")).text.lines:
        words = line.split()
        assert (words[3], words[7]) == (".", "!")
        assert {word[0] for word in words[:3]} == set("abc")
