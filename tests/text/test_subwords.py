from __future__ import annotations

from interlace.core.ragged import Ragged
from interlace.text.subwords import words_of_subwords


def _words(starts, words, lengths):
    return words_of_subwords(Ragged.of(starts), Ragged.of(words, width=2), lengths).tolist()


def test_a_subword_belongs_to_the_word_it_begins_in():
    # |the| cat|s| !|  with words the, cats, !
    assert _words([[0, 3, 7, 8]], [[(0, 3), (4, 8), (9, 10)]], [10]) == [0, 1, 1, 2]


def test_white_space_belongs_to_the_next_word_and_at_the_end_to_the_last():
    assert _words([[0, 1, 2, 4]], [[(2, 4)]], [6]) == [0, 0, 0, 0]
    assert _words([[0, 2, 3]], [[(0, 2), (3, 5)]], [5]) == [0, 1, 1]


def test_what_stands_in_no_word_belongs_to_the_next_one():
    # a (b) with words a and b: the bracket goes to b, the closing one to b too, as the last word
    assert _words([[0, 1, 2, 3, 4]], [[(0, 1), (3, 4)]], [5]) == [0, 1, 1, 1, 1]


def test_white_space_inside_a_word_is_part_of_it():
    assert _words([[0, 2, 3, 6]], [[(0, 6), (7, 8)]], [8]) == [0, 0, 0, 1]


def test_lines_do_not_mix_and_a_line_without_words_has_none():
    assert _words([[0, 2], [0, 1], [0]], [[(0, 2)], [], [(1, 2)]], [3, 2, 2]) == [0, 0, -1, -1, 0]


def test_nothing_comes_of_nothing():
    assert _words([], [], []) == []
    assert _words([[]], [[]], [0]) == []
