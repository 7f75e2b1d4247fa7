"""One definition of words and characters, of sentences and of rows of running text."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.vocab import Vocab
from interlace.tasks.common.likelihood import encode_spelled, running_text, sizes_of, stream_size, truncated
from interlace.text import Text


def size_of(text, vocab):
    return tuple(int(side.sum()) for side in sizes_of(text, vocab))


LINES = ["the doctor reads letters", "letters", "the doctor"]


def encoded(vocab):
    [text] = list(vocab.encode_texts([Text.of(LINES, "en")]))
    return text


def test_characters_and_words_by_hand(vocab):
    assert size_of(encoded(vocab), vocab) == (7, sum(map(len, LINES)))


def test_rows_that_cut_no_word_have_the_size_of_their_sentences(vocab):
    text = encoded(vocab)
    whole, _ = running_text(text, 1000, 0, vocab.end)
    assert stream_size(whole, vocab) == (7 + 3, sum(map(len, LINES)) + 3)


def test_unknown_subwords_count_nowhere(vocab):
    text = encoded(vocab)
    ids = text.ids.flat.copy()
    ids[text.ids.offsets[1]] = vocab.unk  # the one word of the second sentence
    text = Sentences(Ragged(ids, text.ids.offsets), text.words, "en")
    rows, _ = running_text(text, 1000, 0, vocab.end)
    words, characters = size_of(text, vocab)
    assert (words, characters) == (6, sum(map(len, LINES)) - len("letters"))
    assert stream_size(rows, vocab) == (words + 3, characters + 3)


def test_rows_of_separators_alone(vocab):
    rows = Sentences(Ragged.of([[vocab.end], []]), Ragged.of([[-1], []]), "en")
    assert stream_size(rows, vocab) == (1, 1)
    assert np.all(rows.words.flat < 0)


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
def test_characters_are_those_of_the_line_in_every_kind_of_vocabulary(kind):
    """A WordPiece vocabulary decodes to blanks between Chinese characters, bytes to parts of them."""
    lines = ["黑队的防守很好。", "the doctor, who reads", " 我 reads  "]
    vocab = Vocab.learn({"zh": lines * 30}, size=300, kind=kind)
    text = encode_spelled([Text.of(lines, "zh")], vocab)
    assert not np.isin(text.ids.flat, vocab.special_ids).any()
    words, characters = sizes_of(text, vocab)
    assert characters.tolist() == [len(line.strip()) for line in lines]
    assert words[1] == 4
    assert sizes_of(text.take([1, 0]), vocab)[1].tolist() == characters[[1, 0]].tolist()
    parts = [sizes_of(truncated(text, length), vocab)[1] for length in (1, 2, 100)]
    assert (parts[0] <= parts[1]).all()
    assert parts[2].tolist() == characters.tolist()


def test_what_is_unknown_has_no_characters():
    vocab = Vocab.learn({"en": ["the doctor"] * 30}, size=100, kind="wordpiece")
    text = encode_spelled([Text.of(["the 黑 doctor"], "en")], vocab)
    assert sizes_of(text, vocab)[1].tolist() == [len("the doctor")]
