"""The text of gold links: numbers are taken off, words stay as the links count them."""

import pytest

from interlace.core.errors import DataError
from interlace.readers import READERS
from interlace.text.lines import write_lines


def read(*paths):
    return list(READERS.build("gold").read_chunks(list(paths), ["en", "hi"]))


def test_numbered_sides_are_pairs_without_their_numbers(tmp_path):
    write_lines(tmp_path / "a.en", ["<s snum=3> the house </s>", "<s snum=7> a b </s>"])
    write_lines(tmp_path / "a.hi", ["3\tघर", "7\tक ख"])
    (pairs,) = read(tmp_path / "a.en", tmp_path / "a.hi")
    assert pairs.source.lines == ["the house", "a b"]
    assert pairs.target.tokens(1) == ["क", "ख"]
    assert (pairs.source.language, pairs.target.language) == ("en", "hi")


def test_words_that_hold_blanks_stay_one_word_and_are_noted_once(tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.readers.CHUNK", 1)
    row = '{"src_words": ["New York"], "tgt_words": ["न्यूयॉर्क"], "alignment": [[0, 0]]}'
    write_lines(tmp_path / "a.jsonl", [row, row])
    first, second = read(tmp_path / "a.jsonl")
    assert first.source.tokens(0) == ["New_York"]
    assert sum(first.source.notes.values()) == 2
    assert not second.source.notes


def test_other_sentences_on_the_other_side_are_refused(tmp_path):
    write_lines(tmp_path / "a.en", ["1\ta"])
    write_lines(tmp_path / "a.hi", ["2\tक"])
    with pytest.raises(DataError, match=r"has sentence 1 where .* has 2"):
        read(tmp_path / "a.en", tmp_path / "a.hi")
