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
    new = "transliterate"
    before = chain(["invert", new]).apply(text).text.lines[0].split()
    after = chain([new, "invert"]).apply(text).text.lines[0].split()
    a, b, mark, c, d = chain([new]).apply(text).text.lines[0].split()
    assert before == [b, a, mark, d, c]
    assert after == [d, c, mark, b, a]


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
    pairs = TextPairs.of(["the dog barks .", "yes"], ["a dog does bark .", "yes"], ("en", "en"))
    links = Ragged.of([[(1, 1), (2, 2), (2, 3), (3, 4)], [(0, 0)]], width=2)
    pairs = replace(pairs, links=links, labels=["entailment", "neutral"])
    done = chain(["invert"]).apply_pairs(pairs)
    assert done.pairs.source.lines == ["barks dog the .", "yes"]
    assert done.pairs.target.lines == ["bark does dog a .", "yes"]
    assert done.pairs.labels == ["entailment", "neutral"]
    assert done.pairs.links.to_lists() == [[[0, 0], [0, 1], [1, 2], [3, 4]], [[0, 0]]]
    assert done.source.to_lists()[0] == [[0, 2], [1, 1], [2, 0], [3, 3]]


class Doubling(Transformation):
    """Links the last word to both words of each line, or repeats it, or does not sort links, as none may."""

    fault: str = "linked"

    def derive(self, text, key):
        links = {
            "linked": [(0, 0), (1, 0), (1, 1)],
            "repeated": [(0, 0), (1, 1), (1, 2)],
            "unsorted": [(1, 1), (0, 0)],
        }[self.fault]
        if self.fault == "repeated":
            lines = [f"{line} {line.split()[-1]}" for line in text.lines]
            text = Text.of(lines, text.language, "whitespace")
        return DerivedText(text, Ragged.of([links] * len(text), width=2))


@pytest.mark.parametrize("fault", ["linked", "repeated", "unsorted"])
def test_words_with_several_counterparts_are_an_error(fault):
    text = Text.of(["red house", "old town"], "en", "whitespace")
    with pytest.raises(DataError, match=r"'test_chain' must give each word exactly one"):
        chain(["invert", Doubling(fault=fault)]).apply(text)


def test_answers_to_questions_are_rejected():
    passages = replace(Text.of(["Anna reads old books ."], "en"), answers=[(11, 20)])
    with pytest.raises(DataError, match="questions and their answers"):
        chain(["invert"]).apply_pairs(TextPairs(passages, Text.of(["who reads ?"], "en")))
