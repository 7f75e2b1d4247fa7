"""Words of other tools found again on the line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers.common.spans import placed, rejoined


@pytest.mark.parametrize(
    ("line", "tokens", "spans"),
    [
        ("a b", ["a", "b"], [(0, 1), (2, 3)]),
        ("aXa", ["a", "a"], None),
        ("a\x01b", ["ab"], [(0, 3)]),
        ("ab", ["a", "c"], None),
        ("ab", ["abc"], None),
        ("", [], []),
    ],
)
def test_tokens_are_found_in_order(line, tokens, spans):
    assert placed(line, tokens) == spans


@given(st.lists(st.text(st.sampled_from("ab中"), min_size=1), max_size=6), st.sampled_from(["", " ", "\t\x01"]))
def test_what_is_joined_is_found_again(tokens, between):
    line = between.join(tokens)
    spans = placed(line, tokens)
    assert [line[start:end] for start, end in spans] == tokens


def test_pieces_of_a_word_of_another_script_are_joined_and_no_others():
    lines = ["", "中cafe\u0301", "a b", "ab", "c"]
    pieces = Ragged.of([[], [(0, 1), (1, 4), (4, 5), (5, 6)], [(0, 1), (2, 3)], [(0, 1), (1, 2)], [(0, 1)]], width=2)
    assert rejoined(lines, pieces).to_lists() == [[], [[0, 1], [1, 6]], [[0, 1], [2, 3]], [[0, 2]], [[0, 1]]]
