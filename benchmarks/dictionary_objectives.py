"""Measure batches and updates of `align_mlm` and `dict_mlm` against `mlm`.

Targets: one core builds 3 million real tokens/s, and an update costs at most 1.1 times an update of `mlm` (vocabulary
20k, 6 layers, width 256, 10,000 dictionary entries at each step).

    python benchmarks/dictionary_objectives.py [--rounds 6] [--updates 4] [--tokens N] [--only NAME ..] [--cpu-time]

Rounds alternate between objectives in one process. `--cpu-time` measures processor time, which is more stable on a
shared machine.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"

import time
from typing import TYPE_CHECKING, Any

import torch
from batch_building import (
    BATCHES,
    BUDGET,
    LENGTH,
    interlace_batches,
    median_rates,
    random_sentences,
    random_vocab,
)

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
    from collections.abc import Callable

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.objectives import Objective

ENTRIES, TOKENS = 10_000, 4096
SHAPE = Shape(layers=6, width=256, heads=4, max_length=LENGTH)
SETTINGS: dict[str, dict[str, Any]] = {
    "mlm": {"name": "mlm"},
    "align_mlm": {"name": "align_mlm"},
    "align_mlm, contrastive": {
        "name": "align_mlm",
        "alignment_loss": "contrastive",
        "pairs_per_step": 1000,
    },
    "dict_mlm, label": {"name": "dict_mlm"},
    "dict_mlm, input": {"name": "dict_mlm", "mode": "input"},
}


def dictionary(vocab: Vocab) -> Lexicon:
    """Pair up words of one subword."""
    words = [
        token[1:]
        for token in vocab.tokens(vocab.regular_ids)
        if token[:1] == "▁" and token[1:].isalpha()
    ]
    half = min(ENTRIES, len(words) // 2)
    pairs = zip(words[:half], words[half : 2 * half], strict=True)
    return Lexicon.of((source, target, 1.0) for source, target in pairs)


def sources(
    text: Sentences, vocab: Vocab, budget: int, traits: Traits, names: set[str]
) -> dict[str, MixtureSource]:
    """Return the objectives on the same streams."""
    streams = Streams(text, LENGTH - 2, vocab.end)
    plan = StreamedBatches(streams, StreamPlan(len(streams), budget, LENGTH))
    resources = Resources(vocab, traits, lexicons={("en", "de"): dictionary(vocab)})
    found = {}
    for name in (name for name in SETTINGS if name in names):
        objective: Objective = OBJECTIVES.build({**SETTINGS[name], "max_length": LENGTH})
        found[name] = MixtureSource(
            name.replace(", ", "-"), "en", objective, objective.prepare(resources), plan
        )
    return found


def updates(source: MixtureSource, vocab: Vocab, count: int) -> Callable[[], int]:
    """Return a function that runs `count` updates and returns their number of real tokens."""
    accelerator, settings = (
        accelerator_for("auto"),
        OptimizerSettings(schedule="constant", warmup=0),
    )
    model = accelerator.prepare(
        TrainingModel(from_shape(SHAPE, vocab), {source.objective: source.learner}, 0)
    )
    training = Training(
        model, Mixture([source], 0), settings.build(model), settings, accelerator, last=10**6
    )
    running = steps(training, Progress())
    return lambda: sum(next(running).tokens for _ in range(count))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=TOKENS, help="tokens per update")
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--batches-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.process_time if options.cpu_time else time.perf_counter
    vocab = random_vocab()
    text = random_sentences(vocab, 200_000, "en")
    names = {"mlm", *options.only}
    entries = len(dictionary(vocab))
    print(
        f"{vocab.size:,} subwords, {entries:,} entries; rounds of {BATCHES} batches of {BUDGET:,} tokens"
    )
    batches = {
        name: interlace_batches([source])
        for name, source in sources(text, vocab, BUDGET, Traits("bert", 512), names).items()
    }
    for name, rate in median_rates(batches, options.rounds, clock).items():
        print(f"{name:24} {rate / 1e6:7.2f} million real tokens/s")
    if options.batches_only:
        return
    traits = from_shape(SHAPE, vocab).traits
    training = {
        name: updates(source, vocab, options.updates)
        for name, source in sources(text, vocab, options.tokens, traits, names).items()
    }
    for update in training.values():
        update()
    rates = median_rates(training, options.rounds, clock)
    for name, rate in rates.items():
        print(
            f"{name:24} {rate:9,.0f} real tokens/s in training, {rates['mlm'] / rate:5.3f} times the cost of mlm"
        )


if __name__ == "__main__":
    main()
