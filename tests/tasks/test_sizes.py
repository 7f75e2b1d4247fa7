"""One definition of words and characters, of sentences and of rows of running text."""

from __future__ import annotations

import numpy as np

from interlace.data import Sentences
from interlace.ragged import Ragged
from interlace.tasks._likelihood import running
from interlace.tasks._sizes import size_of, size_of_rows
from interlace.text import Text

LINES = ["the doctor reads letters", "letters", "the doctor"]


def encoded(vocab):
    [text] = list(vocab.encode_texts([Text.of(LINES, "en")]))
    return text


def test_characters_and_words_by_hand(vocab):
    assert size_of(encoded(vocab), vocab) == (7, sum(map(len, LINES)))


def test_rows_that_cut_no_word_have_the_size_of_their_sentences(vocab):
    text = encoded(vocab)
    whole, _ = running(text, 1000, 0, vocab.end)
    assert size_of_rows(whole, vocab) == (7 + 3, sum(map(len, LINES)) + 3)


def test_unknown_subwords_count_nowhere(vocab):
    text = encoded(vocab)
    ids = text.ids.flat.copy()
    ids[text.ids.offsets[1]] = vocab.unk  # the one word of the second sentence
    text = Sentences(Ragged(ids, text.ids.offsets), text.words, "en")
    rows, _ = running(text, 1000, 0, vocab.end)
    words, characters = size_of(text, vocab)
    assert (words, characters) == (6, sum(map(len, LINES)) - len("letters"))
    assert size_of_rows(rows, vocab) == (words + 3, characters + 3)


def test_rows_of_separators_alone(vocab):
    rows = Sentences(Ragged.of([[vocab.end], []]), Ragged.of([[-1], []]), "en")
    assert size_of_rows(rows, vocab) == (1, 1)
    assert np.all(rows.words.flat < 0)
