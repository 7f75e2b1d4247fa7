"""Changes one after another, and pairs of texts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.derived import DerivedText, Transformation, chain
from interlace.derived.common.texts import links_between
from interlace.text import Text


def test_order_of_application():
    """With its marks gone, a text is one sentence: the two orders differ."""
    text = Text.of(["a b . c d"], "en")
    a, b, mark, c, d = chain(["transliterate"]).apply(text).text.tokens(0)
    assert chain(["invert", "transliterate"]).apply(text).text.tokens(0) == [b, a, mark, d, c]
    assert chain(["transliterate", "invert"]).apply(text).text.tokens(0) == [d, c, mark, b, a]


@st.composite
def tokenized(draw):
    """Spans of words: of three tokenizations of one line."""
    sides = []
    for _ in range(3):
        bounds = np.cumsum([0, *draw(st.lists(st.integers(0, 3), max_size=8))]).tolist()
        sides.append([(start, end) for start, end in pairwise(bounds) if start < end])
    return sides


@given(lines=st.lists(tokenized(), max_size=3), data=st.data())
def test_links_of_other_words_are_those_of_a_plain_loop(lines, data):
    """Words of the original become words of one character, in any order."""
    orders = [data.draw(st.permutations(range(len(original)))) for original, _, _ in lines]
    derived_spans = [[(i, i + 1) for i in order] for order in map(sorted, orders)]
    original, words, other = (
        Ragged.of([line[side] for line in lines], width=2) for side in range(3)
    )
    text = Text("xx", [""] * len(lines), Ragged.of(derived_spans, width=2), "")
    places = np.array([place for order in orders for place in order], np.int64)
    found = links_between(words, original, DerivedText(text, places), other)
    for row, (original_words, source_words, target_words) in enumerate(lines):
        expected = set()
        for word, place in enumerate(orders[row]):
            start, end = original_words[word]
            for i, (a, b) in enumerate(source_words):
                for j, (c, d) in enumerate(target_words):
                    if max(a, start) < min(b, end) and c <= place < d:
                        expected.add((i, j))
        assert [tuple(link) for link in found[row].tolist()] == sorted(expected)


class Placing(Transformation):
    """Places the words of each line as it is told, whether or not a transformation may."""

    places: tuple[int, ...]

    def derive(self, text, key):
        return DerivedText(text, np.array(self.places))


@pytest.mark.parametrize("places", [(0, 0, 0, 0), (1, 2, 1, 2), (0, 0), (0, 2, -1, 1)])
def test_words_without_exactly_one_counterpart_are_an_error(places):
    text = Text.of(["red house", "old town"], "en", "whitespace")
    with pytest.raises(DataError, match=r"'test_chain' must give each word exactly one"):
        chain(["invert", Placing(places=places)]).apply(text)


def test_answers_to_questions_are_rejected():
    passages = replace(Text.of(["Anna reads old books ."], "en"), answers=[(11, 20)])
    with pytest.raises(DataError, match="questions and their answers"):
        chain(["invert"]).apply(passages)
