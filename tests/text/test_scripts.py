import pytest

from interlace.text.scripts import script_of, scripts_of


@pytest.mark.parametrize(
    ("characters", "script"),
    [
        ("aéßＡ", "Latin"),
        ("жЁ", "Cyrillic"),
        ("中々〇", "Han"),
        ("のァ"[:1], "Hiragana"),
        ("カーｱ", "Katakana"),
        ("हि", "Devanagari"),
        ("한ㄱ", "Hangul"),
        ("ክ", "Ethiopic"),
        ("1!€\u0301😀", "Common"),
    ],
)
def test_the_script_of_a_character(characters, script):
    assert [script_of(character) for character in characters] == [script] * len(characters)


@pytest.mark.parametrize(
    ("language", "scripts"),
    [
        ("zh-Hant", {"Han"}),
        ("sr_Cyrl", {"Cyrillic"}),
        ("jpn", {"Han", "Hiragana", "Katakana"}),
        ("tlh", set()),
    ],
)
def test_scripts_of_languages(language, scripts):
    assert scripts_of(language) == scripts
