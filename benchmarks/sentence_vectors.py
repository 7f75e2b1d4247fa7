"""Compare contrastive training of sentence vectors with the trainer of sentence-transformers.

Targets: the same retrieval within seeds, and at least as many pairs/s.

    INTERLACE_DATA=FOLDER python benchmarks/sentence_vectors.py --model FOLDER [--layers 4] [--updates 60] [--seeds 3]

Both start from the first layers of the same checkpoint, pool the mean, and train on the same English and German
captions (Multi30k): InfoNCE in both directions with temperature 0.05, updates of the same mean number of pairs, fused
AdamW at a constant learning rate, dropout, float32. Input embeddings, which would take most of the memory, are frozen.
sentence-transformers draws pairs at random (MultipleNegativesRankingLoss; with micro-batches,
CachedMultipleNegativesRankingLoss with as many); interlace draws pairs of similar length. Updates alternate in one
process, and their processor time is compared. Both models are scored in sentence-transformers: retrieval of 1,000
German and English sentences of Tatoeba, P@1, mean of both directions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from _alternating import AlternatingUpdates
from _common import environment, measure_in_new_process
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer import losses, modules
from transformers import AutoConfig, AutoModel, AutoTokenizer, PrinterCallback, logging

from interlace.core.neighbors import nearest
from interlace.data import Pairs
from interlace.data.sampling import BucketPlan
from interlace.data.vocab import Vocab
from interlace.models.build import load
from interlace.models.sentence_modules import write_sentence_modules
from interlace.objectives import Resources
from interlace.objectives.contrastive import Contrastive
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import BucketedBatches, Mixture, MixtureSource
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

LENGTH = 64
PAIRS = 64  # of a micro-batch
LEARNING_RATE = 5e-5
WARMUP = 2  # updates that are not timed


def captions(count: int) -> tuple[list[str], list[str]]:
    """Return English and German captions, each sentence once."""
    folder = Path(os.environ["INTERLACE_DATA"], "parallel/multi30k")
    sides = []
    for language in ("en", "de"):
        text = gzip.decompress((folder / f"train.{language}.gz").read_bytes()).decode("utf-8")
        sides.append([line.strip() for line in text.split("\n")])
    unique = {
        source: target for source, target in zip(*sides, strict=True) if source and target
    }
    unique = {target: source for source, target in unique.items()}
    return list(unique.values())[:count], list(unique)[:count]


def tatoeba() -> tuple[list[str], list[str]]:
    folder = Path(os.environ["INTERLACE_DATA"], "parallel/tatoeba")
    english, german = (
        (folder / f"tatoeba.deu-eng.{language}").read_text("utf-8").rstrip("\n").split("\n")
        for language in ("eng", "deu")
    )
    return english, german


def start_folder(model: str, layers: int, into: Path) -> Path:
    """Write the first layers of a checkpoint as a folder of sentence-transformers."""
    config = AutoConfig.from_pretrained(model, trust_remote_code=False)
    config.num_hidden_layers = layers
    encoder_model = AutoModel.from_pretrained(model, config=config, trust_remote_code=False)
    encoder_model.save_pretrained(into / "encoder")
    tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False)
    tokenizer.save_pretrained(into / "encoder")
    encoder = modules.Transformer(str(into / "encoder"), max_seq_length=LENGTH)
    pooling = modules.Pooling(encoder.get_embedding_dimension(), "mean")
    whole = SentenceTransformer(modules=[encoder, pooling, modules.Normalize()], device="cpu")
    whole.save(str(into / "start"))
    return into / "start"


def retrieval(folder: Path) -> float:
    """Return P@1 of both directions in percent."""
    model = SentenceTransformer(str(folder), device="cpu")
    english, german = (model.encode(lines, batch_size=64) for lines in tatoeba())
    numbers = np.arange(len(english))
    hits = [nearest(english, german) == numbers, nearest(german, english) == numbers]
    return 100 * float(np.mean(hits))


class Contrasting:
    """Contrastive training with interlace."""

    def __init__(
        self, start: Path, sides: tuple[list[str], list[str]], micro_batches: int, seed: int
    ) -> None:
        self.vocab = Vocab.load(str(start))
        self.backbone = load(start, self.vocab)
        self.backbone.input_embeddings.requires_grad_(requires_grad=False)
        objective = Contrastive(max_length=LENGTH)
        prepared = objective.prepare(Resources(self.vocab, self.backbone.traits))
        source, target = (
            self.vocab.encode(lines, language=language)
            for lines, language in zip(sides, ("en", "de"), strict=True)
        )
        costs = objective.pair_costs(source.lengths, target.lengths)
        plan = BucketPlan(costs, int(PAIRS * costs.mean()), seed=seed)
        batches = BucketedBatches(Pairs(source, target), plan)
        mixture = Mixture(
            [MixtureSource("contrastive", "en-de", objective, prepared, batches)], seed
        )
        accelerator = accelerator_for("no")
        model = accelerator.prepare(
            TrainingModel(self.backbone, {"contrastive": objective}, seed)
        )
        settings = OptimizerSettings(
            learning_rate=LEARNING_RATE,
            schedule="constant",
            warmup=0,
            weight_decay=0.0,
            betas=(0.9, 0.999),
            clip=1.0,
        )
        optimizer = settings.build(model)
        self.training = Training(
            model, mixture, optimizer, settings, accelerator, 10**6, micro_batches
        )

    def updates(self) -> Iterator[int]:
        """Run an update at each `next`, and yield its number of pairs."""
        return (step.rows // 2 for step in steps(self.training, Progress()))

    def save(self, folder: Path) -> Path:
        self.backbone.eval().save_pretrained(folder, self.vocab)
        write_sentence_modules(folder, self.backbone, self.vocab, None, LENGTH)
        return folder


def trainer_of(
    start: Path,
    sides: tuple[list[str], list[str]],
    alternating: AlternatingUpdates,
    micro_batches: int,
    updates: int,
    seed: int,
) -> Any:
    model = SentenceTransformer(str(start), device="cpu")
    model[0].auto_model.get_input_embeddings().requires_grad_(requires_grad=False)
    directions = {
        "directions": ("query_to_doc", "doc_to_query"),
        "partition_mode": "per_direction",
    }
    loss: Any = losses.MultipleNegativesRankingLoss(model, scale=20.0, **directions)
    if micro_batches > 1:
        loss = losses.CachedMultipleNegativesRankingLoss(
            model, scale=20.0, mini_batch_size=PAIRS, **directions
        )
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(start.parent / "trainer"), max_steps=updates, seed=seed, learning_rate=LEARNING_RATE,
        per_device_train_batch_size=PAIRS * micro_batches, lr_scheduler_type="constant", optim="adamw_torch_fused",
        logging_strategy="no", save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    dataset = Dataset.from_dict({"anchor": sides[0], "positive": sides[1]})
    trainer = SentenceTransformerTrainer(
        model, arguments, dataset, loss=loss, callbacks=[alternating]
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def rate(timed: list[tuple[int, float]]) -> float:
    """Return pairs/s."""
    pairs = sum(size for size, _ in timed[WARMUP:])
    return pairs / sum(seconds for _, seconds in timed[WARMUP:])


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Train both with one seed, and print a line for people and one with the figures."""
    start = start_folder(options.model, options.layers, folder)
    sides = captions(PAIRS * options.micro_batches * options.updates)
    ours = Contrasting(start, sides, options.micro_batches, options.measure)
    timed = AlternatingUpdates(
        ours.updates(), lambda: PAIRS * options.micro_batches, time.process_time
    )
    trainer = trainer_of(
        start, sides, timed, options.micro_batches, options.updates, options.measure
    )
    trainer.train()
    trainer.model.save(str(folder / "theirs"))
    figures = {
        "start": retrieval(start),
        "rates": [rate(timed.interlace), rate(timed.trainer)],
        "scores": [retrieval(ours.save(folder / "ours")), retrieval(folder / "theirs")],
    }
    rates = figures["rates"]
    print(
        f"seed {options.measure}: pairs/s {rates[0]:.1f} and {rates[1]:.1f}, ratio {rates[0] / rates[1]:.2f}; P@1 of "
        "{:.1f} becomes {:.1f} and {:.1f}".format(figures["start"], *figures["scores"])
    )
    print(json.dumps(figures))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--measure", type=int, metavar="SEED", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if options.measure is not None:
        with tempfile.TemporaryDirectory() as folder:
            measure(options, Path(folder))
        return
    print(environment(), flush=True)
    settings = [f"--{name.replace('_', '-')}={value}" for name, value in vars(options).items()]
    settings = [setting for setting in settings if not setting.startswith("--measure")]
    figures = [
        measure_in_new_process(__file__, seed, *settings) for seed in range(options.seeds)
    ]
    for number, name in enumerate(("interlace", "sentence-transformers")):
        scores = [figure["scores"][number] for figure in figures]
        rates = [figure["rates"][number] for figure in figures]
        print(
            f"{name}: P@1 {statistics.mean(scores):.1f} ({min(scores):.1f} to {max(scores):.1f}), pairs/s "
            f"{statistics.mean(rates):.1f}"
        )


if __name__ == "__main__":
    main()
