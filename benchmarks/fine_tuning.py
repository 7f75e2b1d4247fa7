"""Claim: fine-tuning and prediction on XNLI's text are at least as fast an example as Hugging Face's `Trainer` with
dynamic padding, as its run_xnli script uses it; the aim is 1.5 times.

    python benchmarks/fine_tuning.py [--examples 1984] [--rounds 62] [--threads 1] [--cpu-time]

Both tune the same shape (6 layers, width 256, vocabulary 20k) on the same pairs of sentences, in the same precision,
with batches of the same mean number of examples; the Trainer shuffles and pads to the longest row of a batch, or, in
another line, groups by length. Updates alternate in one process, so that a slow spell of the machine meets both; rates
are of all examples over all of the time, because batches of one length are of unequal sizes. No --rounds: an epoch.
Prediction is over all examples, in file order for the Trainer. Text is XNLI's English development set where
`INTERLACE_DATA` names the folder of real data, else pairs of made-up words in lines of its lengths.
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
from _turns import Turns, rate
from _where import where
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    PrinterCallback,
    Trainer,
    TrainingArguments,
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
from interlace.training.device import accelerator_for, fast_precision
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LENGTH, ROWS, WARM = 128, 32, 2  # run_xnli's longest row and batch
SHAPE = Shape(family="bert", layers=6, width=256, heads=4, max_length=LENGTH)


def inference(count: int) -> tuple[list[str], list[str], list[int]]:
    """Premises, hypotheses and labels."""
    path = Path(os.environ.get("INTERLACE_DATA", "absent")) / "nli/xnli/xnli.dev.en.tsv.gz"
    rng = generator(Purpose.SAMPLE, 0)
    if path.is_file():
        chunks: Any = list(Nli().read_chunks([path], ["en"]))
        premises, hypotheses = ([line for chunk in chunks for line in side(chunk).lines] for side in SIDES)
        labels = [LABELS.index(label) for chunk in chunks for label in chunk.labels]
        rows = [row % len(labels) for row in range(count)]
        return [premises[row] for row in rows], [hypotheses[row] for row in rows], [labels[row] for row in rows]
    words = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 5)) for _ in range(20_000)])
    lengths = np.clip(rng.gamma(2.0, 9.5, size=count).astype(int), 2, 60)
    sides = [
        [" ".join(words[rng.zipf(1.3, size=n) % len(words)]) for n in part] for part in (lengths, lengths // 2 + 2)
    ]
    return sides[0], sides[1], rng.integers(len(LABELS), size=count).tolist()


SIDES: list[Callable[[Any], Any]] = [lambda chunk: chunk.source, lambda chunk: chunk.target]


@dataclass
class Ours:
    """Our side: a model with its heads, and its examples."""

    examples: LabeledExamples
    vocab: Vocab

    def __post_init__(self) -> None:
        self.learner = Xnli(max_length=LENGTH).head()
        backbone = from_shape(SHAPE, self.vocab)
        self.prepared = self.learner.prepare(Resources(self.vocab, backbone.traits))
        self.accelerator = accelerator_for("auto")
        self.model = self.accelerator.prepare(TrainingModel(backbone, {"xnli": self.learner}, 0))
        self.tokens = int(ROWS * (np.minimum(self.examples.lengths + 3, LENGTH)).mean())

    def updates(self) -> Iterator[int]:
        """Updates of the loop, one a `next`; yields examples."""
        plan = BucketPlan(self.examples.lengths, self.tokens, seed=0, max_length=LENGTH, overhead=3)
        source = MixtureSource("xnli", "en", self.learner, self.prepared, BucketedBatches(self.examples, plan))
        settings = OptimizerSettings(
            learning_rate=2e-5, schedule="constant", warmup=0, weight_decay=0.0, betas=(0.9, 0.999)
        )
        mixture = Mixture([source], 0)
        training = Training(self.model, mixture, settings.build(self.model), settings, self.accelerator, last=10**6)
        return (step.rows for step in steps(training, Progress()))

    def predict(self) -> Any:
        """Labels of all examples."""
        model = self.accelerator.unwrap_model(self.model)
        heads = model.heads["xnli"]
        with self.accelerator.autocast():
            return predict_all(
                self.learner, model.backbone, heads, self.examples, self.prepared, 4 * self.tokens,
                self.accelerator.device,
            )  # fmt: skip


def trainer_of(dataset: Any, vocab: Vocab, folder: str, sampling: str, turns: Turns, rounds: int) -> Trainer:
    """The Trainer as run_xnli sets it up."""
    vocab.save(Path(folder) / "tokenizer")
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=WARM + rounds,
        per_device_train_batch_size=ROWS,
        per_device_eval_batch_size=4 * ROWS,
        train_sampling_strategy=sampling,
        use_cpu=not torch.cuda.is_available(),
        bf16=fast_precision() == "bf16",
        optim="adamw_torch_fused",
        learning_rate=2e-5,
        lr_scheduler_type="constant",
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    config = BertConfig(
        vocab_size=vocab.size, hidden_size=SHAPE.width, num_hidden_layers=SHAPE.layers, num_labels=len(LABELS),
        num_attention_heads=SHAPE.heads, intermediate_size=4 * SHAPE.width, max_position_embeddings=LENGTH,
        pad_token_id=vocab.pad,
    )  # fmt: skip
    collator = DataCollatorWithPadding(
        AutoTokenizer.from_pretrained(Path(folder) / "tokenizer", trust_remote_code=False)
    )
    trainer = Trainer(BertForSequenceClassification(config), arguments, collator, dataset, callbacks=[turns])
    trainer.remove_callback(PrinterCallback)
    return trainer


def timed(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Seconds that it takes."""
    start = clock()
    work()
    return clock() - start


def main() -> None:
    """Measure training against both ways of the Trainer, then prediction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1984)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--cpu-time", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    print(where(), flush=True)
    clock = time.process_time if options.cpu_time else time.perf_counter
    premises, hypotheses, labels = inference(options.examples)
    vocab = Vocab.learn({"en": premises + hypotheses}, size=20_000)
    pairs = Pairs(vocab.encode(premises, language="en"), vocab.encode(hypotheses, language="en"))
    ours = Ours(LabeledExamples(pairs, labels=np.array(labels, np.int32)), vocab)
    rows = [
        {
            "input_ids": [vocab.begin, *one.tolist(), *vocab.separator_ids, *two.tolist(), vocab.end][:LENGTH],
            "labels": label,
        }
        for one, two, label in zip(pairs.source.ids, pairs.target.ids, labels, strict=True)
    ]
    mean = np.mean([len(row["input_ids"]) for row in rows])
    print(f"{len(rows)} pairs of {mean:.1f} subwords; examples/s: ours, Trainer, ratio")
    with tempfile.TemporaryDirectory() as folder:
        for sampling in ("group_by_length", "random"):
            turns = Turns(ours.updates(), lambda: ROWS, clock)
            trainer = trainer_of(rows, vocab, folder, sampling, turns, options.rounds or len(rows) // ROWS)
            trainer.train()
            mine, theirs = (rate(side[WARM:]) for side in (turns.mine, turns.theirs))
            print(f"  fine-tuning, {sampling:16} {mine:8.1f} {theirs:8.1f}   {mine / theirs:5.2f}", flush=True)
        dataset: Any = rows
        predicting = [(timed(ours.predict, clock), timed(lambda: trainer.predict(dataset), clock)) for _ in range(3)]
    mine, theirs = (len(rows) / statistics.median(side) for side in zip(*predicting, strict=True))
    print(f"  prediction, file order      {mine:8.1f} {theirs:8.1f}   {mine / theirs:5.2f}", flush=True)


if __name__ == "__main__":
    main()
