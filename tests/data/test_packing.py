"""Streams and packed sentences, compared with slow implementations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.data import Pairs
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import PackedSentences, Streams
from little_words import sentences

SEPARATOR = 3


@settings(max_examples=60)
@given(rows=st.lists(st.lists(st.integers(5, 99), max_size=6), min_size=1, max_size=12), length=st.integers(1, 9),
       shift=st.integers(0, 20))  # fmt: skip
def test_rows_are_cut_from_the_ring(tmp_path_factory, rows, length, shift):
    memory = sentences(rows, [[place // 2 for place in range(len(row))] for row in rows])
    chunks = [memory.take([row]) for row in range(len(rows))]
    folder = tmp_path_factory.mktemp("corpus")
    disk = Corpus.write(folder, chunks, languages=["en"], word_tokenizer="whitespace")
    ring = [subword for row in rows for subword in [*row, SEPARATOR]]
    streams = Streams(memory, length, SEPARATOR)
    assert len(streams) == len(ring) // length
    found = streams.take(range(len(streams)), shift)
    places = shift + np.arange(len(streams) * length)
    assert found.ids.flat.tolist() == np.array(ring)[places % len(ring)].tolist()
    for ids, words in zip(found.ids, found.words, strict=True):
        inside = words[words >= 0]
        assert (words < 0).tolist() == (ids == SEPARATOR).tolist()
        assert np.unique(inside).tolist() == list(range(inside.max(initial=-1) + 1))
    assert Streams(disk, length, SEPARATOR).take(range(len(streams)), shift) == found


def rows_of(sentences):
    return sentences.ids.to_lists(), sentences.words.to_lists()


@pytest.fixture
def write(tmp_path_factory):
    """Write sentences or pairs as a corpus."""

    def write(text):
        kind, languages = Corpus, ["en"]
        if isinstance(text, Pairs):
            kind, languages = ParallelCorpus, ["en", "de"]
        folder = tmp_path_factory.mktemp("corpus")
        return kind.write(folder, [text], languages=languages, word_tokenizer="whitespace")

    return write


def test_the_packing_example_of_the_docstring(write):
    text = write(sentences([[1, 2, 4], [4, 5], [6, 7, 8, 1]]))
    packed = PackedSentences(text, 6, SEPARATOR)
    assert packed.lengths.tolist() == [6, 4]
    ids = [[1, 2, 4, SEPARATOR, 4, 5], [6, 7, 8, 1]]
    assert rows_of(packed.take([0, 1])) == (ids, [[0, 1, 2, -1, 3, 4], [0, 1, 2, 3]])
    target = sentences([[5, 5], [6, 6, 6], [7]], language="de")
    text = write(Pairs(sentences([[1], [2], [4]]), target))
    pairs = PackedSentences(text, 5, SEPARATOR).take([0, 1])
    # 5 5 / 6 6 6 would be six with the separator
    assert pairs.source.ids.to_lists() == [[1], [2, SEPARATOR, 4]]
    assert pairs.target.ids.to_lists() == [[5, 5], [6, 6, 6, SEPARATOR, 7]]


def test_packed_words_keep_their_subwords_together(write):
    text = write(sentences([[1, 2, 4], [4, 5]], [[0, 0, -1], [0, 0]]))
    words = PackedSentences(text, 8, SEPARATOR).take([0]).words
    assert words.to_lists() == [[0, 0, -1, -1, 1, 1]]
    assert PackedSentences(write(sentences([[], []])), 8, SEPARATOR).lengths.tolist() == []
    text = write(sentences([[1], [2] * 20, [4], [5]]))
    assert PackedSentences(text, 4, SEPARATOR).lengths.tolist() == [1, 20, 3]
    packed = PackedSentences(text, 4, SEPARATOR, np.array([0, 2]))
    assert packed.take([0]).ids.to_lists() == [[1, SEPARATOR, 4]]
