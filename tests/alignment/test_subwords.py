"""Links of words and of their subwords, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.alignment.subwords import to_subwords
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged


def links(*rows):
    return Ragged.of([sorted(set(row)) for row in rows], width=2)


def tuples(found):
    return [[tuple(link) for link in row] for row in found.to_lists()]


# Source words 0, 1, 2 have subwords (0, 1, 2), (3), (4, 5); target words 0, 1 have (0), (1, 2).
SOURCE, TARGET = Ragged.of([[0, 0, 0, 1, 2, 2]]), Ragged.of([[0, 1, 1]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("all", [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (3, 0), (4, 0), (5, 0)]),
        ("first", [(0, 1), (3, 0), (4, 0)]),
        # Of three subwords and two, the first two go with the first: 0, 2/3 and 4/3, rounded down.
        ("monotone", [(0, 1), (1, 1), (2, 2), (3, 0), (4, 0), (5, 0)]),
    ],
)
def test_links_of_a_pair_by_hand(how, expected):
    assert tuples(to_subwords(links([(0, 1), (1, 0), (2, 0)]), SOURCE, TARGET, how)) == [expected]


def test_words_without_subwords_lose_their_links():
    cut = Ragged.of([[0, 0, 2], []])  # word 1 was left out, words from 3 on were cut off
    found = to_subwords(links([(0, 0), (1, 1), (2, 1), (3, 0)], [(0, 0)]), cut, Ragged.of([[0, 1], [0]]), "all")
    assert tuples(found) == [[(0, 0), (1, 0), (2, 1)], []]


def test_skips_subwords_of_no_word():
    apart = Ragged.of([[-1, 0, 0, -1, 1, -1]])
    assert tuples(to_subwords(links([(0, 0), (1, 1)]), apart, apart, "first")) == [[(1, 1), (4, 4)]]


def test_monotone_links_reach_every_subword_and_never_cross():
    for first in range(1, 8):
        for second in range(1, 8):
            source, target = Ragged.of([[0] * first]), Ragged.of([[0] * second])
            found = to_subwords(links([(0, 0)]), source, target, "monotone")[0]
            assert [set(side) for side in found.T] == [set(range(first)), set(range(second))]
            assert (np.diff(found, axis=0) >= 0).all()


def test_rejects_unknown_expansions_and_other_sentence_counts():
    with pytest.raises(SettingsError, match=r"no expansion 'al' .*; did you mean 'all'"):
        to_subwords(links([]), SOURCE, TARGET, "al")
    with pytest.raises(DataError, match="of 2 pairs, but subwords of 1 source and 1 target sentences"):
        to_subwords(links([], []), SOURCE, TARGET)
