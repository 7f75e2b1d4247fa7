from __future__ import annotations

import pytest

from interlace.text.scripts import UNSPACED, is_unspaced, script_of


@pytest.mark.parametrize(
    ("characters", "script"),
    [
        ("aéßＡ", "Latin"),
        ("жЁ", "Cyrillic"),
        ("中々〇", "Han"),
        ("のァ"[:1], "Hiragana"),
        ("カーｱ", "Katakana"),
        ("हि", "Devanagari"),
        ("กั", "Thai"),
        ("한ㄱ", "Hangul"),
        ("ክ", "Ethiopic"),
        ("1!€\u0301😀", "Common"),
    ],
)
def test_the_script_of_a_character(characters, script):
    assert [script_of(character) for character in characters] == [script] * len(characters)


def test_which_scripts_write_without_blanks():
    assert [is_unspaced(character) for character in "中のカไខ한aह1"] == [True] * 5 + [False] * 4
    assert "Hangul" not in UNSPACED
