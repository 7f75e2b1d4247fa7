"""Detection of untokenized text."""

import pytest

from interlace.readers.common.tokenization import is_untokenized, word_tokenizer_for
from interlace.text import Text

ATTACHED = ["the cat, it sat.", "did it?"] * 10
SPACED = ["the cat , it sat .", "did it ?"] * 10


@pytest.mark.parametrize(
    ("lines", "untokenized"),
    [
        (ATTACHED, True),
        (SPACED, False),
        (ATTACHED + SPACED, False),
        (["no marks"] * 99, False),
        (["it ran."] * 9, False),  # too few
        (["1 . 5"] * 99, False),
        (["老医生读了一本很长的书"], True),
        (["老 医生 读"], False),
    ],
)
def test_attached_punctuation_and_clauses_without_spaces_are_untokenized(lines, untokenized):
    text = Text.of(lines, "en")
    assert is_untokenized(text) == untokenized
    assert word_tokenizer_for(Text.of(SPACED, "en"), text) == (
        "unicode" if untokenized else "whitespace"
    )
