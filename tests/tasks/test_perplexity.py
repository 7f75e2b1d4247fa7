"""Likelihoods against slow loops over one position at a time."""

import logging
import math

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM, BertModel

from interlace.core.errors import CheckpointError, DataError
from interlace.data.vocab import Vocab
from interlace.models.build import encoder_config, from_shape, load
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


def surprise(backbone, ids, at, label, *, causal):
    """Nats of one subword at one place of one row."""
    with torch.inference_mode():
        states = backbone.encode({"input_ids": torch.tensor([ids])}, causal=causal)[0, at]
        return -torch.log_softmax(backbone.logits(states[None]).double(), dim=-1)[0, label].item()


@pytest.fixture
def text(vocab):
    return spelled(vocab, LINES)


def spelled(vocab, lines):
    return encode_spelled([Text.of(lines, "en")], vocab)


def reading(backbone, kind):
    """The model, reading from left to right if its perplexity is to be causal."""
    backbone.causal = kind == "causal"
    return backbone


def left_to_right(backbone, vocab, text, length):
    """Total nats and count, by the definition: a stream cut into rows, one subword predicted at a time."""
    stream = [number for row in text.ids for number in [*row.tolist(), vocab.end]]
    total = 0.0
    for place, label in enumerate(stream):
        before = stream[place // length * length : place]
        total += surprise(backbone, [vocab.begin, *before], len(before), label, causal=True)
    return total, len(stream)


@pytest.mark.parametrize("max_length", [48, 12])
def test_causal_perplexity_equals_the_definition(vocab, model, text, max_length):
    backbone = reading(model(init_std=0.5), "causal")
    task = Perplexity(per="word", max_length=max_length, tokens_per_batch=30)
    scores = task.measure(backbone, vocab, text)
    total, count = left_to_right(backbone.eval(), vocab, text, max_length - 2)
    words = 4 + 1 + 8 + 2 + len(LINES)
    characters = sum(map(len, LINES)) + len(LINES)
    assert scores["perplexity per subword"] == pytest.approx(math.exp(total / count), rel=1e-4)
    assert scores["perplexity per word"] == pytest.approx(math.exp(total / words), rel=1e-4)
    assert scores["bits per character"] == pytest.approx(total / characters / math.log(2), rel=1e-4)


def test_pseudo_perplexity_masks_each_subword_alone(vocab, model, text):
    backbone = model(init_std=0.5)
    scores = Perplexity(tokens_per_batch=40).measure(backbone, vocab, text)
    backbone.eval()
    total = 0.0
    for row in text.ids:
        ids = [vocab.begin, *row.tolist(), vocab.end]
        for place in range(1, len(ids) - 1):
            shown = [*ids[:place], vocab.mask, *ids[place + 1 :]]
            total += surprise(backbone, shown, place, ids[place], causal=False)
    assert scores["pseudo-perplexity per subword"] == pytest.approx(
        math.exp(total / len(text.ids.flat)), rel=1e-4
    )
    assert scores["pseudo-perplexity per word"] == pytest.approx(math.exp(total / 15), rel=1e-4)
    assert "perplexity per word" not in scores.metrics  # tables must not compare the two


@pytest.fixture(scope="module")
def small():
    """A vocabulary that cannot spell all (a strange letter is a blank and the unknown subword), and a model over it."""
    vocab = Vocab.learn({"en": ["the doctor reads letters"] * 20}, size=60, kind="bpe")
    return vocab, from_shape(Shape(layers=1, width=16, heads=2, max_length=48), vocab, seed=0)


@pytest.mark.parametrize("kind", ["causal", "pseudo"])
def test_unknown_subwords_are_neither_predicted_nor_counted(small, kind):
    vocab, backbone = small
    backbone = reading(backbone, kind)
    text = spelled(vocab, ["the ж doctor"])
    unknown = np.isin(text.ids.flat, vocab.special_ids)
    assert unknown.sum() == 1
    scores = Perplexity().measure(backbone, vocab, text)
    assert scores["unknown"] == pytest.approx(100 / len(unknown))


def test_long_sentences_are_truncated(vocab, model, text):
    scores = Perplexity(max_length=8).measure(model(), vocab, text)
    beyond = np.maximum(text.lengths - 6, 0).sum() / text.lengths.sum()
    assert scores["cut"] == pytest.approx(100 * beyond) != 0
    assert Perplexity(max_length=8).measure(reading(model(), "causal"), vocab, text)["cut"] == 0


def test_of_many_sentences_a_fixed_sample_is_measured(vocab, model, text, monkeypatch):
    monkeypatch.setattr("interlace.tasks.perplexity._MAX_SENTENCES", 2)
    one, two = (Perplexity().measure(model(), vocab, text) for _ in range(2))
    assert one.metrics == two.metrics
    assert one["sentences"] == 2
    assert Perplexity().measure(reading(model(), "causal"), vocab, text)["sentences"] == 4


def test_lines_without_text_are_counted(tmp_path, vocab, caplog):
    (tmp_path / "a.en").write_text("the doctor\n\n \nreads\n")
    with caplog.at_level(logging.INFO, "interlace"):
        assert len(Perplexity(files="a.{language}").examples("test", "en", vocab, tmp_path)) == 2
    assert "2 lines without text left out" in caplog.text
    (tmp_path / "a.en").write_text("\n")
    with pytest.raises(DataError, match="no line holds text"):
        Perplexity(files="a.{language}").examples("test", "en", vocab, tmp_path)


def test_an_encoder_without_its_head_has_no_perplexity(vocab, text, tmp_path):
    """Transformers draws a head by chance, and its figure would look like any other."""
    config = encoder_config(Shape(family="bert", layers=1, width=16, heads=2, max_length=48), vocab)
    BertModel(config).save_pretrained(tmp_path / "alone")
    BertForMaskedLM(config).save_pretrained(tmp_path / "whole")
    message = "an encoder without its vocabulary head, so it cannot predict text; take"
    with pytest.raises(CheckpointError, match=message):
        Perplexity().measure(load(tmp_path / "alone"), vocab, text)
    assert Perplexity().measure(load(tmp_path / "whole"), vocab, text)["pseudo-perplexity"] > 1


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
def test_characters_are_those_of_the_line_for_every_vocabulary(kind):
    """A WordPiece vocabulary decodes to blanks between Chinese characters, bytes to parts of them."""
    lines = ["黑队的防守很好。", "the doctor, who reads", " 我 reads  "]
    vocab = learned_vocab({"zh": lines * 30}, 300, kind)
    text = encode_spelled([Text.of(lines, "zh")], vocab)
    assert not np.isin(text.ids.flat, vocab.special_ids).any()
    size = sizes_of(text, vocab)
    assert size.characters.tolist() == [len(line.strip()) for line in lines]
    assert size.words[1] == 4
