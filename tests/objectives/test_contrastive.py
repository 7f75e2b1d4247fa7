"""The contrastive loss is the formula, however an update is split; copies of a sentence are no negatives."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from interlace.data import Pairs
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.contrastive import Contrastive
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from little_rows import Rows, random_ids, sentences_of

SHAPE = {"layers": 1, "width": 16, "heads": 2, "max_length": 32}


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a few words to learn the alphabet from"] * 20}, size=300)


def pairs_of(vocab, count):
    sides = []
    for seed, language in enumerate(("en", "xx")):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(3, 9, size=count)
        sides.append(sentences_of(random_ids(rng, vocab, lengths), language))
    return Pairs(*sides)


def training_of(vocab, pairs, size, micro_batches, dropout=0.0, **settings):
    objective = Contrastive(max_length=32, **settings)
    backbone = from_shape(
        Shape(**SHAPE, dropout=dropout, attention_dropout=dropout), vocab, seed=1
    )
    prepared = objective.prepare(Resources(vocab, backbone.traits))
    source = MixtureSource("contrastive", "en-xx", objective, prepared, Rows(pairs, size))
    accelerator = accelerator_for("no", threads=1)
    model = accelerator.prepare(TrainingModel(backbone, {"contrastive": objective}, 0))
    optimizer = OptimizerSettings(learning_rate=0.01, warmup=0)
    return Training(
        model,
        Mixture([source], 0),
        optimizer.build(model),
        optimizer,
        accelerator,
        3,
        micro_batches,
    )


def expected_losses(vectors, is_negative, temperature, margin):
    """By loops over the formula; is_negative: whether pair j is a negative of pair i."""
    unit = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
    losses = []
    for i in range(len(unit)):
        loss = 0.0
        for queries, candidates in ((unit[:, 0], unit[:, 1]), (unit[:, 1], unit[:, 0])):
            positive = math.exp((queries[i] @ candidates[i] - margin) / temperature)
            negatives = sum(
                math.exp(queries[i] @ candidates[j] / temperature)
                for j in range(len(unit))
                if is_negative[i][j]
            )
            loss -= math.log(positive / (positive + negatives)) / 2
        losses.append(loss)
    return losses


@pytest.mark.parametrize(("temperature", "margin"), [(0.05, 0.0), (0.2, 0.3)])
def test_the_loss_is_the_formula_without_copies_among_the_negatives(vocab, temperature, margin):
    """Pair 4 has the source of pair 0, and pair 5 the target of pair 1."""
    rows = pairs_of(vocab, 6)
    source = rows.source.take([0, 1, 2, 3, 0, 5])
    target = rows.target.take([0, 1, 2, 3, 4, 1])
    objective = Contrastive(max_length=32, temperature=temperature, margin=margin)
    backbone = from_shape(Shape(**SHAPE), vocab, seed=1).eval()
    prepared = objective.prepare(Resources(vocab, backbone.traits))
    batch = objective.batch(Pairs(source, target), prepared, 1, np.random.default_rng(0))
    batch = batch.to(torch.device("cpu"))
    copies = {(0, 4), (4, 0), (1, 5), (5, 1)}
    is_negative = [[i != j and (i, j) not in copies for j in range(6)] for i in range(6)]
    with torch.no_grad():
        states = backbone.encode(batch.inputs).numpy()
        [term] = objective.loss(backbone, objective.modules(backbone), batch).values()
    real = batch.inputs["attention_mask"].numpy()[:, :, None]
    means = (states * real).sum(axis=1) / real.sum(axis=1)
    vectors = np.stack([means[:6], means[6:]], axis=1).astype(np.float64)
    expected = expected_losses(vectors, is_negative, temperature, margin)
    assert term.total.item() == pytest.approx(sum(expected), rel=1e-4)


def gradients_of(training):
    """Of the first update, by one step of plain gradient descent."""
    names = dict(training.model.named_parameters())
    before = {name: weight.detach().clone() for name, weight in names.items()}
    sgd = torch.optim.SGD(training.model.parameters(), lr=1.0, fused=True)
    settings = OptimizerSettings(learning_rate=1.0, warmup=0, clip=1e9, schedule="constant")
    step = next(steps(replace(training, optimizer=sgd, settings=settings), Progress()))
    return step, {name: before[name] - weight.detach() for name, weight in names.items()}


@pytest.mark.parametrize("max_logits", [1 << 26, 30])
def test_gradients_of_micro_batches_equal_those_of_one_batch(vocab, monkeypatch, max_logits):
    """Also where the loss is computed in chunks of three pairs; pairs of two micro-batches share a source."""
    monkeypatch.setattr("interlace.objectives.contrastive.MAX_LOGITS", max_logits)
    pairs = pairs_of(vocab, 10)
    pairs = replace(pairs, source=pairs.source.take([0, 1, 2, 3, 4, 5, 6, 7, 0, 9]))
    one_step, one = gradients_of(training_of(vocab, pairs, 10, 1, margin=0.1))
    step, several = gradients_of(training_of(vocab, pairs, 2, 5, margin=0.1))
    assert step.losses["contrastive"] == pytest.approx(one_step.losses["contrastive"], rel=1e-5)
    assert step.losses["contrastive"] > 1.5  # of 9 negatives, not 1
    assert max(gradient.abs().max() for gradient in one.values()) > 1e-2
    for name, gradient in one.items():
        torch.testing.assert_close(several[name], gradient, rtol=1e-3, atol=1e-6, msg=name)


def test_both_passes_over_a_micro_batch_drop_the_same_units(vocab, monkeypatch):
    passes = []
    vectors_of = Contrastive.vectors

    def recorded(objective, backbone, batch):
        vectors = vectors_of(objective, backbone, batch)
        passes.append(vectors.detach().clone())
        return vectors

    monkeypatch.setattr(Contrastive, "vectors", recorded)
    training = training_of(vocab, pairs_of(vocab, 8), 4, 2, dropout=0.3)
    next(steps(training, Progress()))
    first, second, first_again, second_again = passes
    torch.testing.assert_close(first, first_again, rtol=0, atol=0)
    torch.testing.assert_close(second, second_again, rtol=0, atol=0)
    assert not torch.equal(first, second)


def test_an_update_brings_translations_together(vocab):
    training = training_of(vocab, pairs_of(vocab, 12), 4, 3)
    training = replace(training, last=30)
    losses = [step.losses["contrastive"] for step in steps(training, Progress())]
    assert losses[0] > math.log(4)
    assert losses[-1] < 0.5 * losses[0]
