"""Word pairs: the same numbers in memory and mapped from files, whole and in chunks."""

import gc

import pytest

from interlace.alignment import WordPairs
from interlace.core.errors import DataError
from interlace.text import Text, TextPairs

CHUNKS = [
    TextPairs.of(["a b", ""], ["x", "y y"], ("en", "de")),
    TextPairs.of(["b c"], ["y z"], ("en", "de")),
]


def test_chunks_are_numbered_as_one_text():
    words = WordPairs.of(CHUNKS)
    assert (len(words), words.languages) == (3, ("en", "de"))
    assert words.source.to_lists() == [[0, 1], [], [1, 2]]
    assert words.target.to_lists() == [[0], [1, 1], [1, 2]]
    assert (words.source_types, words.target_types) == (["a", "b", "c"], ["x", "y", "z"])


def test_spooled_words_are_those_in_memory(tmp_path):
    spooled, held = WordPairs.of(CHUNKS, tmp_path), WordPairs.of(CHUNKS)
    assert (spooled.source, spooled.target) == (held.source, held.target)
    (tmp_path / "none").mkdir()
    assert len(WordPairs.of([], tmp_path / "none")) == 0


def test_rejects_texts_of_other_languages_or_word_tokenizers():
    other_tokenizer = TextPairs.of(["a"], ["b"], ("en", "de"), "unicode")
    with pytest.raises(DataError, match="en-de with the word tokenizer 'unicode' follows"):
        WordPairs.of([*CHUNKS, other_tokenizer])
    with pytest.raises(DataError, match=r"text in de-en .* follows text in en-de"):
        WordPairs.of([*CHUNKS, TextPairs.of(["a"], ["b"], ("de", "en"))])
    unlike_sides = TextPairs(Text.of(["a"], "en", "unicode"), Text.of(["a"], "de"))
    with pytest.raises(DataError, match="'unicode', but target words by 'whitespace'"):
        WordPairs.of([unlike_sides])


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_spool_is_closed_where_reading_fails(tmp_path):
    def broken():
        yield CHUNKS[0]
        raise DataError("damaged")

    with pytest.raises(DataError, match="damaged"):
        WordPairs.of(broken(), tmp_path)
    gc.collect()  # an open file would complain here
