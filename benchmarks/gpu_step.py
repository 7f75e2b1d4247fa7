"""Measure training steps on one GPU against Hugging Face's Trainer: real tokens/s, share of the peak, memory.

Targets: 45 % of the measured bf16 peak for `mlm`; 480,000 tokens/s at 250k entries, 600,000 of the small model; twice
the tuned Trainer, 2.5 times its defaults; other objectives within 15 % of `mlm`.

    python benchmarks/gpu_step.py [--output gpu_step.json] [--minutes 6] [--tokens 32768] [--cells NAME ..] [--small]

The model has XLM-R base's shape (Conneau et al. 2020) without attention dropout, random weights, and vocabularies of
20k and 250k tokens; a small one has 12 layers of width 384 and 113k tokens. The text is random. Our cells have packed
rows and are compiled, as a recipe's defaults are on a GPU, unless they are called eager. The most telling cells are
first. Each result is stored at once, so the same command resumes after `--minutes` or a failure; no cell starts in the
last `CELL_SECONDS`. A cell without memory for its batch is a result. Tokens are real ones, without padding; `mlm` reads
blocks of running text, the Trainer sentences: in random order (defaults), or grouped by length, compiled, with worker
processes (tuned). Both have fused AdamW, bf16 and sdpa; operations of the Trainer are taken to be those of `mlm`.

Ten further updates of each of our cells are profiled: their kernels by time, and the share of time without a kernel
(`idle`). Decoding is beam search with a BERT encoder-decoder (6 and 6 layers, random weights, float32) against
`generate`: 512 sentences of mixed length in batches of 32.

`--small` runs all cells in miniature, also on a CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _common import Target, environment, report
from _random_training import (
    BASE,
    MINIATURE,
    Shape,
    from_shape,
    random_pairs,
    row_of,
    sources_of,
    training_of,
    vocabulary,
)
from transformers import (
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    logging,
)

from interlace.training.device import peak_memory, resolved
from interlace.training.loop import READ_EVERY, Progress, steps

LARGE, SMALL = 250_000, 20_000
WARMUP, UPDATES = 2 * READ_EVERY, 4 * READ_EVERY  # multiples, because steps are read in groups
PROFILED = 10  # updates after them
TOP = 15  # kernels of a profile
FULL = "out of memory"
OBJECTIVE, DEFAULTS, TUNED = "interlace", "Trainer, defaults", "Trainer, tuned"
DECODING = "beam search"


@dataclass(frozen=True)
class Cell:
    """What is measured: an objective here, masked language modeling by the Trainer, or decoding."""

    name: str
    system: str
    size: int
    objective: str = "mlm"
    compiled: bool = True
    cuda_graphs: bool = False
    width: int = 768


CELL_SECONDS = 60
CELLS = [
    Cell("mlm-250k", OBJECTIVE, LARGE),
    Cell("tlm-250k", OBJECTIVE, LARGE, "tlm"),
    Cell("weam-250k", OBJECTIVE, LARGE, "weam"),
    Cell("alm-250k", OBJECTIVE, LARGE, "alm"),
    Cell("mlm-20k", OBJECTIVE, SMALL),
    Cell("mlm-113k-small", OBJECTIVE, 113_000, cuda_graphs=True, width=384),
    Cell("trainer-20k-tuned", TUNED, SMALL),
    Cell("decoding-64k", DECODING, 64_000),
    Cell("align_mlm-250k", OBJECTIVE, LARGE, "align_mlm"),
    Cell("mlm-20k-graphs", OBJECTIVE, SMALL, cuda_graphs=True),
    Cell("mlm-20k-eager", OBJECTIVE, SMALL, compiled=False),
    Cell("trainer-20k", DEFAULTS, SMALL),
    Cell("trainer-250k", DEFAULTS, LARGE),
]


def text_size(shape: Shape) -> int:
    """Return the number of sentences of random text."""
    return 400 if shape is MINIATURE else 40_000


class Clock:
    """Times the updates after a warm-up, when the device has finished them."""

    def __init__(self) -> None:
        self.start = self.seconds = 0.0

    def __call__(self, update: int) -> None:
        if update in {WARMUP, WARMUP + UPDATES}:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self.seconds, self.start = time.perf_counter() - self.start, time.perf_counter()


def measure_objective(cell: Cell, shape: Shape, tokens: int, size: int) -> dict[str, Any]:
    """Return tokens/s and operations a token of an objective, and the profile of further updates."""
    vocab = vocabulary(size)
    gpu = torch.cuda.is_available()
    count = text_size(shape)
    sources = sources_of([cell.objective], vocab, shape, tokens, count, packed=gpu)
    training = training_of(
        sources,
        vocab,
        shape,
        WARMUP + UPDATES + PROFILED,
        compiled=cell.compiled and gpu,
        cuda_graphs=cell.cuda_graphs,
        row=row_of(vocab, shape, tokens) if gpu else None,
    )
    clock, timed = Clock(), []
    run = steps(training, Progress())
    for step in islice(run, WARMUP + UPDATES):
        clock(step.index)
        timed += [step] if step.index > WARMUP else []
    profile = profile_of(run)
    read = sum(step.tokens for step in timed)
    batch = training.mixture.first_batch(0)
    if training.row is not None:
        batch = training.row.pack(batch)
    batch = batch.to(training.accelerator.device)
    flops = training_flops(lambda: training.model(cell.objective, batch, batch.counts))
    return {
        "rate": read / clock.seconds,
        "flops": flops / batch.tokens,
        "waited": sum(step.waited for step in timed) / clock.seconds,
        "peak": peak_flops() if torch.cuda.is_available() else None,
        "profile": profile,
    }


def profile_of(run: Iterator[Any]) -> dict[str, Any]:
    """Do the remaining updates; return their kernels and copies, on a CPU their operations, as `summary` does."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    gpu = torch.cuda.is_available()
    with profile(
        activities=[ProfilerActivity.CUDA if gpu else ProfilerActivity.CPU]
    ) as recorded:
        updates = sum(1 for _ in run)  # the last waits for the device
    names, starts, ends = [], [], []
    for event in recorded.events():
        if gpu:  # annotations of the source span kernels
            counts = event.device_type == DeviceType.CUDA and not event.is_user_annotation
        else:
            counts = event.cpu_parent is None
        if counts:
            names.append(event.name)
            starts.append(event.time_range.start)
            ends.append(event.time_range.end)
    return summary(names, np.array(starts), np.array(ends), updates)


def summary(
    names: list[str], starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], updates: int
) -> dict[str, Any]:
    """Return what kernels of the given names took from `starts` to `ends`, in microseconds.

    idle: share of the time without any; gaps: how many such times, an update, and `longest_gap` of them. kernels: those
    that take most, each with its milliseconds and its number, an update.
    """
    order = np.argsort(starts)
    latest_ends = np.maximum.accumulate(ends[order])
    gaps = np.maximum(starts[order][1:] - latest_ends[:-1], 0)
    span = latest_ends[-1] - starts.min()
    durations: Counter[str] = Counter()
    for name, duration in zip(names, (ends - starts).tolist(), strict=True):
        durations[name] += duration
    counts = Counter(names)
    top = [
        [name[:80], round(total / 1e3 / updates, 4), counts[name] / updates]
        for name, total in durations.most_common(TOP)
    ]
    return {
        "updates": updates,
        "milliseconds": float(span) / 1e3 / updates,
        "launches": len(names) / updates,
        "idle": float(gaps.sum() / span),
        "gaps": float((gaps > 0).sum()) / updates,
        "longest_gap": float(gaps.max(initial=0)),
        "kernels": top,
    }


def training_flops(forward: Callable[[], object]) -> int:
    """Return the operations of the matrix products and attention of three forward passes: forward and backward."""
    from torch.utils.flop_counter import FlopCounterMode

    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    # two products, of shapes
    formula = {fused: lambda query, key, *_, **__: 4 * query.numel() * key[-2]}
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=formula) as counter:
        forward()
    return 3 * int(counter.get_total_flops())


def peak_flops(size: int = 8192, rounds: int = 10) -> float:
    """Return the operations per second of the GPU in a large matrix product in bfloat16."""
    matrix = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):  # the first are slower
        torch.mm(matrix, matrix)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        torch.mm(matrix, matrix)
    torch.cuda.synchronize()
    return 2 * size**3 * rounds / (time.perf_counter() - start)


def measure_trainer(cell: Cell, shape: Shape, tokens: int, size: int) -> dict[str, Any]:
    """Return tokens/s of the Trainer."""
    from _alternating import tokenizer_of
    from transformers import AutoModelForMaskedLM

    vocab, clock, tuned, gpu = (
        vocabulary(size),
        Clock(),
        cell.system == TUNED,
        torch.cuda.is_available(),
    )
    sentences = random_pairs(vocab, text_size(shape), shape.max_length).source
    rows = [{"input_ids": [vocab.begin, *row.tolist(), vocab.end]} for row in sentences.ids]
    config = from_shape(shape, vocab).model.config
    model = AutoModelForMaskedLM.from_config(
        config, attn_implementation="sdpa", trust_remote_code=False
    )
    batch = max(1, round(tokens / (sentences.ids.lengths.mean() + 2)))

    class Timer(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock(state.global_step)

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=batch, max_steps=WARMUP + UPDATES, use_cpu=not gpu,
            bf16=resolved("auto") == "bf16", optim="adamw_torch_fused", logging_strategy="no", save_strategy="no",
            report_to="none", disable_tqdm=True, torch_compile=tuned and gpu,
            dataloader_num_workers=4 * (tuned and gpu), include_num_input_tokens_seen="non_padding",
            train_sampling_strategy="group_by_length" if tuned else "random",
        )  # fmt: skip
        collate: Any = DataCollatorForLanguageModeling(tokenizer_of(vocab, folder))
        dataset: Any = rows
        trainer = Trainer(model, arguments, collate, dataset, callbacks=[Timer()])
        trainer.train()
    mean = trainer.state.num_input_tokens_seen / (WARMUP + UPDATES)  # an update
    return {"rate": mean * UPDATES / clock.seconds}


def measure_decoding(cell: Cell, shape: Shape, tokens: int, size: int) -> dict[str, Any]:
    """Return tokens/s of beam search and of `generate`, which translate the same sentences by turns."""
    import decoding
    from transformers import EncoderDecoderModel

    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = shape.model_copy(update={"family": "bert", "layers": min(shape.layers, 6)})
    vocab = vocabulary(size).with_target_languages(["en", "de"])
    count = 8 if shape.layers == MINIATURE.layers else 512
    pairs = random_pairs(vocab, count, shape.max_length // 2)
    with tempfile.TemporaryDirectory() as folder:
        ours, _ = decoding.saved_model(vocab, shape, Path(folder))
        theirs = EncoderDecoderModel.from_pretrained(folder).eval()
    comparison = decoding.Comparison(
        ours.to(device),
        theirs.to(device),
        vocab,
        pairs.source.ids,
        torch.from_numpy(pairs.target.lengths).to(device),
        ("en", "de"),
        batch=32,
        beam=5,
    )
    rates = decoding.measure(comparison, count, 2, time.perf_counter)
    rate, of_generate = rates.medians
    return {"rate": rate, "generate": of_generate, "identical": rates.same / rates.compared}


def measure(name: str, tokens: int, *, small: bool) -> dict[str, Any]:
    """Return the result of one cell; memory is the peak in bytes."""
    cell = next(cell for cell in CELLS if cell.name == name)
    shape = MINIATURE if small else BASE
    size = cell.size // 100 if small else cell.size
    if not small and cell.width != BASE.width:
        shape = BASE.model_copy(update={"width": cell.width})
    systems = {OBJECTIVE: measure_objective, DECODING: measure_decoding}
    try:
        found = systems.get(cell.system, measure_trainer)(cell, shape, tokens, size)
    except torch.OutOfMemoryError:
        return {"error": FULL}
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return {**found, "memory": peak_memory(device), "environment": environment()}


def table(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line a cell: real tokens/s, share of the peak, memory, and time without data or without a kernel."""
    lines = [
        f"{'cell':20} {'tokens/s':>10} {'of peak':>8} {'memory':>10} {'waiting':>8} {'idle':>8}"
    ]
    for cell in CELLS:
        if (result := found.get(cell.name)) is None or "rate" not in result:
            lines += [f"{cell.name:20} {(result or {}).get('error', 'not measured')}"]
            continue
        base = found.get("mlm-20k" if cell.size == SMALL else "mlm-250k", {})
        flops, peak = (
            result.get("flops", base.get("flops")),
            result.get("peak", base.get("peak")),
        )
        counted = flops and peak and cell.system != DECODING
        share = f"{result['rate'] * flops / peak:.1%}" if counted else "-"
        idle = f"{result['profile']['idle']:.1%}" if "profile" in result else "-"
        waited = f"{result['waited']:.1%}" if "waited" in result else "-"
        memory = f"{result['memory'] / 1e9:.2f} GB"
        figures = f"{share:>8} {memory:>10} {waited:>8} {idle:>8}"
        lines += [f"{cell.name:20} {result['rate']:10,.0f} {figures}"]
    return lines


def targets(found: dict[str, dict[str, Any]]) -> list[Target]:
    """Return the targets whose cells are measured."""

    def rate(name: str) -> float | None:
        return found.get(name, {}).get("rate")

    def ratio(name: str, other: str) -> float | None:
        one, two = rate(name), rate(other)
        return one / two if one and two else None

    best = max(("mlm-20k", "mlm-20k-graphs"), key=lambda name: rate(name) or 0)
    result = found.get(best, {})
    share = result["rate"] * result["flops"] / result["peak"] if result.get("peak") else None
    decoding = found.get("decoding-64k", {})
    decoded = decoding["rate"] / decoding["generate"] if "rate" in decoding else None
    others = [Target(f"{name} / mlm", ratio(f"{name}-250k", "mlm-250k"), 0.85, at_least=True)
              for name in ("tlm", "alm", "weam", "align_mlm")]  # fmt: skip
    return [
        Target("share of the peak", share, 0.45, at_least=True),
        Target("mlm-250k, tokens/s", rate("mlm-250k"), 480_000, at_least=True),
        Target("mlm-113k-small, tokens/s", rate("mlm-113k-small"), 600_000, at_least=True),
        Target("mlm / tuned Trainer", ratio(best, "trainer-20k-tuned"), 2.0, at_least=True),
        Target("mlm / Trainer's defaults", ratio(best, "trainer-20k"), 2.5, at_least=True),
        *others,
        Target("beam search / generate", decoded, 1.5, at_least=True),
    ]


def main() -> int:
    names = [cell.name for cell in CELLS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("gpu_step.json"))
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--tokens", type=int, default=32_768, help="tokens per update")
    parser.add_argument("--cells", nargs="+", choices=names, default=names)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.set_verbosity_error()
    if not (torch.cuda.is_available() or options.small):
        print("there is no GPU; --small runs the cells in miniature")
        return 2
    end = time.monotonic() + 60 * options.minutes
    stored = json.loads(options.output.read_text()) if options.output.exists() else {}
    settings = {"tokens": options.tokens, "small": options.small}
    found = stored.get("cells", {}) if stored.get("settings") == settings else {}
    # others are repeated
    found = {name: cell for name, cell in found.items() if cell.get("error", FULL) == FULL}
    for name in options.cells:
        if name in found:
            continue
        if time.monotonic() > end - CELL_SECONDS * (not options.small):
            print(f"stopped before {name}; rerun the same command to resume")
            break
        try:
            found[name] = measure(name, options.tokens, small=options.small)
        except Exception as error:  # noqa: BLE001 - the other cells are measured
            found[name] = {"error": f"{type(error).__name__}: {error}"[:200]}
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        print(f"{name}: {found[name]}", flush=True)
        partial = options.output.with_suffix(".partial")
        partial.write_text(json.dumps({"settings": settings, "cells": found}, indent=1) + "\n")
        partial.replace(options.output)
    print("\n".join(table(found)))
    return 0 if options.small else report(targets(found))


if __name__ == "__main__":
    sys.exit(main())
