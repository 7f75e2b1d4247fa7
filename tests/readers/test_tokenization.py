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
        (["我喜欢猫"] * 60, True),
        (["我喜欢猫。"] * 4, True),
        (["猫が好き。", "犬も好き", "はい 、 好き です 。"], True),
        (["ฉันชอบแมว", "เขาชอบ สุนัข", "แมวนอน"], True),
        (["好", "我 喜欢 猫 。", "是 的 。"], False),  # a line of tokenized text may be a word
        (["I like cats"] * 9 + ["猫"], False),
    ],
)
def test_attached_punctuation_and_clauses_without_spaces_are_untokenized(lines, untokenized):
    text = Text.of(lines, "en")
    assert is_untokenized(text) == untokenized
    assert word_tokenizer_for(Text.of(SPACED, "en"), text) == (
        "unicode" if untokenized else "whitespace"
    )


@pytest.mark.parametrize(
    ("marks", "is_warned"), [(0, False), (1, True), (19, True), (20, False)]
)
def test_text_with_too_few_marks_to_decide_is_split_at_white_space_with_a_warning(
    marks, is_warned, caplog
):
    lines = ["I like cats."] * marks + ["No mark"]
    chosen = word_tokenizer_for(Text.of(["Ich mag Katzen"], "de"), Text.of(lines, "en"))
    assert chosen == ("unicode" if marks == 20 else "whitespace")
    assert ("'whitespace'" in caplog.text) == is_warned


def test_short_tokenized_text_is_split_at_white_space_without_a_warning(caplog):
    assert word_tokenizer_for(Text.of(["it ran ."], "en")) == "whitespace"
    assert not caplog.text
