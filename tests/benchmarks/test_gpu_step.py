"""Benchmark of training steps on a GPU: all cells in miniature, and the same code on a GPU where there is one."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interlace.training.loop import READ_EVERY, Progress, steps

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture
def gpu_step(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    module = importlib.import_module("gpu_step")
    monkeypatch.setattr(module, "WARMUP", 8)
    monkeypatch.setattr(module, "UPDATES", 8)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "mlm-20k",
        "trainer-20k",
        "trainer-20k-tuned",
        "decoding-64k",
        "alm-250k",
        "align_mlm-250k",
    ],
)
def test_measures_a_cell_in_miniature(gpu_step, name):
    found = gpu_step.measure(name, 256, small=True)
    assert found["rate"] > 0
    assert found["memory"] > 10**7
    assert found.get("flops", 1) > 0
    assert found.get("identical", 1) > 0.8
    if "profile" in found:
        profile = found["profile"]
        assert profile["updates"] == gpu_step.PROFILED
        assert 0 < profile["idle"] < 1
        assert len(profile["kernels"]) == gpu_step.TOP


def test_time_without_a_kernel(gpu_step):
    """Kernels of 0 to 10, 5 to 8 (beside it), 12 to 20 and 24 to 25 microseconds leave gaps of 2 and 4 of 25."""
    starts, ends = np.array([12.0, 0.0, 5.0, 24.0]), np.array([20.0, 10.0, 8.0, 25.0])
    found = gpu_step.summary(["mm", "add", "mm", "add"], starts, ends, updates=2)
    assert (found["idle"], found["gaps"], found["longest_gap"]) == (6 / 25, 1, 4)
    assert (found["milliseconds"], found["launches"]) == (0.0125, 2)
    assert found["kernels"] == [["mm", 0.0055, 1], ["add", 0.0055, 1]]


def run(gpu_step, monkeypatch, output, *arguments):
    monkeypatch.setattr(
        sys, "argv", ["gpu_step.py", "--small", "--output", str(output), *arguments]
    )
    return gpu_step.main()


def test_resumes_by_its_results(gpu_step, monkeypatch, capsys, tmp_path):
    """Measured cells and those without memory are kept; failed ones are repeated, and settings must agree."""
    output, started = tmp_path / "cells.json", []

    def measured(name, tokens, *, small):
        started.append(name)
        if name == "weam-250k":
            raise ValueError("x")
        return {"rate": 1000.0, "flops": 2e6, "peak": 4e9, "memory": 3e9, "waited": 0.25}

    monkeypatch.setattr(gpu_step, "measure", measured)
    cells = ["mlm-20k", "mlm-250k", "weam-250k"]
    kept = {"mlm-20k": {"error": gpu_step.FULL}}
    output.write_text(json.dumps({"settings": {"tokens": 64, "small": True}, "cells": kept}))
    for _ in range(2):
        run(gpu_step, monkeypatch, output, "--tokens", "64", "--cells", *cells)
    assert started == ["mlm-250k", "weam-250k", "weam-250k"]
    assert "weam-250k            ValueError: x" in capsys.readouterr().out
    run(gpu_step, monkeypatch, output, "--tokens", "128", "--cells", "mlm-20k")
    assert started[3:] == ["mlm-20k"]
    run(gpu_step, monkeypatch, output, "--tokens", "32", "--cells", "mlm-20k", "--minutes", "0")
    assert started[4:] == []
    assert "stopped before mlm-20k; rerun" in capsys.readouterr().out


def losses(gpu_step, objective, precision, **how):
    return list(steps(training_of(gpu_step, objective, precision, **how), Progress()))


def training_of(gpu_step, objective, precision, *, packed=False, **how):
    """Packed batches have the sequences of padded ones, in a longer row."""
    vocab = gpu_step.vocabulary(2500)
    if packed:
        how["row"] = gpu_step.row_of(vocab, gpu_step.MINIATURE, 768)
    sources = gpu_step.sources_of([objective], vocab, gpu_step.MINIATURE, 512, 400)
    torch.manual_seed(0)
    return gpu_step.training_of(sources, vocab, gpu_step.MINIATURE, 16, precision, **how)


@gpu
@pytest.mark.gpu
@pytest.mark.parametrize("objective", ["mlm", "alm", "weam"])
@pytest.mark.parametrize(
    "how",
    [
        {"precision": "bf16"},
        {"precision": "fp16"},
        {"precision": "bf16", "compiled": True},
        {"precision": "bf16", "packed": True},
        {"precision": "fp16", "packed": True},
        {"precision": "bf16", "packed": True, "compiled": True},
        {"precision": "bf16", "packed": True, "compiled": True, "cuda_graphs": True},
    ],
)
def test_updates_on_a_gpu_are_those_of_single_precision(gpu_step, objective, how):
    found, expected = losses(gpu_step, objective, **how), losses(gpu_step, objective, "no")
    for one, other in zip(found, expected, strict=True):
        for term, loss in other.losses.items():
            assert one.losses[term] == pytest.approx(loss, rel=0.05)
    assert sum(step.skipped for step in found) <= 2 * (how["precision"] == "fp16")
    assert all(step.memory > 0 for step in found)


@gpu
@pytest.mark.gpu
def test_weights_on_a_gpu_do_not_depend_on_how_often_it_is_read(gpu_step):
    made = []
    for every in (1, READ_EVERY):
        training = training_of(gpu_step, "weam", "bf16", packed=True)
        assert list(steps(replace(training, read_every=every), Progress()))
        made.append(dict(training.model.named_parameters()))
    for name, weight in made[0].items():
        torch.testing.assert_close(weight, made[1][name], rtol=1e-3, atol=1e-4, msg=name)


@gpu
@pytest.mark.gpu
def test_updates_wait_for_a_gpu_only_to_be_read(gpu_step):
    training = training_of(gpu_step, "weam", "bf16", packed=True)
    run = steps(training, Progress())
    for _ in range(8):
        next(run)
    try:
        torch.cuda.set_sync_debug_mode("error")  # the eight updates before the next read
        with pytest.raises(RuntimeError, match="synchroniz"):
            next(run)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert training.optimizer.state[next(iter(training.model.parameters()))]["step"] == 16
