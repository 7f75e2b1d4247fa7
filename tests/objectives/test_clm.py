"""Predicting from left to right, worked by hand: what is predicted from where, and what never is."""

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.packing import Streams
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.clm import Clm
from little_words import SPECIALS, LittleWords

TOKENS = LittleWords("the doctor reads he works in Berlin", (*SPECIALS, "<unk>"))
PLAIN = Traits("bert", 64)


def predictions(clm, *texts, traits=PLAIN):
    """For each row, `seen > predicted` in order."""
    prepared = clm.prepare(Resources(TOKENS.vocab, traits))
    batch, found = clm.batch(TOKENS.sentences(texts), prepared, 0, None), [[] for _ in texts]
    seen, predicted = TOKENS.names(batch.inputs["input_ids"][batch.at]), TOKENS.names(batch.labels)
    for row, one, other in zip(batch.at[0], seen, predicted, strict=True):
        found[row].append(f"{one} > {other}")
    return found, batch


def test_predicts_a_stream_with_its_sentence_ends():
    found, batch = predictions(Clm(), "the doctor </s> he works")
    assert found == [["<s> > the", "the > doctor", "doctor > </s>", "</s> > he", "he > works"]]
    assert batch.counts == {"clm": 5}
    assert batch.tokens == 7
    assert batch.languages == {"en": 7}
    assert predictions(Clm(context_size=2), "the doctor reads in")[0] == [
        ["doctor > reads", "reads > in"]
    ]


def test_never_predicts_padding_the_final_end_and_unknown_tokens():
    found, batch = predictions(Clm(), "the <unk> reads", "he")
    assert found == [["<s> > the", "<unk> > reads"], ["<s> > he"]]
    assert batch.inputs["attention_mask"].sum() == batch.tokens == 8


def test_rejects_context_without_predictions():
    with pytest.raises(SettingsError, match="at most max_length - 3 = 5, found 6"):
        Clm(max_length=8, context_size=6)
    assert predictions(Clm(max_length=8, context_size=5), "the doctor reads he works in")[0] == [
        ["works > in"]
    ]


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a few words to learn the alphabet from"] * 20}, size=300)


def stream(vocab, count):
    rng = np.random.default_rng(0)
    ids = Ragged.from_lengths(
        rng.choice(vocab.regular_ids, size=20 * count).astype(np.int32), [5] * 4 * count
    )
    text = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), "en")
    return Streams(text, 14, vocab.end).take(np.arange(count))


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_loss_equals_that_of_truncated_rows(family, vocab):
    shape = Shape(
        family=family, layers=1, width=16, heads=2, max_length=16, dropout=0, attention_dropout=0
    )
    backbone = from_shape(shape, vocab, causal=True).eval()
    clm = Clm(max_length=16)
    batch = clm.batch(stream(vocab, 3), clm.prepare(Resources(vocab, backbone.traits)), 0, None)
    batch = batch.to(torch.device("cpu"))
    ids = batch.inputs["input_ids"]
    with torch.no_grad():
        ours = clm.loss(backbone, torch.nn.ModuleDict(), batch)["clm"].total
        theirs = sum(  # a row truncated after each token: nothing later is visible
            -log_softmax(
                backbone.logits(backbone.encode({"input_ids": ids[:, :column]})[:, -1]), -1
            )
            .gather(1, ids[:, column : column + 1])
            .sum()
            for column in range(1, 15)
        )
    assert len(batch.labels) == 3 * 14
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
