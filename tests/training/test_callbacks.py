"""Callbacks: evaluation, early stopping, checkpoints, and the warning of copying."""

import json
import math
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from interlace.core.errors import CheckpointError, DataError
from interlace.training import checkpoint
from interlace.training.callbacks import (
    CheckpointCallback,
    HeldOutEvaluation,
    MetricsWriter,
)
from interlace.training.loop import Progress
from interlace.training.steps import TrainingStep


def evaluation(values, every=2, last=10):
    remaining = iter(values)
    rows = []
    observer = HeldOutEvaluation(
        measure=lambda: {"perplexity/mean": next(remaining)},
        every=every,
        patience=2,
        progress=Progress(),
        last=last,
        record=rows.append,
    )
    return observer, rows


def run(observer, steps):
    for index in steps:
        observer(SimpleNamespace(index=index))


def test_evaluates_every_few_steps_and_at_the_end_until_patience_runs_out():
    observer, rows = evaluation([9.0, 8.0, 7.0], every=4)
    run(observer, range(1, 11))
    assert [row["step"] for row in rows] == [4, 8, 10]
    assert (observer.best, observer.best_step) == (7.0, 10)
    observer, _ = evaluation([5.0, 6.0, 4.0, 4.0, 4.0])
    run(observer, range(1, 9))
    assert not observer.progress.stop
    run(observer, [9, 10])
    assert observer.progress.stop
    assert observer.best_step == 6  # an equal one is no fall


@pytest.mark.parametrize("values", [[], [5.0]])
def test_evaluation_state_is_restored(values):
    observer, _ = evaluation(values)
    run(observer, range(1, 2 * len(values) + 1))
    resumed, _ = evaluation([])
    resumed.restore(observer.state())
    assert resumed.state() == observer.state()
    assert resumed.best == (values[0] if values else math.inf)


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


def test_saves_every_few_steps_at_the_end_and_when_stopped_or_ended(tmp_path):
    callback = saver(tmp_path, keep=10)
    run(callback, range(1, 4))
    callback.progress.stop = True
    run(callback, [5])
    assert checkpoint.steps_in(tmp_path) == [2, 5]
    callback.progress.stop = False
    run(callback, [7])
    assert checkpoint.steps_in(tmp_path) == [2, 7]
    ended = saver(tmp_path / "ended", every=0)
    ended.progress.ended = True
    run(ended, [3])
    resumed = saver(tmp_path / "ended")
    assert resumed.resume() == 3
    assert not resumed.progress.stop


def test_each_process_must_see_the_checkpoint(tmp_path, monkeypatch):
    made = saver(tmp_path)
    made.run = "this"
    run(made, [2])
    accelerator = made.training.accelerator
    accelerator.num_processes = 2
    monkeypatch.setattr("accelerate.utils.broadcast_object_list", lambda _: [2, "this"])
    assert made.resume() == 2
    accelerator.is_main_process = False
    made.run = ""  # which the first process alone knows
    assert made.resume() == 2
    made.folder = tmp_path / "local"
    with pytest.raises(CheckpointError, match=r"step-00000002/state\.json: missing"):
        made.resume()


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


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("drawn", [3, 4], "2 numbers of batches, expected 1"),
        ("tokens", {"mlm/en": "many"}, "key 'mlm/en'"),
        ("loss_scale", {"scale": 2.0}, "key 'loss_scale', key 'growth_factor'"),
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


def test_resumes_with_the_loss_scale_and_skipped_updates(tmp_path):
    callback = saver(tmp_path)
    scale = torch.amp.GradScaler("cpu")
    scale.load_state_dict({**scale.state_dict(), "scale": 4.0, "_growth_tracker": 17})
    callback.training.loss_scale = scale
    callback.progress.skipped = 2
    run(callback, [2])
    resumed = saver(tmp_path)
    resumed.training.loss_scale = torch.amp.GradScaler("cpu")
    resumed.resume()
    assert resumed.training.loss_scale.state_dict() == scale.state_dict()
    assert resumed.progress.skipped == 2


MEASURED = TrainingStep(
    index=1,
    objective="mlm",
    corpus="en",
    losses={"mlm": 2.0},
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
