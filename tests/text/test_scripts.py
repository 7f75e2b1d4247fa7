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
        ("กั", "Thai"),
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
        ("en", {"Latin"}),
        ("zh-Hant", {"Han"}),
        ("sr", {"Cyrillic", "Latin"}),
        ("sr_Cyrl", {"Cyrillic"}),
        ("jpn", {"Han", "Hiragana", "Katakana"}),
        ("pt_BR", {"Latin"}),
        ("tlh", set()),
        ("", set()),
    ],
)
def test_scripts_of_languages(language, scripts):
    assert scripts_of(language) == scripts


@pytest.mark.parametrize(
    ("language", "line"),
    [
        *(
            ("am", "ሰላም"),
            ("ka", "გამარჯობა"),
            ("hy", "բարեւ"),
            ("bn", "নমস্কার"),
            ("ko", "안녕"),
            ("my", "မင်္ဂလာ"),
        ),
        *(
            ("he", "שלום"),
            ("el", "γειά"),
            ("km", "សួស្តី"),
            ("si", "ආයුබෝවන්"),
            ("ur", "سلام"),
            ("th", "สวัสดี"),
        ),
        *(("lo", "ສະບາຍດີ"), ("ta", "வணக்கம்"), ("te", "నమస్కారం"), ("kn", "ನಮಸ್ಕಾರ"), ("ml", "നമസ്കാരം")),
        *(
            ("gu", "નમસ્તે"),
            ("pa", "ਸਤਿ"),
            ("or", "ନମସ୍କାର"),
            ("ja", "こんにちは"),
            ("dv", "އައްސަލާމް"),
            ("bo", "བཀྲ"),
        ),
    ],
)
def test_the_table_speaks_of_scripts_as_letters_do(language, line):
    assert {script_of(character) for character in line} - {"Common"} <= scripts_of(language)
