"""Callbacks: evaluation, early stopping, checkpoints, and the warning of copying."""

import json
import math
import os
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from interlace.core.errors import CheckpointError, DataError, RunError
from interlace.training import checkpoint
from interlace.training.callbacks import (
    CheckpointCallback,
    CopyingWarning,
    HeldOutEvaluation,
    MetricsWriter,
)
from interlace.training.loop import Progress
from interlace.training.steps import TrainingStep, TrainingTotals


def evaluation(values, every=2, patience=2, last=10):
    given, rows = iter(values), []
    made = HeldOutEvaluation(
        lambda: {"perplexity/mean": next(given)}, every, patience, Progress(), last, rows.append
    )
    return made, rows


def run(observer, steps):
    for index in steps:
        observer(SimpleNamespace(index=index))


def test_evaluates_every_few_steps_and_at_the_end_until_patience_runs_out():
    made, rows = evaluation([9.0, 8.0, 7.0], every=4, last=10)
    run(made, range(1, 11))
    assert [row["step"] for row in rows] == [4, 8, 10]
    assert (made.best, made.best_step) == (7.0, 10)
    made, _ = evaluation([5.0, 6.0, 4.0, 4.0, 4.0])
    run(made, range(1, 9))
    assert not made.progress.stop
    run(made, [9, 10])
    assert made.progress.stop
    assert made.best_step == 6  # an equal one is no fall


@pytest.mark.parametrize("values", [[], [5.0]])
def test_evaluation_state_is_restored(values):
    made, _ = evaluation(values)
    run(made, range(1, 2 * len(values) + 1))
    again, _ = evaluation([])
    again.restore(made.state())
    assert (again.best, again.best_step, again.bad) == (made.best, made.best_step, made.bad)
    assert values or math.isinf(again.best)


def saver(folder, every=2, keep=2):
    model = nn.Linear(2, 2)
    accelerator = SimpleNamespace(
        is_main_process=True,
        num_processes=1,
        unwrap_model=lambda m: m,
        wait_for_everyone=lambda: None,
    )
    optimizer = torch.optim.AdamW(model.parameters())
    training = SimpleNamespace(
        model=model,
        optimizer=optimizer,
        accelerator=accelerator,
        last=7,
        loss_scale=None,
        mixture=SimpleNamespace(sources=[None]),
    )
    return CheckpointCallback(folder, every, keep, training, Progress(drawn=(3,)))


def test_saves_every_few_steps_at_the_end_and_when_stopped(tmp_path):
    made = saver(tmp_path, keep=10)
    run(made, range(1, 4))
    made.progress.stop = True
    run(made, [5])
    assert checkpoint.steps_in(tmp_path) == [2, 5]
    made.progress.stop = False
    run(made, [7])
    assert checkpoint.steps_in(tmp_path) == [2, 7]


def test_saves_when_the_run_is_told_to_end(tmp_path):
    made = saver(tmp_path, every=0)
    made.progress.ended = True
    run(made, [3])
    assert checkpoint.steps_in(tmp_path) == [3]
    again = saver(tmp_path)
    assert again.resume() == 3
    assert not again.progress.stop  # it goes on


def test_a_state_that_is_too_long_is_not_read(tmp_path):
    (tmp_path / checkpoint.STATE).touch()
    os.truncate(tmp_path / checkpoint.STATE, (256 << 20) + 1)
    with pytest.raises(CheckpointError, match="268,435,457 bytes; expected at most"):
        checkpoint.content_of(tmp_path)


def test_processes_resume_only_from_the_same_checkpoint(tmp_path, monkeypatch):
    made = saver(tmp_path)
    run(made, [2])
    content = checkpoint.content_of(checkpoint.path_of(tmp_path, 2))
    made.training.accelerator.num_processes = 2
    monkeypatch.setattr("accelerate.utils.broadcast_object_list", lambda values: values)
    for other in (
        "",
        content.replace("hashes", "hash"),
    ):  # a folder of its own, or one with another run
        monkeypatch.setattr(
            "accelerate.utils.gather_object", lambda mine, other=other: [*mine, other]
        )
        with pytest.raises(
            RunError, match=r"step-00000002: process 0 resumes .* different for process 1;"
        ):
            made.resume()
    monkeypatch.setattr("accelerate.utils.gather_object", lambda mine: [*mine, content])
    assert made.resume() == 2


@pytest.mark.parametrize("damage", ["weights", "state", "other run"])
def test_resumes_from_the_checkpoint_before_an_unusable_one(tmp_path, caplog, damage):
    made = saver(tmp_path)
    run(made, [2, 4])
    newest = checkpoint.path_of(tmp_path, 4)
    if damage == "weights":
        (newest / checkpoint.WEIGHTS).write_bytes(b"")
    elif damage == "state":
        (newest / checkpoint.STATE).unlink()
    else:
        shutil.rmtree(newest)
        other = saver(tmp_path)
        other.run = "another"
        run(other, [4])
    assert saver(tmp_path).resume() == 2
    assert "step-00000004" in caplog.text
    assert "resuming from step 2 instead" in caplog.text
    shutil.rmtree(checkpoint.path_of(tmp_path, 2))
    with pytest.raises(CheckpointError, match="step-00000004"):  # no run starts again unasked
        saver(tmp_path).resume()


def test_resumes_with_the_number_of_skipped_updates(tmp_path):
    made, again = saver(tmp_path), saver(tmp_path)
    made.progress.skipped = 2
    run(made, [2])
    again.resume()
    assert again.progress.skipped == 2


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("drawn", [3, 4], "2 numbers of batches, expected 1"),
        ("drawn", ["x"], "key 'drawn', entry 1: input should be a valid integer"),
        ("totals", {"tokens": 3}, "key 'tokens'"),
        ("loss_scale", {"scale": 2.0}, "key 'loss_scale', key 'growth_factor'"),
        ("evaluation", {"best": 2.0}, "key 'evaluation', key 'best_step'"),
    ],
)
def test_a_state_that_does_not_fit_the_run_is_named(tmp_path, key, value, found):
    made = saver(tmp_path)
    run(made, [2])
    model, optimizer = made.training.model, made.training.optimizer
    state = json.loads((checkpoint.path_of(tmp_path, 2) / checkpoint.STATE).read_text())
    shutil.rmtree(tmp_path)
    state = {name: state[name] for name in state.keys() - {"step", "hashes", "digest"}}
    checkpoint.save(tmp_path, 2, model, optimizer, state | {key: value})
    with pytest.raises((CheckpointError, DataError)) as caught:
        saver(tmp_path).resume()
    assert "step-00000002/state.json: " in str(caught.value)
    assert found in str(caught.value)


def test_half_precision_resumes_with_its_loss_scale(tmp_path):
    made, again = saver(tmp_path), saver(tmp_path)
    for each in (made, again):
        each.training.loss_scale = torch.amp.GradScaler("cpu")
    made.training.loss_scale.load_state_dict(
        {**made.training.loss_scale.state_dict(), "scale": 4.0, "_growth_tracker": 17}
    )
    run(made, [2])
    again.resume()
    found = again.training.loss_scale.state_dict()
    assert (found["scale"], found["_growth_tracker"]) == (4.0, 17)


MEASURED = TrainingStep(
    index=1,
    objective="mlm",
    corpus="en",
    losses={"mlm": 2.0},
    counts={"mlm": 5},
    tokens=100,
    learning_rate=0.1,
    gradient_norm=0.5,
    seconds=0.5,
    waited=0.25,
    memory=1000,
)
SKIPPED = replace(
    MEASURED,
    index=2,
    corpus="para:en-de",
    losses={"mlm": math.nan},
    gradient_norm=math.inf,
)


def test_records_speed_and_skipped_updates(tmp_path):
    write = MetricsWriter(tmp_path / "metrics.jsonl")
    write(MEASURED)
    write(SKIPPED)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert (rows[0]["memory"], rows[0]["gradient_norm"]) == (1000, 0.5)
    assert (rows[1]["losses"], rows[1]["skipped"]) == ({}, True)
    assert "gradient_norm" not in rows[1]


def test_totals_of_a_run_have_speed_and_skipped_updates():
    totals = TrainingTotals()
    totals.add(MEASURED)
    totals.add(SKIPPED)
    assert totals.speed == {
        "tokens_per_second": 200,
        "waited_share": 0.5,
        "memory": 1000,
        "skipped": 1,
    }
    assert totals.mixture["tokens"] == {"mlm/en": 100, "mlm/para:en-de": 100}
    assert totals.mixture["languages"] == {"de": 50, "en": 150}
    assert totals.mixture["objectives"] == {"mlm": 200}


@pytest.mark.parametrize(
    ("shares", "ratio", "corpora", "warnings"),
    [
        ([0.9, 0.9, 0.96, 0.96, 0.9, 0.9], 1.0, ["de"], ["step 4: .* source de, .* copied 93 %"]),
        ([1.0, 0.5] * 10, 1.0, ["de"], []),
        ([1.0] * 3, 1.0, ["de"], []),  # the window is not full
        ([1.0, 0.1] * 10, 1.0, ["de", "ro"], ["step 7: .* source de, .* copied 100 %"]),
        ([1.0] * 4 + [0.1] * 4 + [1.0] * 4, 1.0, ["de"], ["step 4", "step 12"]),
        ([0.0] * 6, 0.05, ["de"], ["step 4: .* had 0.05 tokens"]),
        ([0.0] * 6, 2.5, ["de"], ["step 4: .* had 2.5 tokens"]),
        ([0.0] * 6, 0.3, ["de"], []),
    ],
)
def test_warns_of_copies_and_wrong_lengths_of_translations(
    caplog, shares, ratio, corpora, warnings
):
    observer = CopyingWarning(window=4)
    for index, share in enumerate(shares):
        losses = {"copied_share": share, "length_ratio": ratio}
        corpus = corpora[index % len(corpora)]
        observer(SimpleNamespace(index=index + 1, corpus=corpus, losses=losses, skipped=False))
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(warnings)
    for message, expected in zip(messages, warnings, strict=True):
        assert re.match(expected, message)
