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
from interlace.objectives.back_translation import BackTranslation
from interlace.objectives.mlm import Mlm
from interlace.training.device import accelerator_for
from interlace.training.loop import (
    READ_EVERY,
    Progress,
    StepCounts,
    Training,
    TrainingModel,
    steps,
)
from interlace.training.mixture import Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from waiting import Waiting


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


def training(vocab, size, micro_batches, dropout=0.0, last=4, precision="no"):
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 9, size=64)
    ids = Ragged.from_lengths(
        rng.choice(vocab.regular_ids, size=lengths.sum()).astype(np.int32), lengths
    )
    rows = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), "en")
    # everything is masked, so that what is predicted does not depend on the split
    mlm = Mlm(masking={"rate": 1, "mask_share": 1, "random_share": 0})
    shape = Shape(
        layers=1, width=16, heads=2, max_length=32, dropout=dropout, attention_dropout=dropout
    )
    backbone = from_shape(shape, vocab, seed=1)
    source = MixtureSource(
        "mlm", "en", mlm, mlm.prepare(Resources(vocab, backbone.traits)), Rows(rows, size)
    )
    accelerator = accelerator_for(precision, threads=1)
    model = accelerator.prepare(TrainingModel(backbone, {"mlm": mlm}, 0))
    settings = OptimizerSettings(learning_rate=0.01, warmup=0)
    return Training(
        model,
        Mixture([source], 0),
        settings.build(model),
        settings,
        accelerator,
        last,
        micro_batches,
    )


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
        made = replace(
            made, optimizer=torch.optim.SGD(made.model.parameters(), lr=0.01, fused=True)
        )
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


def spoil(made, *steps):
    """Make the loss of these steps infinite."""
    inner, seen = made.model.forward, []

    def forward(*arguments):
        seen.append(0)
        loss, parts = inner(*arguments)
        bad = torch.tensor(
            torch.inf if len(seen) - 1 in steps else 0.0
        )  # the first call counts operations
        return loss + bad, {name: part + bad for name, part in parts.items()}

    made.model.forward = forward
    return made


def test_divergence_stops_before_the_weights_change(vocab):
    made = training(vocab, 4, 1, last=9)
    run = steps(made, Progress())
    next(run)
    with torch.no_grad():
        made.model.backbone.input_embeddings[:] = torch.inf
    before = weights(made)
    skipped = []
    with pytest.raises(
        RunError, match=r"step 4, mlm/en: the (mlm|gradient norm) is nan, as in 3 .*learning rate"
    ):
        skipped.extend(run)
    assert skipped == [] or all(step.skipped for step in skipped)
    for name, value in weights(made).items():
        assert torch.equal(value, before[name]), name


def test_an_update_with_an_infinite_loss_is_skipped(vocab):
    """The others give the weights and moments of a run without it, though losses are read later."""
    runs = []
    for made in (spoil(training(vocab, 4, 1, last=5), 3), training(vocab, 4, 1, last=5)):
        found, before = [], None
        for step in steps(made, Progress(), due=lambda index: index in {2, 3}):
            found.append(step.skipped)
            if step.index == 2:
                before = weights(made)
            if step.index == 3:
                unchanged = all(
                    torch.equal(value, before[name]) for name, value in weights(made).items()
                )
                counted = {int(state["step"]) for state in made.optimizer.state.values()}
        runs.append((found, unchanged, counted))
    assert runs == [([False, False, True, False, False], True, {2}), ([False] * 5, False, {3})]


@pytest.mark.parametrize("precision", ["no", "fp16"])
def test_an_update_whose_norm_overflows_is_skipped_though_its_gradients_are_finite(
    vocab, precision
):
    """Clipped to zero, they would still decay weights and count a step."""
    made = training(vocab, 4, 1, last=3, precision=precision)
    made.model.backbone.input_embeddings.register_hook(
        lambda gradient: torch.full_like(gradient, 1e25)
    )
    before = weights(made)
    step = next(steps(made, Progress()))
    assert (step.skipped, step.gradient_norm) == (True, torch.inf)
    assert {int(state["step"]) for state in made.optimizer.state.values()} == {0}
    for name, value in weights(made).items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize("every", [1, 3, 100])
def test_steps_are_the_same_however_often_they_are_read(vocab, every):
    made = replace(training(vocab, 4, 2, dropout=0.1, last=7), read_every=every)
    progress, seen, done = Progress(), [], []
    for step in steps(made, progress, due=lambda index: index == 5):
        seen.append(
            (step.index, step.losses["mlm"], step.gradient_norm, step.learning_rate, step.tokens)
        )
        done.append((progress.done, progress.drawn))
    plain = training(vocab, 4, 2, dropout=0.1, last=7)
    assert seen == [
        (step.index, step.losses["mlm"], step.gradient_norm, step.learning_rate, step.tokens)
        for step in steps(plain, Progress())
    ]
    assert done == [(number, (2 * number,)) for number in range(1, 8)]
    for name, value in weights(made).items():
        assert torch.equal(value, weights(plain)[name]), name


def test_a_request_to_end_stops_the_loop_for_a_checkpoint(vocab):
    made, progress = replace(training(vocab, 4, 1, last=20), read_every=4), Progress()
    seen = []
    for step in steps(made, progress):
        progress.ending |= step.index == 6
        seen.append((step.index, progress.ended))
    assert seen == [
        *((number, False) for number in range(1, 9)),
        (9, True),
    ]  # does not wait for a group
    assert (progress.done, progress.stop) == (9, False)


def test_steps_are_read_in_groups_on_a_gpu_only(vocab):
    made = training(vocab, 4, 1)
    there = SimpleNamespace(device=torch.device("cuda"), mixed_precision="no")
    assert (made.read_every, replace(made, read_every=0, accelerator=there).read_every) == (
        1,
        READ_EVERY,
    )


@pytest.fixture
def waiting(monkeypatch):
    """Reads on the training thread; copies to the host do not pass the dispatcher where the device is the CPU."""
    mode = Waiting()
    for name in ("tolist", "cpu", "numpy", "__array__", "item"):
        inner = getattr(torch.Tensor, name)

        def counted(tensor, *arguments, inner=inner, name=name):
            mode.found.append(name)
            return inner(tensor, *arguments)

        monkeypatch.setattr(torch.Tensor, name, counted)
    return mode


@pytest.mark.parametrize("precision", ["no", "fp16"])
def test_updates_wait_for_the_device_only_to_be_read(vocab, waiting, precision):
    made = replace(training(vocab, 4, 2, dropout=0.1, last=100, precision=precision), read_every=5)
    run = steps(made, Progress())
    next(run)  # and four more, the first of which measures
    for _ in range(4):
        next(run)
    waiting.found.clear()
    with waiting:
        next(run)
    assert waiting.found == ["tolist"]


def test_the_count_of_reads_finds_each_kind(waiting):
    number, many = torch.ones(()), torch.ones(3)
    kinds = [
        lambda: float(number),
        lambda: bool(number > 0),
        number.item,
        many.cpu,
        many.tolist,
        many.nonzero,
    ]
    with waiting:
        for kind in [*kinds, lambda: many[many > 0]]:
            before = len(waiting.found)
            kind()
            assert len(waiting.found) > before


def test_half_precision_learns_as_single_precision(vocab):
    """Half has 11 bits; a loss scale that is too large skips updates, is halved, and leaves no trace."""
    made = training(vocab, 8, 1, last=24, precision="fp16")
    made.loss_scale.load_state_dict({**made.loss_scale.state_dict(), "scale": 2.0**32})
    found = [step.skipped for step in steps(made, Progress())]
    first = sum(found)
    assert 0 < first < 20
    assert found == [True] * first + [False] * (24 - first)
    found = made.loss_scale.state_dict()
    assert (found["scale"], found["_growth_tracker"]) == (2.0 ** (32 - first), 24 - first)
    half, single = training(vocab, 8, 1, last=6, precision="fp16"), training(vocab, 8, 1, last=6)
    for one, other in zip(steps(half, Progress()), steps(single, Progress()), strict=True):
        assert one.losses["mlm"] == pytest.approx(other.losses["mlm"], rel=5e-3)
        assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=2e-2)


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
    with pytest.raises(
        RunError, match="mlm: its loss has the terms 'mlm', but its batch counts 'mlm', 'other'"
    ):
        next(steps(made, Progress()))


def test_operations_of_back_translation_and_frozen_layers_are_unknown(vocab, monkeypatch):
    made = training(vocab, 4, 1)
    assert next(steps(made, Progress())).flops > 0
    made.model.backbone.model.base_model.encoder.requires_grad_(requires_grad=False)
    assert next(steps(made, Progress())).flops == 0
    monkeypatch.setattr(Mlm, "generates", BackTranslation.generates)
    assert next(steps(training(vocab, 4, 1), Progress())).flops == 0


SOURCE = SimpleNamespace(name="mine/en", objective="mine")


def batch(counts, languages=("en",)):
    none = np.zeros(0, np.int64)
    ids = np.zeros((2, 5), np.int64)
    return Batch(
        {"input_ids": ids}, (none, none), none, counts, 10, languages=dict.fromkeys(languages, 5)
    )


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
        (
            batch({"mlm": 1, "share": 1}, languages=("en", "de")),
            "another one 'mlm', 'share', 'en', 'de'",
        ),
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
    counting = two(monkeypatch, [7, 1, 2, 7, 1], ("tokens", "rows", "mlm", "tokens in en"))
    counts = counting.of(SOURCE, [batch({"mlm": 3})])
    sums = {"tokens": 17, "rows": 3, "mlm": 5, "tokens in en": 12, "ending": 1}
    assert {name: float(count) for name, count in counts.items()} == sums
    with pytest.raises(RunError, match="counts 'mlm', 'en', another one 'mood', 'en'; mine"):
        counting.of(SOURCE, [batch({"mood": 3})])
    counting = two(monkeypatch, [0] * 5, ("tokens", "rows", "mlm", "other", "tokens in en"))
    with pytest.raises(
        RunError, match="counts 'mlm', 'en', another one 'mlm', 'other', 'en'; mine"
    ):
        counting.of(SOURCE, [batch({"mlm": 3})])


class Changing(Mlm):
    """Counts a term more, or none, in its second batch."""

    later: tuple[str, ...] = ()

    def batch(self, examples, prepared, step, rng):
        batch = super().batch(examples, prepared, step, rng)
        return batch if step < 2 else replace(batch, counts=dict.fromkeys(self.later, 3.0))

    def loss(self, backbone, heads, batch):
        term = super().loss(backbone, heads, batch)["mlm"]
        return dict.fromkeys(batch.counts, term)


@pytest.mark.parametrize("later", [("mlm", "other"), ("other",)])
def test_a_step_whose_batch_counts_differently_is_an_error(vocab, later):
    made, learner = training(vocab, 4, 2), Changing(later=later)
    made.mixture.sources[0] = replace(made.mixture.sources[0], learner=learner)
    made.model.objectives["mlm"] = learner
    run = steps(made, Progress())
    first = next(run)
    assert first.tokens == sum(first.languages.values())
    named = ", ".join(f"'{name}'" for name in later)
    with pytest.raises(
        RunError, match=f"its first batch counts 'mlm', 'en', another one {named}, 'en'"
    ):
        next(run)
