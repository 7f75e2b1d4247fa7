"""Changes one after another, and pairs of texts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.links import reverse_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.derived import DerivedText, Transformation, chain
from interlace.derived.common.texts import composed
from interlace.text import Text, TextPairs


def test_order_of_application():
    """With its marks gone, a text is one sentence: the two orders differ."""
    text = Text.of(["a b . c d"], "en")
    a, b, mark, c, d = chain(["transliterate"]).apply(text).text.tokens(0)
    assert chain(["invert", "transliterate"]).apply(text).text.tokens(0) == [b, a, mark, d, c]
    assert chain(["transliterate", "invert"]).apply(text).text.tokens(0) == [d, c, mark, b, a]


LINKS = st.lists(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))), min_size=3, max_size=3)


@given(first=LINKS, second=LINKS)
def test_links_are_composed_like_relations(first, second):
    one, other = (Ragged.of([sorted(row) for row in rows], width=2) for rows in (first, second))
    expected = [
        sorted({(i, k) for i, j in left for other_j, k in right if j == other_j})
        for left, right in zip(first, second, strict=True)
    ]
    assert [[tuple(link) for link in row] for row in composed(one, other).to_lists()] == expected
    assert [[tuple(link) for link in row] for row in reverse_links(one).to_lists()] == [
        sorted((j, i) for i, j in row) for row in first
    ]


def test_links_of_pairs_follow_both_sides():
    pairs = TextPairs.of(["the dog barks ."], ["a dog does bark ."], ("en", "en"))
    links = Ragged.of([[(1, 1), (2, 2), (2, 3), (3, 4)]], width=2)
    pairs = replace(pairs, links=links, labels=["entailment"])
    done = chain(["invert"]).apply_pairs(pairs)
    assert done.pairs.source.lines == ["barks dog the ."]
    assert done.pairs.target.lines == ["bark does dog a ."]
    assert done.pairs.labels == ["entailment"]
    assert done.pairs.links.to_lists() == [[[0, 0], [0, 1], [1, 2], [3, 4]]]
    assert done.source.to_lists()[0] == [[0, 2], [1, 1], [2, 0], [3, 3]]


class Linking(Transformation):
    """Links the two words of each line as it is told, whether or not a transformation may."""

    links: tuple[tuple[int, int], ...]

    def derive(self, text, key):
        return DerivedText(text, Ragged.of([self.links] * len(text), width=2))


@pytest.mark.parametrize("links", [((0, 0), (1, 0), (1, 1)), ((1, 1), (0, 0)), ((0, 0),)])
def test_words_without_exactly_one_counterpart_are_an_error(links):
    text = Text.of(["red house", "old town"], "en", "whitespace")
    with pytest.raises(DataError, match=r"'test_chain' must give each word exactly one"):
        chain(["invert", Linking(links=links)]).apply(text)


def test_answers_to_questions_are_rejected():
    passages = replace(Text.of(["Anna reads old books ."], "en"), answers=[(11, 20)])
    with pytest.raises(DataError, match="questions and their answers"):
        chain(["invert"]).apply_pairs(TextPairs(passages, Text.of(["who reads ?"], "en")))
