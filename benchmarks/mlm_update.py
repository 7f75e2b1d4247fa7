"""Compare the speed of `mlm` updates with Hugging Face's `Trainer` and `DataCollatorForLanguageModeling`.

Targets: at least twice the real tokens/s at vocabulary 20k (6 layers, width 256), and no fewer at vocabulary 1k.

    python benchmarks/mlm_update.py [--sizes 1000 20000 100000] [--rounds 6] [--threads 1] [--cpu-time]

Both train the same weights on the same sentences in the same precision (`auto`), with fused AdamW, gradient clipping
and dropout. The Trainer runs in three settings: padded sentences, sentences grouped by length, and blocks cut from
running text. Updates alternate in one process. `--cpu-time` measures processor time, which is more stable on a shared
machine. The text is Multi30k's captions in `INTERLACE_DATA`, else random words in sentences of similar length.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from _alternating import AlternatingUpdates, tokenizer_of, trainer_of
from _common import caption_files
from transformers import AutoModelForMaskedLM, DataCollatorForLanguageModeling, logging

from interlace.core.randomness import Purpose, generator
from interlace.data.packing import Streams
from interlace.data.sampling import StreamPlan
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.mlm import Mlm
from interlace.text.lines import read_lines
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import Mixture, MixtureSource, StreamedBatches
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.data import Sentences

LENGTH, TOKENS, WARMUP = 256, 4096, 2
SHAPE = Shape(layers=6, width=256, heads=4, max_length=LENGTH)


def captions() -> list[str]:
    """Return alternating English and German captions, or Zipf-distributed words in sentences of the same length."""
    if files := caption_files():
        return [line for pair in zip(*map(read_lines, files), strict=True) for line in pair]
    rng = generator(Purpose.SAMPLE, 0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = np.array(
        ["".join(rng.choice(letters, size=rng.integers(2, 9))) for _ in range(30_000)]
    )
    lengths = np.clip(rng.gamma(9.0, 1.35, size=40_000).astype(int), 4, 35)
    return [" ".join(words[rng.zipf(1.3, size=length) % len(words)]) for length in lengths]


def interlace_updates(text: Sentences, vocab: Vocab, size: int) -> Iterator[int]:
    """Run an update at each `next`, and yield real tokens."""
    objective = Mlm(max_length=LENGTH)
    backbone = random_model(vocab, size)
    prepared = objective.prepare(Resources(vocab, backbone.traits))
    streams = Streams(text, LENGTH - 2, vocab.end)
    plan = StreamedBatches(streams, StreamPlan(len(streams), TOKENS, LENGTH))
    accelerator, settings = (
        accelerator_for("auto"),
        OptimizerSettings(schedule="constant", warmup=0),
    )
    model = accelerator.prepare(TrainingModel(backbone, {"mlm": objective}, 0))
    mixture = Mixture([MixtureSource("mlm", "captions", objective, prepared, plan)], 0)
    training = Training(
        model, mixture, settings.build(model), settings, accelerator, last=10**6
    )
    return (step.tokens for step in steps(training, Progress()))


def random_model(vocab: Vocab, size: int) -> Any:
    """Return the same random weights at every call, for exactly `size` tokens."""
    return from_shape(
        SHAPE, SimpleNamespace(size=size, pad=vocab.pad, begin=vocab.begin, end=vocab.end)
    )


def run_trainer(
    updates: Iterator[int],
    rows: list[list[int]],
    vocab: Vocab,
    size: int,
    sampling: str,
    options: Any,
) -> AlternatingUpdates:
    """Train on `rows` with the Trainer, alternating with updates of interlace."""
    weights = random_model(vocab, size).model
    model = AutoModelForMaskedLM.from_config(
        weights.config, attn_implementation=options.attention, trust_remote_code=False
    )
    model.load_state_dict(weights.state_dict())
    tokens: list[int] = []
    clock = time.process_time if options.cpu_time else time.perf_counter
    alternating = AlternatingUpdates(updates, lambda: tokens[-1], clock)
    with tempfile.TemporaryDirectory() as folder:
        collate = DataCollatorForLanguageModeling(tokenizer_of(vocab, folder))

        def collator(examples: list[dict[str, Any]]) -> Any:
            tokens.append(sum(len(example["input_ids"]) for example in examples))
            return collate(examples)

        batch = round(TOKENS / (sum(map(len, rows)) / len(rows)))
        trainer_of(
            model, collator, [{"input_ids": row} for row in rows], alternating, output_dir=folder,
            max_steps=WARMUP + options.rounds, per_device_train_batch_size=batch, train_sampling_strategy=sampling,
            learning_rate=5e-4, adam_beta2=0.98, adam_epsilon=1e-6, weight_decay=0.01,
        ).train()  # fmt: skip
    return alternating


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 1_000])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument(
        "--attention", default="sdpa", help="attention of the Trainer's model: sdpa or eager"
    )
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
        blocks = [
            [vocab.begin, *row.tolist(), vocab.end]
            for row in streams.take(np.arange(len(streams))).ids
        ]
        mean = text.lengths.mean() + 2
        print(
            f"vocabulary {size}, {mean:.1f} tokens per line; real tokens/s: interlace, Trainer, ratio",
            flush=True,
        )
        updates = interlace_updates(text, vocab, size)
        for name, rows, sampling in (
            ("sentences, padded", sentences, "random"),
            ("sentences, grouped by length", sentences, "group_by_length"),
            ("blocks cut from running text", blocks, "random"),
        ):
            timed = run_trainer(updates, rows, vocab, size, sampling, options)
            ours, theirs = (
                [tokens / seconds for tokens, seconds in side[WARMUP:]]
                for side in (timed.interlace, timed.trainer)
            )
            ratios = [own / other for own, other in zip(ours, theirs, strict=True)]
            rates = f"{statistics.median(ours):8.0f} {statistics.median(theirs):8.0f}"
            spread = f"{statistics.median(ratios):5.2f} (min {min(ratios):.2f}, max {max(ratios):.2f})"
            print(f"  {name:34} {rates}   {spread}")


if __name__ == "__main__":
    main()
