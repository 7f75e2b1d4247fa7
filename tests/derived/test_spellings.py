"""New words: one to one, of another script, the same for every order of texts; and words that stay or exchange."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError, SettingsError
from interlace.data.vocab import Vocab
from interlace.derived import TRANSFORMATIONS
from interlace.derived.transliterate import _CASED, OpaqueWords, character_table, letter_map
from interlace.text import Text
from interlace.text.running import is_tight
from interlace.text.scripts import is_unspaced
from interlace.toy import sample, text

SCRIPTS = sorted(_CASED)
WORDS = [f"w{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{'uvxyz'[n // 100]}" for n in range(500)]
TEXT = Text.of([" ".join(WORDS)], "en")


def changed(lines, seed=0, **settings):
    return (
        TRANSFORMATIONS.build({"name": "transliterate", **settings}).apply(Text.of(lines, "en", "unicode"), seed).text
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_letters_map_one_to_one(script):
    letters = letter_map(script)
    assert all(letters[new] == old != new for old, new in letters.items())
    for old, new in letters.items():
        one, other = chr(old), chr(new)
        assert one.isalpha() == other.isalpha() is True
        assert is_unspaced(one) == is_unspaced(other) or "\u0e00" <= min(one, other) < "\u1800"  # Thai and its like
        if unicodedata.category(one) == unicodedata.category(other) == "Ll":
            assert other.upper() == chr(letters[ord(one.upper())])
    assert {chr(code) for code in letters} >= set("abcxyzABCXYZéÉñжЖαΩệỆ中のア한호عकข")


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_latin_alphabet_uses_the_chosen_script(script):
    (line,) = changed(["the Quick brown fox jumps over the lazy dog"], script=script).lines
    assert {unicodedata.name(letter).split(" ")[0] for letter in line if letter != " "} == {script.upper()}


@pytest.mark.parametrize("tokenizer", ["unicode", "whitespace"])
@pytest.mark.parametrize("settings", [{}, {"to": "ids"}, {"share": 0.5}], ids=str)
def test_unknown_words_of_wikitext_stay(tokenizer, settings):
    text = Text.of(["the <unk> of Unk <unk>", "<unk>"], "en", tokenizer)
    change = TRANSFORMATIONS.build({"name": "transliterate", **settings})
    new = change.apply(text).text
    assert [line.split().index("<unk>") for line in new.lines] == [1, 0]
    assert new.lines[0].split()[4] == "<unk>"
    assert settings or new.lines[0].split()[3].isalpha()
    assert settings or "nk" not in new.lines[0].split()[3]
    assert change.undo(new).lines == text.lines


MARKED = "Don't (ever) pay $3.50 – or 5 € ½ “now”, №1; über_x@y.com [#2]! 你好，3。"
KEEP = [{}, {"keep_punctuation": True}, {"keep_digits": True}, {"keep_punctuation": True, "keep_digits": True}]


@pytest.mark.parametrize("to", ["script", "ids"])
@pytest.mark.parametrize("kept", KEEP, ids=str)
def test_everything_is_mapped_unless_it_is_kept(to, kept):
    """Table 9 of Tang et al. (2022) maps even the full stop."""
    text = Text.of([MARKED], "en", "unicode")
    new = changed([MARKED], to=to, **kept)
    assert new.tokens(0)[:3] != text.tokens(0)[:3]
    for old, word in zip(text.tokens(0), new.tokens(0), strict=True):
        is_letters, is_number = any(map(str.isalpha, old)), any(map(str.isnumeric, old))
        stays = not is_letters and kept.get("keep_digits" if is_number else "keep_punctuation", False)
        assert (word == old) == stays, old
        assert stays or not {*old} & {*word}


@pytest.mark.parametrize("script", SCRIPTS)
def test_characters_map_to_ones_that_tokenizers_treat_alike(script):
    table = character_table(script, keep_punctuation=False, keep_digits=False)
    old = np.flatnonzero(table != np.arange(len(table)))
    assert (table[table] == np.arange(len(table))).all()
    for one, other in zip(map(chr, old.tolist()), map(chr, table[old].tolist()), strict=True):
        kinds = {unicodedata.category(character)[0].replace("S", "P") for character in (one, other)}
        assert len(kinds) == 1, one
        if one.isascii() and not one.isalnum():
            assert unicodedata.category(other)[0] == "P"  # BERT separates `$` as it does `!`
        assert is_tight(one) == is_tight(other) or "\u0e00" <= min(one, other) < "\u1800"


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "byte-bpe"])
def test_twins_are_cut_alike(kind):
    """Subwords learned from both languages have twins, also where marks touch words; the bytes of scripts differ."""
    marked = MARKED.partition(" 你")[0]  # BERT splits wide punctuation, which has no wide twins of its kind
    lines = [*text("en", sample(400)).lines, marked, "(the dog's), 'no'... $5-10 (3.5%)!?"]
    twins = changed(lines).lines
    tokenizer = Vocab.learn({"en": lines, "en_x": twins}, 900, kind=kind).tokenizer
    for one, other in zip(lines, twins, strict=True):
        pieces = [tokenizer.encode(side, add_special_tokens=False).word_ids for side in (one, other)]
        assert max(pieces[0]) == max(pieces[1])
        if kind == "bpe":
            assert tokenizer.encode(one).offsets == tokenizer.encode(other).offsets


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9), max_size=8))
def test_opaque_words_are_an_involution(words):
    opaque = OpaqueWords(7)
    found = [opaque(word) for word in words]
    assert [opaque(word) for word in found] == words
    assert len(set(found)) == len(set(words))


@pytest.mark.parametrize("to", ["script", "ids"])
def test_shares_are_nested(to):
    words, text = WORDS, TEXT.lines
    quarter, half = (set(changed(text, to=to, share=share).lines[0].split()) for share in (0.25, 0.5))
    assert abs(len(quarter - set(words)) - 125) < 40
    assert abs(len(half - set(words)) - 250) < 45
    assert quarter - set(words) < half - set(words)
    assert changed(text, to=to, share=0.0).lines == text


@pytest.mark.parametrize("keep", [True, False])
def test_syllabic_words_map_back_only_to_words(keep):
    """Some of 256 one-letter words stand for a line feed, a blank, a mark, a digit."""
    change = TRANSFORMATIONS.build({"name": "transliterate", "to": "ids", "keep_digits": keep})
    text = Text.of([chr(0x1401 + number) for number in range(256)], "en")
    derived = change.apply(text).text
    assert [len(derived.words[row]) for row in range(256)] == [1] * 256
    assert change.undo(derived).lines == text.lines
    assert not any("!" in line for line in derived.lines)
    assert any("7" in line for line in derived.lines) != keep


def overlapped(text=TEXT, **settings):
    return TRANSFORMATIONS.build({"name": "overlap", **settings}).apply(text).text.lines[0].split()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_share_of_kept_types(share):
    stay = sum(old == new for old, new in zip(WORDS, overlapped(share=share), strict=True))
    assert abs(stay - share * 500) <= (45 if 0 < share < 1 else 0)


def test_first_words_of_a_list_are_kept(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the\t90\ndog\t5\nsees\t4\ncat\t1\n", encoding="utf-8")
    text = Text.of(["the dog sees the bird"], "en")
    found = overlapped(text, words=path, share=0.5)
    assert found[0] == found[3] == "the"
    assert found[1] == "dog"
    assert not {"sees", "bird"} & set(found)


def test_the_share_is_set_once():
    with pytest.raises(SettingsError, match=r"overlap\.share instead"):
        overlapped(otherwise={"share": 0.5})
    assert overlapped(share=0.0, otherwise={"share": 1}) == overlapped(share=0.0)


def test_exchange_ignores_the_order_of_the_list(tmp_path):
    (tmp_path / "a").write_text("dog\ncat\nsees\nbird\n", encoding="utf-8")
    (tmp_path / "b").write_text("bird\nsees\ncat\ndog\n", encoding="utf-8")
    text = Text.of(["the dog sees the cat"], "en")
    one, other = (TRANSFORMATIONS.build({"name": "exchange", "words": tmp_path / name}) for name in "ab")
    line = one.apply(text, 1).text.lines[0]
    assert line == other.apply(text, 1).text.lines[0]
    words = line.split()
    assert words[0] == words[3] == "the"
    assert {*words} < {"the", "dog", "cat", "sees", "bird"}
    assert not {("dog", 1), ("sees", 2), ("cat", 4)} & {(word, place) for place, word in enumerate(words)}


def test_an_invalid_list_is_named(tmp_path):
    with pytest.raises(DataError, match="needs a list of words"):
        TRANSFORMATIONS.build("exchange").apply(TEXT)
    (tmp_path / "words.txt").write_text("a\n\nb\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"words\.txt, line 2: no word"):
        TRANSFORMATIONS.build({"name": "exchange", "words": tmp_path / "words.txt"}).apply(TEXT)
    with pytest.raises(DataError, match=r"no such file"):
        TRANSFORMATIONS.build({"name": "overlap", "words": tmp_path / "none.txt"}).apply(TEXT)
