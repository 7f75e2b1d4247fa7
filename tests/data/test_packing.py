"""Streams and packed sentences, compared with slow implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.corpus import Corpus
from interlace.data.packing import PackedSentences, Streams

SEPARATOR = 3


def _sentences(rows, words=None, language="en"):
    words = words or [list(range(len(row))) for row in rows]
    return Sentences(Ragged.of(rows), Ragged.of(words), language)


def test_the_example_of_the_docstring():
    streams = Streams(_sentences([[11, 12, 13], [21, 22], [31, 32, 33, 34]]), 4, SEPARATOR)
    assert len(streams) == 3
    assert streams.lengths.tolist() == [4, 4, 4]
    rows = streams.take([0, 1, 2])
    assert rows.ids.to_lists() == [[11, 12, 13, 3], [21, 22, 3, 31], [32, 33, 34, 3]]
    assert rows.words.to_lists() == [[0, 1, 2, -1], [0, 1, -1, 2], [0, 1, 2, -1]]
    assert rows.language == "en"


def test_the_last_row_of_a_shifted_stream_continues_at_the_beginning():
    streams = Streams(_sentences([[11, 12, 13], [21, 22], [31, 32, 33, 34]]), 4, SEPARATOR)
    rows = streams.take([2, 0], shift=3)
    assert rows.ids.to_lists() == [[3, 11, 12, 13], [3, 21, 22, 3]]
    assert rows.words.to_lists() == [[-1, 0, 1, 2], [-1, 0, 1, -1]]


def test_too_little_text_has_no_row():
    streams = Streams(_sentences([[11, 12]]), 8, SEPARATOR)
    assert len(streams) == 0
    assert len(streams.take([])) == 0
    assert len(Streams(_sentences([]), 8, SEPARATOR)) == 0


def _slow(rows, words, length, start):
    """A row of the ring, subword by subword: ids, and the (sentence, word) of each."""
    ring = []
    for number, (ids, owners) in enumerate(zip(rows, words, strict=True)):
        ring += [(i, (number, w)) for i, w in zip(ids, owners, strict=True)] + [(SEPARATOR, None)]
    return [ring[(start + step) % len(ring)] for step in range(length)]


@settings(max_examples=60)
@given(
    rows=st.lists(st.lists(st.integers(5, 99), max_size=6), min_size=1, max_size=12),
    length=st.integers(1, 9),
    shift=st.integers(0, 20),
    data=st.data(),
)
def test_rows_are_cut_from_the_ring(tmp_path_factory, vocab, rows, length, shift, data):
    words = [np.sort(data.draw(st.lists(st.integers(0, 3), min_size=len(r), max_size=len(r)))).tolist() for r in rows]
    memory = _sentences(rows, [[int(word) for word in owners] for owners in words])
    chunks = [memory.take([row]) for row in range(len(rows))]
    folder = tmp_path_factory.mktemp("corpus")
    disk = Corpus.write(folder, chunks, languages=["en"], vocab=vocab, word_tokenizer="whitespace", shard_bytes=40)
    streams = Streams(memory, length, SEPARATOR)
    size = sum(len(row) + 1 for row in rows)
    assert len(streams) == size // length
    found = streams.take(range(len(streams)), shift)
    for number in range(len(streams)):
        expected = _slow(rows, words, length, number * length + shift)
        assert found.ids[number].tolist() == [subword for subword, _ in expected]
        owners = [owner for _, owner in expected]
        numbers = found.words[number].tolist()
        assert [number == -1 for number in numbers] == [owner is None for owner in owners]
        inside = [(n, o) for n, o in zip(numbers, owners, strict=True) if o is not None]
        if len(streams) > 1:  # a row as long as the ring may begin and end in the same word
            assert len(set(inside)) == len({n for n, _ in inside}) == len({o for _, o in inside})
        assert sorted({n for n, _ in inside}) == list(range(len({n for n, _ in inside})))
    assert Streams(disk, length, SEPARATOR).take(range(len(streams)), shift) == found


@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=20), length=st.integers(1, 8), shift=st.integers(0, 7))
def test_every_subword_is_read_once_an_epoch_but_for_the_remainder(lengths, length, shift):
    ids = iter(range(5, 200))
    streams = Streams(_sentences([[next(ids) for _ in range(size)] for size in lengths]), length, SEPARATOR)
    flat = streams.take(range(len(streams)), shift).ids.flat
    own = flat[flat != SEPARATOR]
    total = sum(lengths) + len(lengths)
    assert len(np.unique(own)) == len(own)
    assert len(flat) == total - total % length


END = 9


def _rows(sentences):
    return [row.tolist() for row in sentences.ids], [row.tolist() for row in sentences.words]


def test_the_packing_example_of_the_docstring():
    text = _sentences([[1, 2, 3], [4, 5], [6, 7, 8, 1]], [[0, 1, 2], [0, 1], [0, 1, 2, 3]])
    filled = PackedSentences(text, 6, END)
    assert filled.lengths.tolist() == [6, 4]
    assert _rows(filled.take([0, 1])) == ([[1, 2, 3, END, 4, 5], [6, 7, 8, 1]], [[0, 1, 2, -1, 3, 4], [0, 1, 2, 3]])


def test_both_sides_hold_the_same_pairs():
    source = _sentences([[1], [2], [3], [4]])
    target = _sentences([[5, 5], [6, 6, 6], [7], [8]], language="de")
    filled = PackedSentences(Pairs(source, target), 5, END)
    pairs = filled.take([0, 1])
    assert _rows(pairs.source)[0] == [[1], [2, END, 3]]  # 5 5 / 6 6 6 would be six with what parts them
    assert _rows(pairs.target)[0] == [[5, 5], [6, 6, 6, END, 7]]
    assert (pairs.source.language, pairs.target.language) == ("en", "de")
    assert len(filled) == 3


def test_packed_words_keep_their_subwords_together():
    filled = PackedSentences(_sentences([[1, 2, 3], [4, 5]], [[0, 0, -1], [0, 0]]), 8, END)
    assert _rows(filled.take([0]))[1] == [[0, 0, -1, -1, 1, 1]]


def test_packs_only_the_given_rows():
    filled = PackedSentences(_sentences([[1], [2] * 20, [3]]), 4, END, np.array([0, 2]))
    assert _rows(filled.take([0]))[0] == [[1, END, 3]]


def _packed_one_by_one(sides, room):
    """Members of each row, filled pair by pair; where a side has nothing, there is nothing to learn."""
    found = []
    for row, lengths in enumerate(zip(*sides, strict=True)):
        if not min(lengths):
            continue
        trial = [*(found[-1] if found else []), row]
        sums = [sum(side[member] for member in trial) + len(trial) - 1 for side in sides]
        if found and max(sums) <= room:
            found[-1].append(row)
        else:
            assert max(lengths) <= room
            found.append([row])
    return found


_LENGTHS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30)


@given(lengths=_LENGTHS, room=st.integers(6, 15), data=st.data())
def test_agrees_with_packing_pair_by_pair(lengths, room, data):
    sides = [[one for one, _ in lengths], [other for _, other in lengths]]
    texts = [[list(range(1, size + 1)) for size in side] for side in sides]
    pairs = Pairs(_sentences(texts[0]), _sentences(texts[1], language="de"))
    filled, expected = PackedSentences(pairs, room, END), _packed_one_by_one(sides, room)
    assert len(filled) == len(expected)
    wanted = data.draw(st.lists(st.integers(0, max(len(expected) - 1, 0)), max_size=5 if expected else 0))
    taken = filled.take(wanted)
    for side, text, lengths_ in zip((taken.source, taken.target), texts, filled.side_lengths, strict=True):
        joined = [[part for member in expected[row] for part in [*text[member], END]][:-1] for row in wanted]
        assert [row.tolist() for row in side.ids] == joined
        assert [len(row) for row in joined] == lengths_[wanted].tolist()
        ends = [[number for number, subword in enumerate(row) if subword == END] for row in joined]
        assert [np.flatnonzero(row < 0).tolist() for row in side.words] == ends
        assert all((np.diff(row[row >= 0]) == 1).all() for row in side.words)


@pytest.mark.parametrize("text", [[], [[], []]])
def test_empty_text_has_no_packed_rows(text):
    filled = PackedSentences(_sentences(text), 5, END)
    assert len(filled) == 0
    assert filled.lengths.tolist() == []
