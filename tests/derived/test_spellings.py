"""New words: one to one, of another script, the same for every order of texts; and words that stay."""

import unicodedata

import numpy as np
import pytest

from interlace.derived import TRANSFORMATIONS
from interlace.derived.transliterate import character_table, letter_map
from interlace.text import Text
from interlace.text.running import is_tight
from interlace.text.scripts import is_unspaced
from interlace.toy import sample, text
from learned_vocabs import learned_vocab

WORDS = [
    f"w{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{'uvxyz'[n // 100]}" for n in range(500)
]
TEXT = Text.of([" ".join(WORDS)], "en")


def changed(lines, seed=0, **settings):
    return (
        TRANSFORMATIONS.build({"name": "transliterate", **settings})
        .apply(Text.of(lines, "en", "unicode"), seed)
        .text
    )


def test_letters_map_one_to_one():
    letters = letter_map()
    assert all(letters[new] == old != new for old, new in letters.items())
    for old, new in letters.items():
        one, other = chr(old), chr(new)
        assert one.isalpha() == other.isalpha() is True
        assert (
            is_unspaced(one) == is_unspaced(other) or "\u0e00" <= min(one, other) < "\u1800"
        )  # Thai and its like
        if unicodedata.category(one) == unicodedata.category(other) == "Ll":
            assert other.upper() == chr(letters[ord(one.upper())])
    assert {chr(code) for code in letters} >= set("abcxyzABCXYZéÉñжЖαΩệỆ中のア한호عकข")


def test_the_latin_alphabet_becomes_armenian():
    (line,) = changed(["the Quick brown fox jumps over the lazy dog"]).lines
    assert {unicodedata.name(letter).split(" ")[0] for letter in line if letter != " "} == {
        "ARMENIAN"
    }


@pytest.mark.parametrize("tokenizer", ["unicode", "whitespace"])
@pytest.mark.parametrize("name", ["transliterate", "overlap"])
def test_unknown_words_of_wikitext_stay(tokenizer, name):
    text = Text.of(["the <unk> of Unk <unk>", "<unk>"], "en", tokenizer)
    change = TRANSFORMATIONS.build(name)
    new = change.apply(text).text
    assert [line.split().index("<unk>") for line in new.lines] == [1, 0]
    assert new.lines[0].split()[4] == "<unk>"
    assert name == "overlap" or "nk" not in new.lines[0].split()[3]
    assert change.apply(new).text.lines == text.lines


MARKED = "Don't (ever) pay $3.50 – or 5 € ½ “now”, №1; über_x@y.com [#2]! 你好，3。"
KEEP = [
    {},
    {"keep_punctuation": True},
    {"keep_digits": True},
    {"keep_punctuation": True, "keep_digits": True},
]


@pytest.mark.parametrize("kept", KEEP, ids=str)
def test_everything_is_mapped_unless_it_is_kept(kept):
    """Table 9 of Tang et al. (2022) maps even the full stop."""
    text = Text.of([MARKED], "en", "unicode")
    new = changed([MARKED], **kept)
    assert new.tokens(0)[:3] != text.tokens(0)[:3]
    for old, word in zip(text.tokens(0), new.tokens(0), strict=True):
        is_letters, is_number = any(map(str.isalpha, old)), any(map(str.isnumeric, old))
        stays = not is_letters and kept.get(
            "keep_digits" if is_number else "keep_punctuation", False
        )
        assert (word == old) == stays, old
        assert stays or not {*old} & {*word}


def test_characters_map_to_ones_that_tokenizers_treat_alike():
    table = character_table(keep_punctuation=False, keep_digits=False)
    old = np.flatnonzero(table != np.arange(len(table)))
    assert (table[table] == np.arange(len(table))).all()
    for one, other in zip(map(chr, old.tolist()), map(chr, table[old].tolist()), strict=True):
        kinds = {unicodedata.category(character)[0].replace("S", "P") for character in (one, other)}
        assert len(kinds) == 1, one
        if one.isascii() and not one.isalnum():
            assert unicodedata.category(other)[0] == "P"  # BERT separates `$` as it does `!`
        assert is_tight(one) == is_tight(other) or "\u0e00" <= min(one, other) < "\u1800"


SOUTH_ASIAN = ["यह हिन्दी की पुस्तक है। १२", "এটি বাংলা বই।", "இது தமிழ் நூல்.", "ఇది తెలుగు పుస్తకం."]
OTHER_MARKS = [
    *("الكِتَابُ مُفِيدٌ جِدًّا ٣", "قُرآن کریم ۴", "בְּרֵאשִׁית בָּרָא", "นี่เป็นหนังสือที่ดี ๆ ๔", "ນີ້ແມ່ນປື້ມທີ່ດີ ໕"),
    *("នេះជាសៀវភៅ។ ៦", "ဒါက စာအုပ်ပါ။ ၇", "དེབ་འདི་ཡག་པོ་འདུག། ༨", "ይህ መጽሐፍ፡ ጥሩ ነው።", "за́мок Жу̀пан", "ë̂ q̃uê"),
    *("コーヒー・３５人々", "ㅋㅋ 힘힣", "ﺍﻟﻜﺘﺎﺏ", "ｅｒｙＣＤ", "─ ● 🙂"),
]  # fmt: skip


@pytest.mark.parametrize("line", [*SOUTH_ASIAN, *OTHER_MARKS])
def test_letters_marks_and_digits_of_all_scripts_map_and_back(line):
    change = TRANSFORMATIONS.build("transliterate")
    line = unicodedata.normalize("NFC", line)
    text = Text.of([line], "xx", "unicode")
    new = change.apply(text).text
    assert {*new.lines[0]} & {*line} <= {" "}
    assert unicodedata.normalize("NFC", new.lines[0]) == new.lines[0]
    back = change.apply(new).text  # words are exchanged, so that no two become one
    assert back.tokens(0) == text.tokens(0)
    assert (
        is_tight(line[0]) or back.lines == text.lines
    )  # words that touch may stand apart in a script with spaces


def test_one_character_of_a_kind_stays_at_most():
    """Marks that only select a glyph stay; the last character of an odd kind has no other to map to."""
    table = character_table(keep_punctuation=False, keep_digits=False)
    stay = [
        chr(code)
        for code in np.flatnonzero(table == np.arange(len(table))).tolist()
        if code < 0xE0000
    ]
    visible = [
        character
        for character in stay
        if unicodedata.category(character)[0] in "LMNPS"
        and unicodedata.is_normalized("NFC", character)
    ]
    names = [unicodedata.name(character, "") for character in visible]
    assert len([name for name in names if "VARIATION SELECTOR" not in name]) <= 16


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "byte-bpe"])
def test_twins_are_cut_alike(kind):
    """Subwords learned from both languages have twins, also where marks touch words; the bytes of scripts differ."""
    marked = MARKED.partition(" 你")[
        0
    ]  # BERT splits wide punctuation, which has no wide twins of its kind
    lines = [*text("en", sample(400)).lines, marked, "(the dog's), 'no'... $5-10 (3.5%)!?"]
    twins = changed(lines).lines
    tokenizer = learned_vocab({"en": lines, "en_x": twins}, 900, kind).tokenizer
    for one, other in zip(lines, twins, strict=True):
        pieces = [
            tokenizer.encode(side, add_special_tokens=False).word_ids for side in (one, other)
        ]
        assert max(pieces[0]) == max(pieces[1])
        if kind == "bpe":
            assert tokenizer.encode(one).offsets == tokenizer.encode(other).offsets


def overlapped(share):
    return (
        TRANSFORMATIONS.build({"name": "overlap", "share": share}).apply(TEXT).text.lines[0].split()
    )


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_share_of_kept_types(share):
    stay = sum(old == new for old, new in zip(WORDS, overlapped(share), strict=True))
    assert abs(stay - share * 500) <= (45 if 0 < share < 1 else 0)


def test_shares_are_nested():
    quarter, half = ({word for word in overlapped(share) if word in WORDS} for share in (0.25, 0.5))
    assert quarter < half
