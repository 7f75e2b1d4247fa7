"""Word pairs: the same numbers in memory and mapped from files, whole and in chunks."""

from __future__ import annotations

from interlace.links import WordPairs
from interlace.text import Text, TextPairs
from interlace.text.words import SPLITTERS


def pairs(sources, targets):
    split = SPLITTERS.build("blanks").split
    return TextPairs(Text("en", sources, split(sources)), Text("de", targets, split(targets)))


CHUNKS = [pairs(["a b", ""], ["x", "y y"]), pairs(["b c"], ["y z"])]


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


def test_slices_know_where_they_stand():
    chunks = list(WordPairs.of(CHUNKS).chunks(2))
    assert [(len(chunk), chunk.first) for chunk in chunks] == [(2, 0), (1, 2)]
    assert chunks[1].source.to_lists() == [[1, 2]]
    back = chunks[1].reversed()
    assert (back.source.to_lists(), back.source_types[2], back.first) == ([[1, 2]], "z", 2)
