from __future__ import annotations

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.readers.lines import PlainLines
from interlace.text.lines import write_lines


def test_files_of_one_language_follow_each_other(tmp_path):
    write_lines(tmp_path / "a", ["one two", ""])
    write_lines(tmp_path / "b", ["three"])
    (text,) = PlainLines().read_chunks([tmp_path / "a", tmp_path / "b"], ["en"])
    assert text.lines == ["one two", "", "three"]
    assert [text.tokens(row) for row in range(3)] == [["one", "two"], [], ["three"]]


@pytest.mark.parametrize(("first", "second"), [(5, 3), (3, 5), (1, 2)])
def test_sides_of_different_length_are_refused_with_both_counts(tmp_path, first, second):
    write_lines(tmp_path / "a.en", ["x"] * first)
    write_lines(tmp_path / "a.de", ["y"] * second)
    with pytest.raises(DataError, match=rf"a\.en has {first} lines and .*a\.de has {second};"):
        list(PlainLines().read_chunks([tmp_path / "a.en", tmp_path / "a.de"], ["en", "de"]))


def test_words_are_the_word_tokenizers(tmp_path):
    write_lines(tmp_path / "a", ["it's 我们."])
    (text,) = PlainLines(word_tokenizer="unicode").read_chunks([tmp_path / "a"], ["en"])
    assert (text.tokens(0), text.word_tokenizer) == (["it", "'", "s", "我", "们", "."], "unicode")
    with pytest.raises(SettingsError, match="there is no word tokenizer 'unicod'; did you mean 'unicode'"):
        list(PlainLines(word_tokenizer="unicod").read_chunks([tmp_path / "a"], ["en"]))
