from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interlace.text.word_tokenizers.whitespace import Whitespace

SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())


@given(st.lists(st.text(st.sampled_from("ab中é\u0301😀\ufeff\u200b" + SPACES), max_size=20), max_size=8))
def test_words_are_those_of_str_split(lines):
    words = Whitespace().split(lines)
    assert [[line[start:end] for start, end in row] for line, row in zip(lines, words, strict=True)] == [
        line.split() for line in lines
    ]


def test_spans_count_from_the_start_of_their_line():
    words = Whitespace().split(["", " the cat", "sat\u3000中文 "])
    assert words.to_lists() == [[], [[1, 4], [5, 8]], [[0, 3], [4, 6]]]
    assert words.values.dtype == "int32"
