from __future__ import annotations

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.objectives import Resources
from interlace.tasks._classification import Classifier

RNG = generator(Purpose.BATCH, 0)
CPU = torch.device("cpu")


def sentences(rows, language="en"):
    ids = Ragged.of(rows)
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


def pairs(labels=(2, 0), languages=("en", "en")):
    sides = (sentences([[100, 101], [102]], languages[0]), sentences([[103], [104, 105, 106]], languages[1]))
    return LabeledExamples(Pairs(*sides), labels=np.array(labels, np.int32))


def batch_of(learner, examples, vocab, backbone):
    return learner.batch(examples, learner.prepare(Resources(vocab, backbone.traits)), 0, RNG)


def test_both_sides_stand_in_one_row(vocab, model):
    batch = batch_of(Classifier(classes=3), pairs(), vocab, model())
    first = [vocab.begin, 100, 101, *vocab.separator_ids, 103, vocab.end]
    assert batch.inputs["input_ids"][0, : len(first)].tolist() == first
    assert batch.at[0].tolist() == [0, 1]
    assert batch.at[1].tolist() == [0, 0]
    assert batch.labels.tolist() == [2, 0]
    assert batch.counts == {"classification": 2}
    assert "position_ids" not in batch.inputs


def test_unlabelled_rows_are_not_asked_for(vocab, model):
    batch = batch_of(Classifier(classes=3), pairs((-1, 1)), vocab, model())
    assert batch.at[0].tolist() == [1]
    assert batch.labels.tolist() == [1]
    assert batch.counts == {"classification": 1}


def test_each_side_has_its_own_language(vocab, model):
    backbone = model("en", "de")
    batch = batch_of(Classifier(classes=3), pairs(languages=("en", "de")), vocab, backbone)
    ids, languages = batch.inputs["input_ids"][0], batch.inputs["token_type_ids"][0]
    assert set(languages[ids == 101]) == {backbone.traits.languages["en"]}
    assert set(languages[ids == 103]) == {backbone.traits.languages["de"]}


def test_single_sentences_can_be_classified_too(vocab, model):
    examples = LabeledExamples(sentences([[100, 101]]), labels=np.array([1], np.int32))
    batch = batch_of(Classifier(classes=2), examples, vocab, model())
    assert batch.inputs["input_ids"].tolist() == [[vocab.begin, 100, 101, vocab.end]]


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_the_vector_is_what_the_setting_says(vocab, model, pooling):
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
    expected = {
        "first": states[:, 0],
        "mean": torch.stack([states[row, places].mean(dim=0) for row, places in enumerate(content)]),
        "max": torch.stack([states[row, places].amax(dim=0) for row, places in enumerate(content)]),
    }[pooling]
    torch.testing.assert_close(learner._scores(backbone, heads, batch), expected)


def test_examples_without_labels_are_refused(vocab, model):
    with pytest.raises(DataError, match="no labels"):
        batch_of(Classifier(classes=3), LabeledExamples(sentences([[100]])), vocab, model())
