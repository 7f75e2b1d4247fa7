import numpy as np
import pytest
import torch

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs, Sentences
from interlace.objectives import Prepared, Resources
from interlace.tasks.common.classification import Classifier, Tagger
from interlace.tasks.common.prediction import buckets, predict_all

CPU = torch.device("cpu")


def sentences(vocab, seed, rows=40, longest=30):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, size=rows)
    ids = Ragged.from_lengths(
        rng.choice(vocab.regular_ids, size=lengths.sum()).astype(np.int32), lengths
    )
    return Sentences(ids, Ragged((ids.columns() // 2).astype(np.int32), ids.offsets), "en")


def tagged(vocab):
    inner = sentences(vocab, 1)
    words = (inner.lengths + 1) // 2
    tags = np.random.default_rng(2).integers(-1, 5, size=words.sum()).astype(np.int32)
    return Tagger(classes=5), LabeledExamples(inner, tags=Ragged.from_lengths(tags, words))


def paired(vocab):
    labels = np.random.default_rng(3).integers(-1, 3, size=40).astype(np.int32)
    pairs = Pairs(sentences(vocab, 4), sentences(vocab, 5, longest=12))
    return Classifier(classes=3), LabeledExamples(pairs, labels=labels)


@pytest.fixture(params=[tagged, paired])
def case(request, vocab, model):
    learner, examples = request.param(vocab)
    backbone = model(init_std=0.5)
    torch.manual_seed(1)
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.mul_(50)  # far from any tie
    return learner, examples, backbone, heads, learner.prepare(Resources(vocab, backbone.traits))


def flat(values):
    return values.flat if isinstance(values, Ragged) else values


def predictions(case, tokens, rows=None):
    learner, examples, backbone, heads, prepared = case
    examples = examples if rows is None else examples.take(rows)
    found = predict_all(learner, backbone, heads, examples, prepared, tokens)
    return found, learner.gold(examples)


def test_predictions_do_not_depend_on_batch_size(case):
    expected, gold = predictions(case, 10_000)
    assert len(np.unique(flat(expected))) > 2
    assert ((flat(expected) == -1) == (flat(gold) == -1)).all()
    for tokens in (40, 100, 300):
        found, _ = predictions(case, tokens)
        np.testing.assert_array_equal(flat(found), flat(expected))


def test_buckets_hold_every_row_once_and_little_padding(vocab, model):
    inner = sentences(vocab, 7, rows=300)
    rows = list(buckets(inner, Prepared(vocab, model().traits), 256, 200))
    assert sorted(np.concatenate(rows).tolist()) == list(range(300))
    lengths = inner.lengths + 2
    padded = sum(lengths[batch].max() * len(batch) for batch in rows)
    assert all(lengths[batch].max() * len(batch) <= 200 for batch in rows)
    assert lengths.sum() > 0.9 * padded
