"""Derived lines that are written and read again: their words are found again."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interlace.derived import chain
from interlace.text import Text

WORDS = st.sampled_from(
    "I The dog do can know n't 's 'll don't cannot U.S. e.g. p.m. Mr. Ph.D. 3.5 10,000 @.@ @-@ 5 .5 1.b co-op - -- "
    "e-mail a/b x@y.com www.x.com/?q=a.b . . ! ? ... ?! \u2026 , ; : ( ) [ ] $ % \" ' `` '' \u201c \u201d \u2019 "
    "\u00ab \u00e9te\u0301 \u4e2d \u533b\u751f \u3002 \uff01 \u300c \u300d \uff0c \u0e44\u0e1b\u0e31 "
    "\u0905\u092e\u093e \u0964 \u061f".split(" ")
)
GAPS = st.sampled_from(["", "", " ", " ", " ", "  "])
LINES = st.lists(
    st.lists(st.tuples(GAPS, WORDS), max_size=12).map(lambda row: "".join(map("".join, row))),
    max_size=4,
)

KEPT = {"name": "transliterate", "keep_punctuation": True, "keep_digits": True}
LINEWISE = {"sentence_split": "line", "keep_final_punct": False}


@pytest.mark.parametrize("word_tokenizer", ["unicode", "whitespace"])
@pytest.mark.parametrize(
    "changes",
    [
        ["invert"],
        ["permute"],
        [{"name": "invert", "sentence_split": "period"}],
        [{"name": "invert", **LINEWISE}],
        [{"name": "permute", **LINEWISE}],
        ["transliterate"],
        [KEPT],
        ["permute", "overlap"],
        ["overlap", "invert"],
    ],
    ids=str,
)
@given(lines=LINES)
@example(lines=["  ''  \u2026\u300dwww.x.com/?q=a.b  3.5  \u4e2d"])
@example(lines=["e\u0301  \u3002!(e\u0301 \ufb01"])
@settings(max_examples=50)
def test_derived_lines_are_tokenized_alike(changes, word_tokenizer, lines):
    change = chain(changes)
    text = Text.of(lines, "en", word_tokenizer)
    derived = change.apply(text, 3).text
    again = Text.of(derived.lines, "en", word_tokenizer)
    assert again.words == derived.words
    if changes == ["invert"]:  # sentences are those of the original, so twice is its order
        twice = change.apply(again, 3).text
        assert all(twice.tokens(row) == text.tokens(row) for row in range(len(text)))
