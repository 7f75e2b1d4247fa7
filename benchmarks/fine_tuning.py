"""Compare the speed of fine-tuning and prediction with Hugging Face's `Trainer`, as its run_xnli script uses it.

Targets: at least as many examples/s as the Trainer with dynamic padding; the aim is 1.5 times as many.

    python benchmarks/fine_tuning.py [--examples 1984] [--rounds 62] [--threads 1] [--cpu-time]

Both fine-tune the same shape (6 layers, width 256, vocabulary 20k) on the same sentence pairs in the same precision,
with batches of the same mean number of examples. The Trainer shuffles and pads to the longest sequence of the batch,
or groups by length. Updates alternate in one process. Rates are totals, because bucketed batches have different sizes.
The default of `--rounds` is an epoch. The Trainer predicts in file order. The text is XNLI's English development set in
`INTERLACE_DATA`, else random words in sentences of similar length.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from _alternating import AlternatingUpdates, tokenizer_of, trainer_of
from _common import environment
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    logging,
)

from interlace.core.randomness import Purpose, generator
from interlace.data import LabeledExamples, Pairs
from interlace.data.sampling import BucketPlan
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.readers.nli import Nli
from interlace.tasks.common.prediction import predict_all
from interlace.tasks.xnli import LABELS, Xnli
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LENGTH, BATCH, WARMUP = 128, 32, 2  # maximum length and batch size of run_xnli
SHAPE = Shape(family="bert", layers=6, width=256, heads=4, max_length=LENGTH)


def nli_examples(count: int) -> tuple[list[str], list[str], list[int]]:
    """Return premises, hypotheses and labels."""
    path = Path(os.environ.get("INTERLACE_DATA", "absent")) / "nli/xnli/xnli.dev.en.tsv.gz"
    if path.is_file():
        chunks: Any = list(Nli().read_chunks([path], ["en"]))
        premises = [line for chunk in chunks for line in chunk.source.lines]
        hypotheses = [line for chunk in chunks for line in chunk.target.lines]
        labels = [LABELS.index(label) for chunk in chunks for label in chunk.labels]
        rows = [row % len(labels) for row in range(count)]
        return (
            [premises[row] for row in rows],
            [hypotheses[row] for row in rows],
            [labels[row] for row in rows],
        )
    rng = generator(Purpose.SAMPLE, 0)
    words = np.array(
        ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 5)) for _ in range(20_000)]
    )
    lengths = np.clip(rng.gamma(2.0, 9.5, size=count).astype(int), 2, 60)
    sides = [
        [" ".join(words[rng.zipf(1.3, size=n) % len(words)]) for n in part]
        for part in (lengths, lengths // 2 + 2)
    ]
    return sides[0], sides[1], rng.integers(len(LABELS), size=count).tolist()


@dataclass
class FineTuning:
    """Fine-tuning and prediction with interlace."""

    examples: LabeledExamples
    vocab: Vocab

    def __post_init__(self) -> None:
        self.head = Xnli(max_length=LENGTH).head()
        backbone = from_shape(SHAPE, self.vocab)
        self.prepared = self.head.prepare(Resources(self.vocab, backbone.traits))
        self.accelerator = accelerator_for("auto")
        self.model = self.accelerator.prepare(TrainingModel(backbone, {"xnli": self.head}, 0))
        self.tokens = int(BATCH * (np.minimum(self.examples.lengths + 3, LENGTH)).mean())

    def updates(self) -> Iterator[int]:
        """Run an update at each `next`, and yield its number of examples."""
        plan = BucketPlan(
            self.examples.lengths, self.tokens, seed=0, max_length=LENGTH, overhead=3
        )
        source = MixtureSource(
            "xnli", "en", self.head, self.prepared, BucketedBatches(self.examples, plan)
        )
        settings = OptimizerSettings(
            learning_rate=2e-5,
            schedule="constant",
            warmup=0,
            weight_decay=0.0,
            betas=(0.9, 0.999),
        )
        mixture = Mixture([source], 0)
        training = Training(
            self.model,
            mixture,
            settings.build(self.model),
            settings,
            self.accelerator,
            last=10**6,
        )
        return (step.rows for step in steps(training, Progress()))

    def predict(self) -> Any:
        """Predict the labels of all examples."""
        model = self.accelerator.unwrap_model(self.model)
        with self.accelerator.autocast():
            return predict_all(
                self.head, model.backbone, model.heads["xnli"], self.examples, self.prepared, 4 * self.tokens,
            )  # fmt: skip


def xnli_trainer(
    rows: Any,
    vocab: Vocab,
    folder: str,
    sampling: str,
    alternating: AlternatingUpdates,
    rounds: int,
) -> Any:
    """Set up the Trainer like run_xnli."""
    config = BertConfig(
        vocab_size=vocab.size, hidden_size=SHAPE.width, num_hidden_layers=SHAPE.layers, num_labels=len(LABELS),
        num_attention_heads=SHAPE.heads, intermediate_size=4 * SHAPE.width, max_position_embeddings=LENGTH,
        pad_token_id=vocab.pad,
    )  # fmt: skip
    return trainer_of(
        BertForSequenceClassification(config), DataCollatorWithPadding(tokenizer_of(vocab, folder)), rows, alternating,
        output_dir=folder, max_steps=WARMUP + rounds, train_sampling_strategy=sampling, learning_rate=2e-5,
        per_device_train_batch_size=BATCH, per_device_eval_batch_size=4 * BATCH,
    )  # fmt: skip


def seconds_of(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=1984)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--cpu-time", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    print(environment(), flush=True)
    clock = time.process_time if options.cpu_time else time.perf_counter
    premises, hypotheses, labels = nli_examples(options.examples)
    vocab = Vocab.learn({"en": premises + hypotheses}, size=20_000)
    pairs = Pairs(
        vocab.encode(premises, language="en"), vocab.encode(hypotheses, language="en")
    )
    fine_tuning = FineTuning(LabeledExamples(pairs, labels=np.array(labels, np.int32)), vocab)
    rows: Any = [
        {
            "input_ids": [
                vocab.begin,
                *one.tolist(),
                *vocab.separator_ids,
                *two.tolist(),
                vocab.end,
            ][:LENGTH],
            "labels": label,
        }
        for one, two, label in zip(pairs.source.ids, pairs.target.ids, labels, strict=True)
    ]
    mean = np.mean([len(row["input_ids"]) for row in rows])
    print(
        f"{len(rows)} pairs, {mean:.1f} tokens on average; examples/s: interlace, Trainer, ratio"
    )
    with tempfile.TemporaryDirectory() as folder:
        for sampling in ("group_by_length", "random"):
            timed = AlternatingUpdates(fine_tuning.updates(), lambda: BATCH, clock)
            trainer = xnli_trainer(
                rows, vocab, folder, sampling, timed, options.rounds or len(rows) // BATCH
            )
            trainer.train()
            ours, theirs = (
                sum(size for size, _ in side[WARMUP:])
                / sum(seconds for _, seconds in side[WARMUP:])
                for side in (timed.interlace, timed.trainer)
            )
            print(
                f"  fine-tuning, {sampling:16} {ours:8.1f} {theirs:8.1f}   {ours / theirs:5.2f}",
                flush=True,
            )
        runs = [
            (
                seconds_of(fine_tuning.predict, clock),
                seconds_of(lambda: trainer.predict(rows), clock),
            )
            for _ in range(3)
        ]
    ours, theirs = (len(rows) / statistics.median(side) for side in zip(*runs, strict=True))
    print(
        f"  prediction, file order      {ours:8.1f} {theirs:8.1f}   {ours / theirs:5.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
