"""Claim: one core builds 3 million real tokens/s of `align_mlm` and `dict_mlm` batches, and an update of either costs
at most 1.1 times one of `mlm` at vocabulary 20k (6 layers, width 256, every pair of a 10,000-entry dictionary a step).

    python benchmarks/dictionary_objectives.py [--rounds 6] [--updates 4] [--tokens N] [--only NAME ..] [--cpu-time]

Objectives take turns in one process, so that a slow spell of the machine meets all of them. On a machine that others
use, `--cpu-time` (seconds of the processor, not of the wall) gives steady figures.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"

import statistics
import time
from typing import TYPE_CHECKING, Any

import torch
from batch_building import BATCHES, BUDGET, LENGTH, ours, sentences, vocabulary

from interlace.alignment.lexicon import Lexicon
from interlace.data.packing import Streams
from interlace.data.sampling import StreamPlan
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.settings import Shape
from interlace.objectives import OBJECTIVES, Resources
from interlace.training.device import accelerator_for
from interlace.training.loop import Progress, Training, TrainingModel, steps
from interlace.training.mixture import Mixture, MixtureSource, StreamedBatches
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.objectives import Objective

ENTRIES, TOKENS = 10_000, 4096
SHAPE = Shape(layers=6, width=256, heads=4, max_length=LENGTH)
MADE: dict[str, dict[str, Any]] = {
    "mlm": {"name": "mlm"},
    "align_mlm": {"name": "align_mlm"},
    "align_mlm, contrastive": {"name": "align_mlm", "alignment_loss": "contrastive", "pairs_per_step": 1000},
    "dict_mlm, label": {"name": "dict_mlm"},
    "dict_mlm, input": {"name": "dict_mlm", "mode": "input"},
}


def dictionary(vocab: Vocab) -> dict[tuple[str, str], Lexicon]:
    """Entries between words of one subword."""
    words = [token[1:] for token in vocab.tokens(vocab.regular_ids) if token[:1] == "▁" and token[1:].isalpha()]
    half = min(ENTRIES, len(words) // 2)
    pairs = zip(words[:half], words[half : 2 * half], strict=True)
    return {("en", "de"): Lexicon.of((source, target, 1.0) for source, target in pairs)}


def sources(text: Sentences, vocab: Vocab, budget: int, traits: Traits) -> Iterator[tuple[str, MixtureSource]]:
    """Each objective on the same streams."""
    streams = Streams(text, LENGTH - 2, vocab.end)
    plan = StreamedBatches(streams, StreamPlan(len(streams), budget, LENGTH))
    resources = Resources(vocab, traits, lexicons=dictionary(vocab))
    for name, settings in MADE.items():
        objective: Objective = OBJECTIVES.build({**settings, "max_length": LENGTH})
        yield name, MixtureSource(name.replace(", ", "-"), "en", objective, objective.prepare(resources), plan)


def updates(source: MixtureSource, vocab: Vocab, count: int) -> Callable[[], int]:
    """`count` updates of the loop at each call; returns real tokens."""
    accelerator, settings = accelerator_for("auto"), OptimizerSettings(schedule="constant", warmup=0)
    learning = accelerator.prepare(TrainingModel(from_shape(SHAPE, vocab), {source.objective: source.learner}, 0))
    training = Training(learning, Mixture([source], 0), settings.build(learning), settings, accelerator, last=10**6)
    running = steps(training, Progress())
    return lambda: sum(next(running).tokens for _ in range(count))


def rates(makers: dict[str, Callable[[], int]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """Median real tokens/s of each, by turns."""
    found: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(rounds):
        for name, make in makers.items():
            start = clock()
            tokens = make()
            found[name].append(tokens / (clock() - start))
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    """Time batches, then updates, and print rates and their ratios to `mlm`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=TOKENS, help="subwords an update")
    parser.add_argument("--only", nargs="+", choices=MADE, default=list(MADE))
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--batches-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.process_time if options.cpu_time else time.perf_counter
    vocab = vocabulary()
    text = sentences(vocab, 200_000, "en")
    entries = len(dictionary(vocab)["en", "de"])
    print(f"{vocab.size:,} subwords, {entries:,} entries; batches of {BUDGET:,} subwords, {BATCHES} a turn")
    every = sources(text, vocab, BUDGET, Traits("bert", 512))
    building = {name: ours(source) for name, source in every if name in {"mlm", *options.only}}
    for name, rate in rates(building, options.rounds, clock).items():
        print(f"{name:24} {rate / 1e6:7.2f} million real tokens/s")
    if options.batches_only:
        return
    training = {
        name: updates(source, vocab, options.updates)
        for name, source in sources(text, vocab, options.tokens, from_shape(SHAPE, vocab).traits)
        if name in {"mlm", *options.only}
    }
    for update in training.values():
        update()
    found = rates(training, options.rounds, clock)
    for name, rate in found.items():
        print(f"{name:24} {rate:9,.0f} real tokens/s an update, {found['mlm'] / rate:5.3f} times the cost of mlm")


if __name__ == "__main__":
    main()
