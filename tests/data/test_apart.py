from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.data.vocab import Vocab
from interlace.text import Text

KINDS = ["byte-bpe", "bpe", "wordpiece", "unigram"]
LINES = ["我喜歡喝茶", "他不喜歡我", "she cannot read", "cannot be", "我喝茶"]


def text_of(*lines):
    """Words by line; a word that begins with `+` touches the one before."""
    spans, plain = [], []
    for words in lines:
        line, places = "", []
        for word in words:
            line += " " if line and not word.startswith("+") else ""
            places.append((len(line), len(line) + len(word.removeprefix("+"))))
            line += word.removeprefix("+")
        plain.append(line)
        spans.append(places)
    return Text("xx", plain, Ragged.of(spans, width=2), "gold")


@pytest.fixture(scope="module", params=KINDS)
def vocab(request):
    return Vocab.learn({"xx": LINES * 30}, size=420, kind=request.param)


def words_found(sentences, line):
    return sorted(set(sentences.words[line].tolist()))


def test_lines_without_shared_subwords_keep_their_plain_ids(vocab):
    text = text_of(["she", "read"], ["我"], [])
    assert vocab.encode_words_apart(text).ids == vocab.encode_text(text).ids
    assert vocab.encode_words_apart(text).words == vocab.encode_text(text).words


def test_every_word_gets_a_subword(vocab):
    text = text_of(["她", "+喜", "+歡", "+茶"], ["she", "can", "+not", "read"], ["我", "+喜歡", "+喝", "+茶"])
    sentences = vocab.encode_words_apart(text)
    assert [words_found(sentences, line) for line in range(3)] == [[0, 1, 2, 3]] * 3


def test_a_cut_is_made_only_where_a_subword_is_shared():
    """Here `cannot` is one subword and stands between others."""
    vocab = Vocab.learn({"xx": LINES * 30}, size=420)
    text = text_of(["she", "can", "+not", "read"])
    assert words_found(vocab.encode_text(text), 0) == [0, 1, 3]
    sentences = vocab.encode_words_apart(text)
    assert vocab.tokens(sentences.ids[0]) == ["▁she", "▁can", "not", "▁read"]
    assert sentences.words[0].tolist() == [0, 1, 2, 3]


@given(st.data())
def test_words_are_in_order_and_whole_for_any_borders(data):
    vocab = Vocab.learn({"xx": LINES * 30}, size=420)
    plain = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3))
    spans = []
    for line in plain:
        inner = range(1, len(line))
        cuts = sorted(data.draw(st.sets(st.sampled_from(inner), max_size=4)))
        edges = [0, *cuts, len(line)]
        spans.append([(a, b) for a, b in pairwise(edges)])
    spans = [[(a, b) for a, b in row if line[a:b].strip() == line[a:b]] for line, row in zip(plain, spans, strict=True)]
    text = Text("xx", plain, Ragged.of(spans, width=2), "gold")
    sentences = vocab.encode_words_apart(text)
    for line, row in enumerate(sentences.words):
        assert row.tolist() == sorted(row.tolist())
        assert vocab.decode(sentences.ids[line]).replace(" ", "") == plain[line].replace(" ", "")
        if len(text.words[line]):
            touching = [w for w, (a, _) in enumerate(spans[line]) if w and spans[line][w - 1][1] == a]
            assert set(touching) <= set(row.tolist())


def test_no_blank_is_put_inside_a_line():
    vocab = Vocab.learn({"xx": LINES * 30}, size=420)
    sentences = vocab.encode_words_apart(text_of(["我", "+喜歡", "+喝", "+茶"]))
    assert vocab.tokens(vocab.encode(["喝"]).ids[0])[0] == "▁"
    assert vocab.tokens(sentences.ids[0])[:2] == ["▁我", "喜歡"]
    assert "▁" not in vocab.tokens(sentences.ids[0])
