"""The training loop: one large batch equals micro-batches; counts agree between batches and processes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from interlace.core import kernels
from interlace.core.errors import DataError, RunError
from interlace.data import Pairs, Sentences
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.mlm import Mlm
from interlace.training import loop
from interlace.training.device import accelerator_for
from interlace.training.loop import (
    Progress,
    Training,
    TrainingModel,
    steps,
)
from interlace.training.mixture import Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings
from little_rows import Rows, random_ids, sentences_of
from waiting import Waiting


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a few words to learn the alphabet from"] * 20}, size=300)


def training(vocab, size, micro_batches, dropout=0.0, last=4, precision="no"):
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 9, size=64)
    rows = sentences_of(random_ids(rng, vocab, lengths))
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


def assert_same_weights(training, expected, **tolerance):
    torch.testing.assert_close(
        weights(training), expected, **{"rtol": 0, "atol": 0, **tolerance}
    )


def test_micro_batches_equal_one_large_batch(vocab):
    whole = training(vocab, 8, 1)
    split = training(vocab, 2, 4)
    for large, small in zip(steps(whole, Progress()), steps(split, Progress()), strict=True):
        assert large.losses["mlm"] == pytest.approx(small.losses["mlm"], rel=1e-5)
        assert large.tokens == small.tokens
        assert large.gradient_norm == pytest.approx(small.gradient_norm, rel=1e-4)
    assert_same_weights(split, weights(whole), rtol=1e-3, atol=1e-5)


def test_the_loss_weight_scales_the_gradient_and_not_the_loss(vocab):
    changes = []
    losses = []
    for schedule in ("1", "0:0.25,100:0.25"):
        made = training(vocab, 4, 1, last=1)
        made.mixture.sources[0] = replace(made.mixture.sources[0], loss_weight=schedule)
        made = replace(
            made,
            optimizer=torch.optim.SGD(made.model.parameters(), lr=0.01, fused=True),
            settings=OptimizerSettings(learning_rate=0.01, warmup=0, clip=1e9),
        )
        before = weights(made)
        losses += [step.losses["mlm"] for step in steps(made, Progress())]
        changes.append({name: value - before[name] for name, value in weights(made).items()})
    assert losses[0] == losses[1]
    for name, change in changes[0].items():
        torch.testing.assert_close(0.25 * change, changes[1][name], rtol=1e-3, atol=1e-7)


def test_divergence_stops_before_the_weights_change(vocab):
    made = training(vocab, 4, 1, last=9)
    run = steps(made, Progress())
    next(run)
    with torch.no_grad():
        made.model.backbone.input_embeddings[:] = torch.inf
    before = weights(made)
    message = r"step 4, mlm/en: losses or gradients are not finite, as in 3 .*learning rate"
    with pytest.raises(RunError, match=message):
        list(run)
    assert_same_weights(made, before, equal_nan=True)


def test_an_update_with_an_infinite_loss_is_skipped(vocab):
    """Its weights and moments stay as they were, though losses are read later."""
    made = training(vocab, 4, 1, last=5)
    forward = made.model.forward
    calls = []

    def spoiled(*arguments):
        calls.append(arguments)
        loss, parts = forward(*arguments)
        is_bad = len(calls) == 3
        return loss + (torch.inf if is_bad else 0.0), parts

    made.model.forward = spoiled
    skipped = []
    states = {}
    for step in steps(made, Progress(), due=lambda index: index in {2, 3}):
        skipped.append(step.skipped)
        counts = sorted({int(state["step"]) for state in made.optimizer.state.values()})
        states[step.index] = (weights(made), counts)
    assert skipped == [False, False, True, False, False]
    torch.testing.assert_close(states[3], states[2], rtol=0, atol=0)


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
    assert_same_weights(made, before)


@pytest.mark.parametrize("every", [3, 100])
def test_steps_are_the_same_however_often_they_are_read(vocab, every):
    runs = []
    for read_every in (1, every):
        made = training(vocab, 4, 2, dropout=0.1, last=7)
        made = replace(made, read_every=read_every)
        progress = Progress()
        seen = []
        for step in steps(made, progress, due=lambda index: index == 5):
            numbers = (step.losses["mlm"], step.gradient_norm, step.learning_rate, step.tokens)
            seen.append((step.index, progress.done, progress.drawn, *numbers))
        runs.append((seen, weights(made)))
    torch.testing.assert_close(runs[0], runs[1], rtol=0, atol=0)
    assert [row[:3] for row in runs[0][0]] == [
        (step, step, (2 * step,)) for step in range(1, 8)
    ]


@dataclass
class CountedRows(Rows):
    """Rows whose batches are built once `together` threads are in them; batch `broken` has none."""

    together: int = 1
    broken: int = -1
    opened: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.together)

    def examples(self, index: int) -> Sentences | Pairs:
        self.opened.append(index)
        self.barrier.wait(timeout=30)
        if index == self.broken:
            raise DataError("row 7 is damaged")
        return super().examples(index)


def counted(training, workers, monkeypatch, **options):
    """Build the batches of a training by `workers` threads; return its rows."""
    monkeypatch.setattr(kernels, "processors", lambda: workers)
    source = training.mixture.sources[0]
    rows = CountedRows(source.plan.rows, source.plan.size, **options)
    training.mixture.sources[0] = replace(source, plan=rows)
    return rows


def test_batches_are_built_by_several_threads_and_are_those_of_one(vocab, monkeypatch):
    runs = []
    for workers in (1, 4):
        made = training(vocab, 4, 2, dropout=0.1, last=8)
        counted(made, workers, monkeypatch, together=workers)
        seen = [(step.losses["mlm"], step.tokens) for step in steps(made, Progress())]
        runs.append((seen, weights(made)))
    torch.testing.assert_close(runs[0], runs[1], rtol=0, atol=0)


def test_no_more_than_a_few_steps_are_built_ahead(vocab, monkeypatch):
    made = training(vocab, 4, 2, last=100)
    rows = counted(made, 2, monkeypatch)
    for step in steps(made, Progress()):
        assert max(rows.opened) < 2 * (step.index + loop.PREFETCH)
        if step.index == 5:
            break


def test_an_error_in_a_thread_ends_the_run_without_further_batches(vocab, monkeypatch):
    made = training(vocab, 4, 1, last=100)
    rows = counted(made, 2, monkeypatch, broken=3)
    with pytest.raises(DataError, match="row 7 is damaged"):
        list(steps(made, Progress()))
    assert max(rows.opened) <= 3 + loop.PREFETCH
    assert not any(thread.name.startswith("batches") for thread in threading.enumerate())


def test_a_request_to_end_stops_the_loop_for_a_checkpoint(vocab):
    made = replace(training(vocab, 4, 1, last=20), read_every=4)
    progress = Progress(done=2, drawn=(2,))
    indices = []
    for step in steps(made, progress):
        progress.ending |= step.index == 6
        indices.append(step.index)
    assert indices == [3, 4, 5, 6, 7]  # does not wait for a group
    assert (progress.done, progress.ended, progress.stop) == (7, True, False)


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
    made = replace(
        training(vocab, 4, 2, dropout=0.1, last=100, precision=precision), read_every=5
    )
    run = steps(made, Progress())
    next(run)  # and four more
    for _ in range(4):
        next(run)
    waiting.found.clear()
    with waiting:
        next(run)
    assert waiting.found == ["tolist"]


def test_half_precision_learns_as_single_precision(vocab):
    """Half has 11 bits; a loss scale that is too large skips updates, is halved, and leaves no trace."""
    made = training(vocab, 8, 1, last=24, precision="fp16")
    made.loss_scale.load_state_dict({**made.loss_scale.state_dict(), "scale": 2.0**32})
    skipped = [step.skipped for step in steps(made, Progress())]
    count = sum(skipped)
    assert 0 < count < 20
    assert skipped == [True] * count + [False] * (24 - count)
    state = made.loss_scale.state_dict()
    assert (state["scale"], state["_growth_tracker"]) == (2.0 ** (32 - count), 24 - count)
    half = steps(training(vocab, 8, 1, last=6, precision="fp16"), Progress())
    single = steps(training(vocab, 8, 1, last=6), Progress())
    for half_step, single_step in zip(half, single, strict=True):
        assert half_step.losses["mlm"] == pytest.approx(single_step.losses["mlm"], rel=5e-3)
        assert half_step.gradient_norm == pytest.approx(single_step.gradient_norm, rel=2e-2)


class Changing(Mlm):
    """Counts other terms from a step on."""

    step: int = 2
    terms: tuple[str, ...] = ()

    def batch(self, examples, prepared, step, rng):
        batch = super().batch(examples, prepared, step, rng)
        return (
            batch if step < self.step else replace(batch, counts=dict.fromkeys(self.terms, 3.0))
        )


def with_learner(made, learner):
    made.mixture.sources[0] = replace(made.mixture.sources[0], learner=learner)
    made.model.objectives["mlm"] = learner
    return made


def test_rejects_loss_terms_without_counts(vocab):
    made = with_learner(training(vocab, 4, 1), Changing(step=1, terms=("mlm", "share")))
    message = "mlm: its loss has the terms 'mlm', but its batch counts 'mlm', 'share'"
    with pytest.raises(RunError, match=message):
        next(steps(made, Progress()))


@pytest.mark.parametrize("terms", [("mlm", "share"), ("share",), ("share", "mlm"), ()])
def test_a_step_whose_batch_counts_differently_is_an_error(vocab, terms):
    run = steps(with_learner(training(vocab, 4, 2), Changing(terms=terms)), Progress())
    step = next(run)
    assert step.tokens == sum(step.languages.values())
    with pytest.raises(
        RunError, match=f"its first batch counts .*, {', '.join([*terms, 'tokens in'])}"
    ):
        next(run)
