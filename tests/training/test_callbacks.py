"""Observers of the loop: when they evaluate, stop and save, and what a resumed run is told."""

import logging
import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from interlace.training import checkpoint
from interlace.training.callbacks import CheckpointCallback, HeldOutEvaluation, early_stopping_cost
from interlace.training.loop import Progress


def evaluation(values, every=2, patience=2, last=10):
    given, rows = iter(values), []
    made = HeldOutEvaluation(lambda: {"perplexity/mean": next(given)}, every, patience, Progress(), last, rows.append)
    return made, rows


def run(observer, steps):
    for index in steps:
        observer(SimpleNamespace(index=index))


def test_it_evaluates_now_and_then_and_at_the_end():
    made, rows = evaluation([9.0, 8.0, 7.0], every=4, last=10)
    run(made, range(1, 11))
    assert [row["step"] for row in rows] == [4, 8, 10]
    assert (made.best, made.best_step) == (7.0, 10)


def test_it_stops_when_patience_is_at_its_end():
    made, _ = evaluation([5.0, 6.0, 4.0, 4.0, 4.0])
    run(made, range(1, 9))
    assert not made.progress.stop
    run(made, [9, 10])
    assert made.progress.stop
    assert made.best_step == 6  # an equal one is no fall


def test_bleu_is_to_rise():
    given = iter([{"perplexity/mean": cost, "bleu/mean": bleu} for cost, bleu in ((9, 1), (8, 3), (7, 2), (6, 3))])
    made = HeldOutEvaluation(lambda: next(given), 2, 2, Progress(), 10, lambda _: None, by="bleu")
    run(made, range(1, 9))
    assert (made.best_step, made.progress.stop) == (4, True)
    assert made.progress.reason == "BLEU has not risen for 2 evaluations"
    assert min(
        [{"bleu/mean": 1.0}, {"bleu/mean": 3.0}, {}], key=lambda scores: early_stopping_cost(scores, "bleu")
    ) == {"bleu/mean": 3.0}


@pytest.mark.parametrize("values", [[], [5.0]])
def test_its_state_comes_back(values):
    made, _ = evaluation(values)
    run(made, range(1, 2 * len(values) + 1))
    again, _ = evaluation([])
    again.restore(made.state())
    assert (again.best, again.best_step, again.bad) == (made.best, made.best_step, made.bad)
    assert values or math.isinf(again.best)


def saver(folder, processes=1, every=2, keep=2):
    model = nn.Linear(2, 2)
    accelerator = SimpleNamespace(
        is_main_process=True, num_processes=processes, unwrap_model=lambda m: m, wait_for_everyone=lambda: None
    )
    training = SimpleNamespace(
        model=model, optimizer=torch.optim.AdamW(model.parameters()), accelerator=accelerator, last=7, micro_batches=2
    )
    return CheckpointCallback(folder, every, keep, training, Progress(drawn=(3,)))


def test_it_saves_now_and_then_at_the_end_and_when_stopped(tmp_path):
    made = saver(tmp_path, keep=10)
    run(made, range(1, 4))
    made.progress.stop = True
    run(made, [5])
    made.progress.stop = False
    run(made, [7])
    assert checkpoint.steps_in(tmp_path) == [2, 5, 7]


@pytest.mark.parametrize("main", [True, False])
def test_what_no_checkpoint_holds_is_forgotten_with_each_in_every_process(tmp_path, main):
    """So that a run which goes on from there is like one that was not stopped."""
    made, forgotten = saver(tmp_path), []
    made.training.accelerator.is_main_process = main
    inner = nn.Module()
    inner.forget = lambda: forgotten.append(step)
    made.training.model.add_module("inner", inner)
    for step in range(1, 8):
        made(SimpleNamespace(index=step))
    assert forgotten == [2, 4, 6, 7]


def test_another_number_of_processes_is_told(tmp_path, caplog):
    run(saver(tmp_path), [2])
    with caplog.at_level(logging.WARNING):
        assert saver(tmp_path).resume() == 2
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        assert saver(tmp_path, processes=4).resume() == 2
    assert "2 micro-batches over all processes, and has 8" in caplog.text
