"""Likelihoods against slow loops over one position at a time."""

import logging
import math

import numpy as np
import pytest
import torch

from interlace.core.errors import CheckpointError, DataError
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.tasks.common.likelihood import (
    encode_spelled,
    sizes_of,
)
from interlace.tasks.perplexity import Perplexity
from interlace.text import Text
from learned_vocabs import learned_vocab

LINES = [
    "the doctor reads letters",
    "letters",
    "the doctor reads the letters the doctor reads",
    "der arzt",
]


def surprise(backbone, ids, at, label):
    """Nats of one subword at one place of one row."""
    with torch.inference_mode():
        states = backbone.encode({"input_ids": torch.tensor([ids])}, causal=True)[0, at]
        return -torch.log_softmax(backbone.logits(states[None]).double(), dim=-1)[
            0, label
        ].item()


@pytest.fixture
def text(vocab):
    return spelled(vocab, LINES)


def spelled(vocab, lines):
    return encode_spelled([Text.of(lines, "en")], vocab)


def causal(backbone):
    backbone.causal = True
    return backbone


def left_to_right(backbone, vocab, text, length):
    """Total nats and count, by the definition: a stream cut into rows, one subword predicted at a time."""
    stream = [number for row in text.ids for number in [*row.tolist(), vocab.end]]
    total = 0.0
    for place, label in enumerate(stream):
        before = stream[place // length * length : place]
        total += surprise(backbone, [vocab.begin, *before], len(before), label)
    return total, len(stream)


@pytest.mark.parametrize("max_length", [48, 12])
def test_causal_perplexity_equals_the_definition(vocab, model, text, max_length):
    backbone = causal(model(init_std=0.5))
    task = Perplexity(per="word", max_length=max_length, tokens_per_batch=30)
    scores = task.measure(backbone, vocab, text)
    total, count = left_to_right(backbone.eval(), vocab, text, max_length - 2)
    words = 4 + 1 + 8 + 2 + len(LINES)
    characters = sum(map(len, LINES)) + len(LINES)
    assert scores["perplexity per subword"] == pytest.approx(math.exp(total / count), rel=1e-4)
    assert scores["perplexity per word"] == pytest.approx(math.exp(total / words), rel=1e-4)
    assert scores["bits per character"] == pytest.approx(
        total / characters / math.log(2), rel=1e-4
    )


@pytest.fixture(scope="module")
def small():
    """A vocabulary that cannot spell all (a strange letter is a blank and the unknown subword), and a model over it."""
    vocab = Vocab.learn({"en": ["the doctor reads letters"] * 20}, size=60, kind="bpe")
    return vocab, from_shape(Shape(layers=1, width=16, heads=2, max_length=48), vocab, seed=0)


def test_unknown_subwords_are_neither_predicted_nor_counted(small):
    vocab, backbone = small
    text = spelled(vocab, ["the ж doctor"])
    unknown = np.isin(text.ids.flat, vocab.special_ids)
    assert unknown.sum() == 1
    scores = Perplexity().measure(causal(backbone), vocab, text)
    assert scores["unknown"] == pytest.approx(100 / len(unknown))
    assert scores.outcomes.weight.tolist() == [len(unknown)]  # its end is predicted


def test_lines_without_text_are_counted(tmp_path, vocab, caplog):
    (tmp_path / "a.en").write_text("the doctor\n\n \nreads\n")
    with caplog.at_level(logging.INFO, "interlace"):
        assert (
            len(Perplexity(files="a.{language}").examples("test", "en", vocab, tmp_path)) == 2
        )
    assert "2 lines without text left out" in caplog.text
    (tmp_path / "a.en").write_text("\n")
    with pytest.raises(DataError, match="no line holds text"):
        Perplexity(files="a.{language}").examples("test", "en", vocab, tmp_path)


def test_an_encoder_has_no_perplexity(vocab, model, text):
    with pytest.raises(CheckpointError, match="cannot predict the next subword"):
        Perplexity().measure(model(), vocab, text)


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
def test_characters_are_those_of_the_line_for_every_vocabulary(kind):
    """A WordPiece vocabulary decodes to blanks between Chinese characters, bytes to parts of them."""
    lines = ["黑队的防守很好。", "the doctor, who reads", " 我 reads  "]
    vocab = learned_vocab({"zh": lines * 30}, 300, kind)
    text = encode_spelled([Text.of(lines, "zh")], vocab)
    assert not np.isin(text.ids.flat, vocab.special_ids).any()
    words, characters = sizes_of(text, vocab)
    assert characters.tolist() == [len(line.strip()) for line in lines]
    assert words[1] == 4
