from __future__ import annotations

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import LabeledExamples, Sentences
from interlace.objectives import Resources
from interlace.tasks.common.classification import Tagger
from interlace.tasks.common.prediction import predict_all

RNG = generator(Purpose.BATCH, 0)


def labelled(words, tags, language="en"):
    """Subwords numbered from 100, so that each can be told apart."""
    words = Ragged.of(words)
    ids = Ragged(np.arange(100, 100 + len(words.values), dtype=np.int32), words.offsets)
    return LabeledExamples(Sentences(ids, words, language), tags=Ragged.of(tags))


def test_first_subwords_of_tagged_words_are_asked_for(vocab, model):
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
    assert set(batch.inputs) == {"input_ids", "attention_mask"}


def test_a_word_without_subwords_is_passed_over(vocab, model):
    learner = Tagger(classes=17)
    batch = learner.batch(labelled([[0, 2]], [[4, 5, 6]]), learner.prepare(Resources(vocab, model().traits)), 0, RNG)
    assert batch.labels.tolist() == [4, 6]
    assert batch.extra["words"].tolist() == [0, 2]


def test_words_beyond_the_longest_row_have_no_prediction(vocab, model):
    learner, backbone = Tagger(classes=17, max_length=8), model()
    examples = labelled([list(range(9)), [0, 1]], [[3] * 9, [3, 3]])
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    predictions = predict_all(learner, backbone, learner.modules(backbone), examples, prepared, 64, "cpu")
    assert (predictions[0] == -1).tolist() == [False] * 6 + [True] * 3
    assert (predictions[1] >= 0).all()


def test_the_models_own_length_counts_too(vocab, model):
    learner = Tagger(classes=17, max_length=256)
    examples = labelled([list(range(60))], [[3] * 60])
    batch = learner.batch(examples, learner.prepare(Resources(vocab, model(max_length=48).traits)), 0, RNG)
    assert batch.inputs["input_ids"].shape == (1, 48)


def test_the_loss_is_a_sum_over_words(vocab, model):
    learner, backbone = Tagger(classes=17, dropout=0.0), model()
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.zero_()  # every tag is as likely as any other
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    batch = learner.batch(labelled([[0, 1, 2]], [[4, 5, 6]]), prepared, 0, RNG).to(torch.device("cpu"))
    assert learner.loss(backbone, heads, batch)["tagging"].total.item() == pytest.approx(3 * np.log(17), rel=1e-5)


def test_a_batch_without_tags_has_no_loss_but_a_gradient(vocab, model):
    learner, backbone = Tagger(classes=17), model()
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    heads = learner.modules(backbone)
    batch = learner.batch(labelled([[0, 1]], [[-1, -1]]), prepared, 0, RNG).to(torch.device("cpu"))
    total = learner.loss(backbone, heads, batch)["tagging"].total
    total.backward()
    assert total.item() == 0
    assert heads["linear"].weight.grad.abs().sum() == 0


def test_tags_of_another_word_tokenizer_are_refused(vocab, model):
    learner = Tagger(classes=17)
    with pytest.raises(DataError, match="row 1 has words beyond its 1 tags"):
        learner.batch(labelled([[0], [0, 1]], [[4], [4]]), learner.prepare(Resources(vocab, model().traits)), 0, RNG)


def test_language_ids_can_be_left_out_but_not_made_up(vocab, model):
    examples = labelled([[0]], [[4]])
    traits = model("en").traits
    with_ids, without = (
        learner.batch(examples, learner.prepare(Resources(vocab, traits)), 0, RNG).inputs
        for learner in (Tagger(classes=17), Tagger(classes=17, language_ids=False))
    )
    assert set(with_ids["token_type_ids"].flat) == {traits.languages["en"]}
    assert "token_type_ids" not in without
    with pytest.raises(SettingsError, match="no language embeddings"):
        Tagger(classes=17, language_ids=True).prepare(Resources(vocab, model().traits))
