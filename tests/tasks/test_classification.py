"""Heads that classify sentences, pairs and words, and tasks over them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.objectives import Resources
from interlace.tasks import TASKS
from interlace.tasks.common.classification import Classifier, Tagger
from interlace.tasks.common.prediction import predict_all
from little_rows import sentences_of
from little_words import tagged

RNG = generator(Purpose.BATCH, 0)
CPU = torch.device("cpu")


def pairs(labels=(2, 0), languages=("en", "en")):
    sides = (
        sentences_of(Ragged.of([[100, 101], [102]]), languages[0]),
        sentences_of(Ragged.of([[103], [104, 105, 106]]), languages[1]),
    )
    return LabeledExamples(Pairs(*sides), labels=np.array(labels, np.int32))


def batch_of(learner, examples, vocab, backbone):
    return learner.batch(examples, learner.prepare(Resources(vocab, backbone.traits)), 0, RNG)


def test_labelled_pairs_are_one_sequence(vocab, model):
    batch = batch_of(Classifier(classes=3), pairs(), vocab, model())
    first = [vocab.begin, 100, 101, *vocab.separator_ids, 103, vocab.end]
    assert batch.inputs["input_ids"][0, : len(first)].tolist() == first
    assert batch.at[0].tolist() == [0, 1]
    assert batch.at[1].tolist() == [0, 0]
    assert batch.labels.tolist() == [2, 0]
    assert batch.counts == {"classification": 2}

    batch = batch_of(Classifier(classes=3), pairs((-1, 1)), vocab, model())
    assert batch.at[0].tolist() == [1]
    assert batch.labels.tolist() == [1]
    assert batch.counts == {"classification": 1}


def labelled(words, tags, language="en"):
    """Subwords numbered from 100, so that each can be told apart."""
    words = Ragged.of(words)
    ids = Ragged(np.arange(100, 100 + len(words.values), dtype=np.int32), words.offsets)
    return LabeledExamples(Sentences(ids, words, language), tags=Ragged.of(tags))


def test_predicts_tags_at_first_subwords(vocab, model):
    # begin 100 101 102 103 end: words 0, 1 (two subwords), 2; and a shorter row whose only word has no tag
    learner = Tagger(classes=17)
    examples = labelled([[0, 1, 1, 2], [0, 1]], [[4, 5, 6], [-1, 7]])
    batch = learner.batch(examples, learner.prepare(Resources(vocab, model().traits)), 0, RNG)
    assert batch.inputs["input_ids"][0].tolist() == [vocab.begin, 100, 101, 102, 103, vocab.end]
    assert batch.at[0].tolist() == [0, 0, 0, 1]
    assert batch.at[1].tolist() == [1, 2, 4, 2]
    assert batch.labels.tolist() == [4, 5, 6, 7]
    assert batch.extra["words"].tolist() == [0, 1, 2, 1]
    assert batch.counts == {"tagging": 4}
    assert batch.tokens == 10


def test_words_beyond_the_maximum_length_have_no_prediction(vocab, model):
    learner, backbone = Tagger(classes=17, max_length=8), model()
    examples = labelled([list(range(9)), [0, 1]], [[3] * 9, [3, 3]])
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    predictions = predict_all(
        learner, backbone, learner.modules(backbone), examples, prepared, 64
    )
    assert (predictions[0] == -1).tolist() == [False] * 6 + [True] * 3
    assert (predictions[1] >= 0).all()


def test_the_loss_is_zero_without_any_word(vocab, model):
    learner, backbone = Tagger(classes=17, dropout=0.0), model()
    heads = learner.modules(backbone)
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    batch = learner.batch(labelled([[0, 1]], [[-1, -1]]), prepared, 0, RNG).to(CPU)
    total = learner.loss(backbone, heads, batch)["tagging"].total
    total.backward()
    assert total.item() == 0
    assert heads["linear"].weight.grad.abs().sum() == 0


def shared_pairs(labels):
    side = sentences_of(Ragged.of([[5, 6], [5, 6], [7], [8], [9]]))
    return LabeledExamples(Pairs(side, side), labels=np.array(labels, np.int32))


def test_outcomes_of_entities_and_pairs_by_hand():
    gold = Ragged.of([[1, 2, 0, 1], [0, 0], [1]])
    found = Ragged.of([[1, 2, 0, 0], [1, 0], [1]])
    outcomes = (
        TASKS.build({"name": "ner", "types": ["PER"]}).score(tagged(gold), found).outcomes
    )
    # 2 TP, and 2 TP + FP + FN
    assert (outcomes.score.tolist(), outcomes.weight.tolist()) == (
        [2, 0, 2],
        [3, 1, 2],
    )
    scores = TASKS.build("xnli").score(
        shared_pairs([0, 2, 2, 1, -1]), np.array([0, 1, 2, -1, 0])
    )
    outcomes = scores.outcomes
    assert (outcomes.score.tolist(), outcomes.weight.tolist()) == (
        [1, 0, 1, 0, 0],
        [1, 1, 1, 1, 0],
    )
    assert 100 * scores.outcomes.total == scores["accuracy"] == 50
    assert outcomes.groups.tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_pools_states_without_special_tokens(vocab, model, pooling):
    """The head reads the vector off unchanged: its weight is the identity."""
    backbone = model().eval()
    learner = Classifier(classes=backbone.width, pooling=pooling, dropout=0.0)
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.copy_(torch.eye(backbone.width))
    batch = batch_of(learner, pairs(), vocab, backbone).to(CPU)
    states = backbone.encode(batch.inputs)
    glue = len(vocab.separator_ids)
    content = [[1, 2, 3 + glue], [1, 2 + glue, 3 + glue, 4 + glue]]
    inner = [states[row, places] for row, places in enumerate(content)]
    pool = {"first": None, "mean": torch.mean, "max": torch.amax}[pooling]
    expected = torch.stack([pool(one, dim=0) for one in inner]) if pool else states[:, 0]
    torch.testing.assert_close(learner.logits(backbone, heads, batch), expected)
