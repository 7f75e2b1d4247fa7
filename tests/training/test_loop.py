"""A step equals one large batch, whatever the split; dropout and data come from keys."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from interlace.core.errors import RunError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.mlm import Mlm
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings


@dataclass
class Rows:
    """Batch k is the k-th slice of some rows."""

    rows: Sentences
    size: int

    def examples(self, index):
        start = index * self.size % len(self.rows)
        return self.rows.take(np.arange(start, start + self.size))


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a few words to learn the alphabet from"] * 20}, size=300)


def training(vocab, size, micro_batches, dropout=0.0, last=4):
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 9, size=64)
    ids = Ragged.from_lengths(rng.choice(vocab.regular_ids, size=lengths.sum()).astype(np.int32), lengths)
    rows = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), "en")
    # everything is masked, so that what is predicted does not depend on the split
    mlm = Mlm(masking={"rate": 1, "mask_share": 1, "random_share": 0})
    shape = Shape(layers=1, width=16, heads=2, max_length=32, dropout=dropout, attention_dropout=dropout)
    backbone = from_shape(shape, vocab, seed=1)
    source = MixtureSource("mlm", "en", mlm, mlm.prepare(Resources(vocab, backbone.traits)), Rows(rows, size))
    accelerator = accelerator_for("no", threads=1)
    model = accelerator.prepare(TrainingModel(backbone, {"mlm": mlm}, 0))
    settings = OptimizerSettings(learning_rate=0.01, warmup=0)
    return Training(model, Mixture([source], 0), settings.build(model), settings, accelerator, last, micro_batches)


def weights(training):
    return {name: value.detach().clone() for name, value in training.model.named_parameters()}


def test_micro_batches_equal_one_large_batch(vocab):
    whole, split = training(vocab, 8, 1), training(vocab, 2, 4)
    one, other = list(steps(whole, Progress())), list(steps(split, Progress()))
    for a, b in zip(one, other, strict=True):
        assert a.losses["mlm"] == pytest.approx(b.losses["mlm"], rel=1e-5)
        assert (a.tokens, a.counts) == (b.tokens, b.counts)
        assert a.gradient_norm == pytest.approx(b.gradient_norm, rel=1e-4)
    for name, value in weights(whole).items():
        torch.testing.assert_close(value, weights(split)[name], rtol=1e-3, atol=1e-5)


def test_the_same_seed_gives_the_same_bits_with_dropout(vocab):
    one, other = training(vocab, 4, 2, dropout=0.2), training(vocab, 4, 2, dropout=0.2)
    torch.manual_seed(1)
    list(steps(one, Progress()))
    torch.manual_seed(2)  # what others drew before does not matter
    list(steps(other, Progress()))
    for name, value in weights(one).items():
        assert torch.equal(value, weights(other)[name])


def test_stopping_ends_the_loop(vocab):
    progress = Progress()
    for step in steps(training(vocab, 4, 1), progress):
        progress.stop = step.index == 2
    assert progress.done == 2
    assert progress.drawn == (2,)


def test_the_loop_starts_where_progress_stands(vocab):
    found = [step.index for step in steps(training(vocab, 4, 1), Progress(done=2, drawn=(2,)))]
    assert found == [3, 4]


def test_a_diverged_step_stops_before_it_reaches_the_weights(vocab):
    made = training(vocab, 4, 1)
    run = steps(made, Progress())
    next(run)
    with torch.no_grad():
        made.model.backbone.input_embeddings[:] = torch.inf
    before = weights(made)
    with pytest.raises(RunError, match=r"step 2, mlm/en: the (mlm|gradient norm) is nan.*learning rate"):
        next(run)
    for name, value in weights(made).items():
        assert torch.equal(value, before[name]), name


class Forgetful(Mlm):
    """Forgets a term of its loss."""

    def batch(self, examples, prepared, step, rng):
        batch = super().batch(examples, prepared, step, rng)
        return replace(batch, counts={**batch.counts, "other": 1})


def test_terms_that_are_not_those_of_the_batch_are_named(vocab):
    made = training(vocab, 4, 1)
    learner = Forgetful()
    made.mixture.sources[0] = replace(made.mixture.sources[0], learner=learner)
    made.model.objectives["mlm"] = learner
    with pytest.raises(RunError, match="mlm: its loss has the terms 'mlm', but its batch counts 'mlm', 'other'"):
        next(steps(made, Progress()))


class Moody(Mlm):
    """Counts something else from the third step on."""

    def batch(self, examples, prepared, step, rng):
        batch = super().batch(examples, prepared, step, rng)
        return replace(batch, counts={**batch.counts, "mood": 1}) if step > 2 else batch


def test_an_objective_that_changes_what_it_counts_stops_before_it_reaches_the_weights(vocab):
    made = training(vocab, 4, 1)
    made.mixture.sources[0] = replace(made.mixture.sources[0], learner=Moody())
    run = steps(made, Progress())
    next(run)
    next(run)
    before = weights(made)
    with pytest.raises(RunError, match="mlm/en: its first batch counts 'mlm', 'en', another one 'mlm', 'mood', 'en'"):
        next(run)
    for name, value in weights(made).items():
        assert torch.equal(value, before[name]), name
