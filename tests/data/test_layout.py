"""Rows as a model reads them, worked by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from interlace.data import Pairs
from interlace.data.layout import pair_layout, sentence_layout
from little_words import sentences

VOCAB = SimpleNamespace(pad=0, begin=1, end=2, separator_ids=np.array([2]))
ROBERTA = SimpleNamespace(pad=0, begin=1, end=2, separator_ids=np.array([2, 2]))


def test_pads_sentences_of_different_length():
    layout = sentence_layout(sentences([[5, 6, 7], [8]]), VOCAB, max_length=10)
    assert layout.ids.tolist() == [[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]]
    assert layout.real.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert layout.words.tolist() == [[-1, 0, 1, 2, -1], [-1, 0, -1, -1, -1]]
    assert layout.content.tolist() == (layout.words >= 0).tolist()
    assert layout.tokens == 8


def test_truncates_longsentences():
    layout = sentence_layout(sentences([[5, 6, 7, 8, 9], [5]]), VOCAB, max_length=5)
    assert layout.ids.tolist() == [[1, 5, 6, 7, 2], [1, 5, 2, 0, 0]]


def test_a_separator_inside_a_stream_is_not_content():
    layout = sentence_layout(sentences([[5, 2, 7]], [[0, -1, 1]]), VOCAB, max_length=8)
    assert layout.content.tolist() == [[False, True, False, True, False]]


def test_positions_restart_on_the_second_side():
    pairs = Pairs(sentences([[5, 6], [5]]), sentences([[7], [8, 9]], language="de"))
    layout = pair_layout(pairs, VOCAB, max_length=10)
    assert layout.ids.tolist() == [[1, 5, 6, 2, 7, 2], [1, 5, 2, 8, 9, 2]]
    assert layout.sides.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]
    assert layout.words.tolist() == [[-1, 0, 1, -1, 0, -1], [-1, 0, -1, 0, 1, -1]]
    assert layout.positions(0, restart=True).tolist() == [[0, 1, 2, 3, 0, 1], [0, 1, 2, 0, 1, 2]]
    assert layout.positions(0, restart=False).tolist() == [[0, 1, 2, 3, 4, 5]] * 2


def test_two_separators_as_in_roberta():
    layout = pair_layout(Pairs(sentences([[5]]), sentences([[7, 8]])), ROBERTA, max_length=10)
    assert layout.ids.tolist() == [[1, 5, 2, 2, 7, 8, 2]]
    assert layout.sides.tolist() == [[0, 0, 0, 1, 1, 1, 1]]


def test_padding_positions_of_roberta_are_its_padding_index():
    layout = pair_layout(Pairs(sentences([[5], [5]]), sentences([[7, 8], [7]])), VOCAB, max_length=10)
    assert layout.positions(2, restart=True).tolist() == [[2, 3, 4, 2, 3, 4], [2, 3, 4, 2, 3, 1]]


@pytest.mark.parametrize(("first", "second", "kept"), [(9, 2, (5, 2)), (2, 9, (2, 5)), (9, 9, (3, 4)), (3, 4, (3, 4))])
def test_truncates_the_longer_side_first(first, second, kept):
    pairs = Pairs(sentences([[5] * first]), sentences([[7] * second]))
    layout = pair_layout(pairs, VOCAB, max_length=10)
    found = [(layout.ids[0] == token).sum() for token in (5, 7)]
    assert tuple(found) == kept
    assert layout.ids.shape[1] <= 10
