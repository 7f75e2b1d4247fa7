"""Shared words: drawn, or the most frequent ones of a list; and words exchanged among themselves."""

from __future__ import annotations

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.derived import TRANSFORMATIONS
from interlace.text import Text

WORDS = [f"w{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{'uvxyz'[n // 100]}" for n in range(500)]
TEXT = Text.of([" ".join(WORDS)], "en")


def changed(text=TEXT, **settings):
    return TRANSFORMATIONS.build({"name": "overlap", **settings}).apply(text).text.lines[0].split()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_share_of_kept_types(share):
    stay = sum(old == new for old, new in zip(WORDS, changed(share=share), strict=True))
    assert abs(stay - share * 500) <= (45 if 0 < share < 1 else 0)


def test_first_words_of_a_list_are_kept(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the\t90\ndog\t5\nsees\t4\ncat\t1\n", encoding="utf-8")
    text = Text.of(["the dog sees the bird"], "en")
    found = changed(text, words=path, share=0.5)
    assert found[0] == found[3] == "the"
    assert found[1] == "dog"
    assert not {"sees", "bird"} & set(found)


def test_the_share_is_set_once():
    with pytest.raises(SettingsError, match=r"overlap\.share instead"):
        changed(otherwise={"share": 0.5})
    assert changed(share=0.0, otherwise={"share": 1}) == changed(share=0.0)


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
