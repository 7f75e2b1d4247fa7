"""The training loop: one large batch equals micro-batches; counts agree between batches and processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import RunError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Batch, Resources
from interlace.objectives.mlm import Mlm
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, StepCounts, Training, TrainingModel, steps
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


def test_the_loss_weight_scales_the_gradient_and_not_the_loss(vocab):
    moved, losses = [], []
    for schedule in ("1", "0:0.25,100:0.25"):
        made = training(vocab, 4, 1, last=1)
        made.mixture.sources[0] = replace(made.mixture.sources[0], loss_weight=schedule)
        made = replace(made, optimizer=torch.optim.SGD(made.model.parameters(), lr=0.01))
        made = replace(made, settings=OptimizerSettings(learning_rate=0.01, warmup=0, clip=1e9))
        before = weights(made)
        losses += [step.losses["mlm"] for step in steps(made, Progress())]
        moved.append({name: value - before[name] for name, value in weights(made).items()})
    assert losses[0] == losses[1]
    for name, change in moved[0].items():
        torch.testing.assert_close(0.25 * change, moved[1][name], rtol=1e-3, atol=1e-7)


def test_the_loop_starts_where_progress_stands(vocab):
    found = [step.index for step in steps(training(vocab, 4, 1), Progress(done=2, drawn=(2,)))]
    assert found == [3, 4]


def test_divergence_stops_before_the_weights_change(vocab):
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


def test_rejects_loss_terms_without_counts(vocab):
    made = training(vocab, 4, 1)
    learner = Forgetful()
    made.mixture.sources[0] = replace(made.mixture.sources[0], learner=learner)
    made.model.objectives["mlm"] = learner
    with pytest.raises(RunError, match="mlm: its loss has the terms 'mlm', but its batch counts 'mlm', 'other'"):
        next(steps(made, Progress()))


SOURCE = SimpleNamespace(name="mine/en", objective="mine")


def batch(counts, languages=("en",)):
    none = np.zeros(0, np.int64)
    ids = np.zeros((2, 5), np.int64)
    return Batch({"input_ids": ids}, (none, none), none, counts, 10, languages=dict.fromkeys(languages, 5))


class Processes:
    """Two processes, of which the other one sends what it is told to."""

    num_processes = 2
    device = torch.device("cpu")

    def __init__(self, sends):
        self.sends = sends

    def reduce(self, values, _how):
        return values + torch.tensor(self.sends, dtype=values.dtype)


def alone():
    return StepCounts(SimpleNamespace(num_processes=1, device=torch.device("cpu")))


def two(monkeypatch, sends, names):
    monkeypatch.setattr("accelerate.utils.gather_object", lambda mine: [*mine, names])
    return StepCounts(Processes(sends))


@pytest.mark.parametrize(
    ("later", "named"),
    [
        (batch({"mlm": 1}), "'mlm', 'share', 'en', another one 'mlm', 'en'"),
        (batch({"share": 1, "mlm": 1}), "another one 'share', 'mlm', 'en'"),
        (batch({"mlm": 1, "share": 1}, languages=("en", "de")), "another one 'mlm', 'share', 'en', 'de'"),
        (batch({}, languages=()), "another one nothing"),
    ],
)
def test_rejects_batches_with_other_counts_than_the_first(later, named):
    first = batch({"mlm": 3, "share": 1})
    message = f"mine/en: its first batch counts .*{named}; mine.batch must give the same"
    counting = alone()
    counting.of(SOURCE, [first])
    with pytest.raises(RunError, match=message):
        counting.of(SOURCE, [later])
    with pytest.raises(RunError, match=message):
        alone().of(SOURCE, [first, later])


def test_counts_of_processes_are_summed_by_place(monkeypatch):
    counting = two(monkeypatch, [7, 1, 2, 7, 0], ("tokens", "rows", "mlm", "tokens in en"))
    assert counting.of(SOURCE, [batch({"mlm": 3})]) == {"tokens": 17, "rows": 3, "mlm": 5, "tokens in en": 12}
    counting = two(monkeypatch, [0] * 5, ("tokens", "rows", "mlm", "other", "tokens in en"))
    with pytest.raises(RunError, match="counts 'mlm', 'en', another one 'mlm', 'other', 'en'; mine"):
        counting.of(SOURCE, [batch({"mlm": 3})])


def test_all_processes_stop_when_one_counts_differently(monkeypatch):
    names = ("tokens", "rows", "mlm", "tokens in en")
    counting = two(monkeypatch, [0, 0, 0, 0, 0], names)
    counting.of(SOURCE, [batch({"mlm": 3})])
    counting._accelerator.sends[-1] = 1
    monkeypatch.setattr("accelerate.utils.gather_object", lambda mine: [*mine, ("tokens", "rows", "mood")])
    with pytest.raises(RunError, match="counts 'mlm', 'en', another one 'mood'; mine"):
        counting.of(SOURCE, [batch({"mlm": 3})])
