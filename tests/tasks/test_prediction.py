import numpy as np
import pytest
import torch

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples
from interlace.objectives import Prepared, Resources
from interlace.tasks.common.classification import Tagger
from interlace.tasks.common.prediction import buckets, predict_all
from little_rows import random_ids, sentences_of


def sentences(vocab, seed, rows=40, longest=30):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, size=rows)
    return sentences_of(random_ids(rng, vocab, lengths), word=2)


def tagged(vocab):
    inner = sentences(vocab, 1)
    words = (inner.lengths + 1) // 2
    tags = np.random.default_rng(2).integers(-1, 5, size=words.sum()).astype(np.int32)
    return Tagger(classes=5), LabeledExamples(inner, tags=Ragged.from_lengths(tags, words))


@pytest.fixture
def case(vocab, model):
    learner, examples = tagged(vocab)
    backbone = model(init_std=0.5)
    torch.manual_seed(1)
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.mul_(50)  # far from any tie
    return (
        learner,
        examples,
        backbone,
        heads,
        learner.prepare(Resources(vocab, backbone.traits)),
    )


def predictions(case, tokens):
    learner, examples, backbone, heads, prepared = case
    found = predict_all(learner, backbone, heads, examples, prepared, tokens)
    return found, learner.gold(examples)


def test_predictions_do_not_depend_on_batch_size(case):
    expected, gold = predictions(case, 10_000)
    assert len(np.unique(expected.flat)) > 2
    assert ((expected.flat == -1) == (gold.flat == -1)).all()
    for tokens in (40, 100, 300):
        found, _ = predictions(case, tokens)
        np.testing.assert_array_equal(found.flat, expected.flat)


def test_buckets_hold_every_row_once_and_little_padding(vocab, model):
    inner = sentences(vocab, 7, rows=300)
    rows = list(buckets(inner, Prepared(vocab, model().traits), 256, 200))
    assert sorted(np.concatenate(rows).tolist()) == list(range(300))
    lengths = inner.lengths + 2
    padded = sum(lengths[batch].max() * len(batch) for batch in rows)
    assert all(lengths[batch].max() * len(batch) <= 200 for batch in rows)
    assert lengths.sum() > 0.9 * padded
