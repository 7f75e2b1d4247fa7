"""Measure training steps on one GPU against Hugging Face's Trainer: real tokens/s, share of the peak, memory.

Targets: 45 % of the measured bf16 peak for `mlm`; 480,000 tokens/s at 250k entries, 600,000 of the small model; twice
the tuned Trainer, 2.5 times its defaults; other objectives within 15 % of `mlm`.

    python benchmarks/gpu_step.py [--output gpu_step.json] [--minutes 6] [--tokens 32768] [--cells NAME ..] [--small]

The model has XLM-R base's shape (Conneau et al. 2020) without attention dropout, random weights, and vocabularies of
20k and 250k tokens; a small one has 12 layers of width 384 and 113k tokens. The text is random. Our cells have packed
rows and are compiled, as a recipe's defaults are on a GPU, unless they are called eager. The most telling cells are
first. Each result is stored at once, so the same command resumes after `--minutes` or a failure; no cell starts in the
last `CELL_SECONDS`. A cell without memory for its batch is a result. Tokens are real ones, without
padding; `mlm` reads blocks of running text, the Trainer sentences: in random order (defaults), or grouped by length,
compiled, with worker processes (tuned). Both have fused AdamW, bf16 and sdpa; operations of the Trainer are taken to be
those of `mlm`.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
FULL = "out of memory"
OBJECTIVE, DEFAULTS, TUNED = "interlace", "Trainer, defaults", "Trainer, tuned"


@dataclass(frozen=True)
class Cell:
    """What is measured: an objective here, or masked language modeling by the Trainer."""

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
    """Return tokens/s and operations a token of an objective."""
    vocab = vocabulary(size)
    gpu = torch.cuda.is_available()
    count = text_size(shape)
    sources = sources_of([cell.objective], vocab, shape, tokens, count, packed=gpu)
    training = training_of(
        sources,
        vocab,
        shape,
        WARMUP + UPDATES,
        compiled=cell.compiled and gpu,
        cuda_graphs=cell.cuda_graphs,
        row=row_of(vocab, shape, tokens) if gpu else None,
    )
    clock, timed = Clock(), []
    for step in steps(training, Progress()):
        clock(step.index)
        timed += [step] if step.index > WARMUP else []
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


def measure(name: str, tokens: int, *, small: bool) -> dict[str, Any]:
    """Return the result of one cell; memory is the peak in bytes."""
    cell = next(cell for cell in CELLS if cell.name == name)
    shape = MINIATURE if small else BASE
    size = cell.size // 100 if small else cell.size
    if not small and cell.width != BASE.width:
        shape = BASE.model_copy(update={"width": cell.width})
    make = measure_objective if cell.system == OBJECTIVE else measure_trainer
    try:
        found = make(cell, shape, tokens, size)
    except torch.OutOfMemoryError:
        return {"error": FULL}
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return {**found, "memory": peak_memory(device), "environment": environment()}


def table(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line a cell: real tokens/s, share of the peak and memory."""
    lines = [f"{'cell':20} {'tokens/s':>10} {'of peak':>8} {'memory':>10} {'waiting':>8}"]
    for cell in CELLS:
        if (result := found.get(cell.name)) is None or "rate" not in result:
            lines += [f"{cell.name:20} {(result or {}).get('error', 'not measured')}"]
            continue
        base = found.get("mlm-20k" if cell.size == SMALL else "mlm-250k", {})
        flops, peak = (
            result.get("flops", base.get("flops")),
            result.get("peak", base.get("peak")),
        )
        share = f"{result['rate'] * flops / peak:.1%}" if flops and peak else "-"
        waited = f"{result['waited']:.1%}" if "waited" in result else "-"
        memory = f"{result['memory'] / 1e9:.2f} GB"
        lines += [f"{cell.name:20} {result['rate']:10,.0f} {share:>8} {memory:>10} {waited:>8}"]
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
    others = [Target(f"{name} / mlm", ratio(f"{name}-250k", "mlm-250k"), 0.85, at_least=True)
              for name in ("tlm", "alm", "weam", "align_mlm")]  # fmt: skip
    return [
        Target("share of the peak", share, 0.45, at_least=True),
        Target("mlm-250k, tokens/s", rate("mlm-250k"), 480_000, at_least=True),
        Target("mlm-113k-small, tokens/s", rate("mlm-113k-small"), 600_000, at_least=True),
        Target("mlm / tuned Trainer", ratio(best, "trainer-20k-tuned"), 2.0, at_least=True),
        Target("mlm / Trainer's defaults", ratio(best, "trainer-20k"), 2.5, at_least=True),
        *others,
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
