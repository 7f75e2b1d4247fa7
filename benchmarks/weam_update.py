"""Compare an update of `weam` with an update of `tlm`.

Target: the additional cost is the cost of the second vocabulary head, within 0.05 of an update.

    python benchmarks/weam_update.py [--size 20000] [--rounds 6] [--threads 1]

Both use the same batch, masks (rate 0.3) and model (6 layers, width 256, float32), so only the second prediction
differs. Its expected cost counts multiplications by weights: two dense layers and the decoder per cross-lingual
prediction, divided by the encoder per token and the head per prediction, without attention, softmax and AdamW. Updates
alternate and are measured in processor time. `word_aligned` has no vocabulary head but encodes one half twice.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from weam_batches import VOCAB, random_pairs

from interlace.core.randomness import Purpose, generator
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.objectives.tlm import Tlm
from interlace.objectives.weam import CROSS, Weam
from interlace.objectives.word_aligned import WordAligned
from interlace.training.loop import TrainingModel
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlace.data import Pairs
    from interlace.objectives import Batch, Objective

ROWS, WARMUP = 40, 1
SHAPE = Shape(layers=6, width=256, heads=4, max_length=128)


def updates(objective: Objective, corpus: Pairs) -> tuple[Callable[[], float], Batch]:
    """Return a function that runs an update and returns its seconds, and the batch."""
    model = TrainingModel(from_shape(SHAPE, VOCAB), {"only": objective}, 0)
    prepared = objective.prepare(Resources(VOCAB, model.backbone.traits))
    batch = objective.batch(corpus, prepared, 1, generator(Purpose.BATCH, 0))
    optimizer, tensors = OptimizerSettings().build(model), batch.to(torch.device("cpu"))

    def update() -> float:
        start = time.process_time()
        loss, _ = model("only", tensors, batch.counts)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time() - start

    return update, batch


def additional_work(batch: Batch) -> float:
    """Return the multiplications of the second prediction divided by all others."""
    square, table = SHAPE.width**2, VOCAB.size * SHAPE.width
    encoder = SHAPE.layers * (4 * square + 2 * SHAPE.width * SHAPE.inner)
    rest = batch.inputs["input_ids"].size * encoder + len(batch.labels) * (square + table)
    return float(batch.counts[CROSS] * (2 * square + table) / rest)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=VOCAB.size)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    VOCAB.size, VOCAB.regular_ids = options.size, np.arange(4, options.size)
    corpus = random_pairs(100 * ROWS, 11)
    # similar lengths, as in buckets
    corpus = corpus.take(corpus.lengths.argsort(kind="stable")[50 * ROWS : 51 * ROWS])
    objectives: dict[str, Any] = {
        "tlm": Tlm(masking={"rate": 0.3}, reset_positions=False),
        "weam": Weam(),
        "word_aligned": WordAligned(),
    }
    made = {name: updates(objective, corpus) for name, objective in objectives.items()}
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(WARMUP + options.rounds):
        for name, (update, _) in made.items():
            seconds[name].append(update())
    base = seconds["tlm"][WARMUP:]
    print(
        f"vocabulary {VOCAB.size}, {made['tlm'][1].tokens} tokens; processor seconds per update, ratio to tlm"
    )
    for name, times in seconds.items():
        ratios = [own / other for own, other in zip(times[WARMUP:], base, strict=True)]
        print(
            f"{name:14} {statistics.median(times[WARMUP:]):7.3f}   {statistics.median(ratios):5.2f}"
        )
    print(f"expected ratio of weam: {1 + additional_work(made['weam'][1]):.2f}")


if __name__ == "__main__":
    main()
