"""Claim: one update of `mlm` is at least 2 times as fast, in real tokens/s, as Hugging Face's `Trainer` with
`DataCollatorForLanguageModeling` at vocabulary 20k (6 layers, width 256), and no slower at vocabulary 1k.

    python benchmarks/mlm_update.py [--sizes 1000 20000 100000] [--rounds 6] [--threads 1] [--cpu-time]

Both train the same weights on the same sentences of natural length, in the same precision (`auto`), with
fused AdamW, gradient clipping and dropout. Multi30k is read where `INTERLACE_DATA` points to it, else captions of like
lengths are made up. The Trainer runs in its usual settings: sentences padded to the longest of the batch; the same with
sentences grouped by length; and blocks cut by hand from running text, which leaves gathering and a leaner step alone
to differ. Updates of both sides alternate in one process, so that a slow spell of the machine meets both; on a machine
that others use, one thread and `--cpu-time` (seconds of the processor, not of the wall) give steady figures.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from _turns import Turns
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    logging,
)

from interlace.core.randomness import Purpose, generator
from interlace.data.packing import Streams
from interlace.data.sampling import StreamPlan
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.mlm import Mlm
from interlace.text.lines import read_lines
from interlace.training.device import accelerator_for, fast_precision
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import Mixture, MixtureSource, StreamedBatches
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.data import Sentences

LENGTH, TOKENS, WARM = 256, 4096, 2
SHAPE = Shape(layers=6, width=256, heads=4, max_length=LENGTH)


def captions() -> list[str]:
    """English and German captions by turns, or words drawn by Zipf's law in lines of their lengths."""
    folder = Path(os.environ.get("INTERLACE_DATA", "absent")) / "parallel" / "multi30k"
    if folder.is_dir():
        sides = [list(read_lines(folder / f"train.{language}.gz")) for language in ("en", "de")]
        return [line for pair in zip(*sides, strict=True) for line in pair]
    rng = generator(Purpose.SAMPLE, 0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = np.array(["".join(rng.choice(letters, size=rng.integers(2, 9))) for _ in range(30_000)])
    lengths = np.clip(rng.gamma(9.0, 1.35, size=40_000).astype(int), 4, 35)
    return [" ".join(words[rng.zipf(1.3, size=length) % len(words)]) for length in lengths]


def ours(text: Sentences, vocab: Vocab, size: int) -> Iterator[int]:
    """Updates of the loop, one a `next`; yields real tokens."""
    objective = Mlm(max_length=LENGTH)
    prepared = objective.prepare(Resources(vocab, (backbone := model(vocab, size)).traits))
    streams = Streams(text, LENGTH - 2, vocab.end)
    plan = StreamedBatches(streams, StreamPlan(len(streams), TOKENS, LENGTH))
    accelerator, settings = accelerator_for("auto"), OptimizerSettings(schedule="constant", warmup=0)
    learning = accelerator.prepare(TrainingModel(backbone, {"mlm": objective}, 0))
    mixture = Mixture([MixtureSource("mlm", "captions", objective, prepared, plan)], 0)
    training = Training(learning, mixture, settings.build(learning), settings, accelerator, last=10**6)
    return (step.tokens for step in steps(training, Progress()))


def model(vocab: Vocab, size: int) -> Any:
    """Fresh weights, the same at every call; the table has `size` rows however many subwords the text gave."""
    sized = SimpleNamespace(size=size, pad=vocab.pad, begin=vocab.begin, end=vocab.end)
    return from_shape(SHAPE, sized)


def plain(vocab: Vocab, size: int, attention: str) -> Any:
    """The same weights in a model that transformers made, with torch's own dropout and attention."""
    weights = model(vocab, size).model
    made = AutoModelForMaskedLM.from_config(weights.config, attn_implementation=attention, trust_remote_code=False)
    made.load_state_dict(weights.state_dict())
    return made


def against(other: Iterator[int], rows: list[list[int]], vocab: Vocab, size: int, sampling: str, options: Any) -> Turns:
    """Train by turns with the Trainer on `rows`; rates of both in real tokens/s."""
    mean = sum(map(len, rows)) / len(rows)
    with tempfile.TemporaryDirectory() as folder:
        vocab.save(Path(folder) / "tokenizer")
        collate = DataCollatorForLanguageModeling(
            AutoTokenizer.from_pretrained(Path(folder) / "tokenizer", trust_remote_code=False)
        )
        counted: list[int] = []

        def collator(examples: list[dict[str, Any]]) -> Any:
            counted.append(sum(len(example["input_ids"]) for example in examples))
            return collate(examples)

        turns = Turns(other, lambda: counted[-1], time.process_time if options.cpu_time else time.perf_counter)
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=WARM + options.rounds,
            per_device_train_batch_size=round(TOKENS / mean),
            train_sampling_strategy=sampling,
            use_cpu=not torch.cuda.is_available(),
            bf16=fast_precision() == "bf16",
            optim="adamw_torch_fused",
            learning_rate=5e-4,
            lr_scheduler_type="constant",
            adam_beta2=0.98,
            adam_epsilon=1e-6,
            weight_decay=0.01,
            logging_strategy="no",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        dataset: Any = [{"input_ids": row} for row in rows]
        trainer = Trainer(plain(vocab, size, options.attention), arguments, collator, dataset, callbacks=[turns])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return turns


def show(name: str, turns: Turns) -> None:
    """A row: rates and their ratio, the least and the median of the turns."""
    theirs, mine = ([size / seconds for size, seconds in side[WARM:]] for side in (turns.theirs, turns.mine))
    ratios = [ours / other for ours, other in zip(mine, theirs, strict=True)]
    rates = f"{statistics.median(mine):8.0f} {statistics.median(theirs):8.0f}"
    print(f"  {name:34} {rates}   {statistics.median(ratios):5.2f} (least {min(ratios):.2f}, most {max(ratios):.2f})")


def main() -> None:
    """Measure each size of the vocabulary against each way of the Trainer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 1_000])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--attention", default="sdpa", help="the Trainer's kernel: sdpa or eager")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    lines = captions()
    for size in options.sizes:
        vocab = Vocab.learn({"captions": lines}, size=size)
        text = vocab.encode(lines, language="captions")
        sentences = [[vocab.begin, *row.tolist(), vocab.end] for row in text.ids]
        streams = Streams(text, LENGTH - 2, vocab.end)
        blocks = [[vocab.begin, *row.tolist(), vocab.end] for row in streams.take(np.arange(len(streams))).ids]
        mean = text.lengths.mean() + 2
        print(f"vocabulary {size}, sentences of {mean:.1f} subwords; real tokens/s: ours, Trainer, ratio", flush=True)
        other = ours(text, vocab, size)
        show("sentences, padded", against(other, sentences, vocab, size, "random", options))
        show("sentences, grouped by length", against(other, sentences, vocab, size, "group_by_length", options))
        show("blocks cut by hand", against(other, blocks, vocab, size, "random", options))


if __name__ == "__main__":
    main()
