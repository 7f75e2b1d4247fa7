"""Lines that are longer than a model reads."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.models.translator import join_pieces, split_line


def by_character(line):
    return np.array([place for place, character in enumerate(line) if not character.isspace()])


def cut(line, most):
    return split_line(line, by_character(line), most)


@pytest.mark.parametrize(
    ("line", "most", "expected"),
    [
        ("One two. Three four.", 12, ["One two.", "Three four."]),
        ("One two, three four.", 12, ["One two,", "three four."]),
        ("One two three four", 12, ["One two three", "four"]),
        ("One 2.5 three four", 10, ["One 2.5", "three four"]),  # no sentence ends inside a number
        ("One. two, three four", 15, ["One. two,", "three four"]),  # a mark that comes too early is none
        ("Sie sagt: „Nein.“ Er geht.", 16, ["Sie sagt: „Nein.“", "Er geht."]),
        ("今天很冷。我们回家吧。", 6, ["今天很冷。", "我们回家吧。"]),
        ("今天很冷,我们回家吧", 6, ["今天很冷,我", "们回家吧"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("आज ठंड है। हम घर जाते हैं।", 12, ["आज ठंड है।", "हम घर जाते हैं।"]),
    ],
)
def test_a_line_is_cut_where_it_means_least(line, most, expected):
    assert cut(line, most) == expected


@given(st.text(alphabet='ab .,。"\t', max_size=60), st.integers(1, 9))
def test_nothing_is_lost_and_no_piece_is_too_long(line, most):
    found = cut(line, most)
    assert "".join("".join(found).split()) == "".join(line.split())
    assert all(piece and piece == piece.strip() for piece in found)
    assert max((len(by_character(piece)) for piece in found), default=0) <= most


def test_subwords_that_share_a_character_are_not_torn_apart():
    """A character of four bytes may be four subwords."""
    assert split_line("𝄞𝄞𝄞", np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]), 5) == ["𝄞", "𝄞", "𝄞"]


def test_pieces_are_joined_as_the_language_writes():
    assert join_pieces(["a b", "c"], "de") == "a b c"
    assert join_pieces(["今天很冷。", "我们回家吧。"], "zh") == "今天很冷。我们回家吧。"
    assert join_pieces(["a b", "c"], "xx") == "a b c"


def test_a_document_on_one_line_takes_time_by_its_length():
    """Looking at all that stands before each place would take the square of it: minutes."""
    begun = time.process_time()
    assert len(cut('"' * 120_000, 60)) == 2000
    assert time.process_time() - begun < 5
