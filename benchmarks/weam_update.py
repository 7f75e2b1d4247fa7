"""Claim: an update of `weam` costs over one of `tlm` what a second vocabulary head costs, to 0.05 of an update.

    python benchmarks/weam_update.py [--size 20000] [--rounds 6] [--threads 1]

Both read the same batch with the same masks (a rate of 0.3) through the same model (6 layers, width 256, float32), so
that all that differs is the second prediction. Its share is counted in multiplications by weights: those of the two
dense layers and the decoder at every exchanged prediction, over those of the encoder at every subword and the head at
every prediction; attention, softmax and AdamW are left out. Updates alternate, and seconds are the processor's, so that
a busy machine disturbs little. `word_aligned` stands beside them: it has no vocabulary head, but encodes a half once
more.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any

import torch
from weam_batches import VOCAB, pairs

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

ROWS, WARM = 40, 1
SHAPE = Shape(layers=6, width=256, heads=4, max_length=128)


def updates(objective: Objective, corpus: Pairs) -> tuple[Callable[[], float], Batch]:
    """A function that does one more update and returns its seconds; and a batch."""
    learning = TrainingModel(from_shape(SHAPE, VOCAB), {"only": objective}, 0)
    prepared = objective.prepare(Resources(VOCAB, learning.backbone.traits))
    batch = objective.batch(corpus, prepared, 1, generator(Purpose.BATCH, 0))
    optimizer, moved = OptimizerSettings().build(learning), batch.to(torch.device("cpu"))

    def update() -> float:
        start = time.process_time()
        loss, _ = learning("only", moved, batch.counts)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time() - start

    return update, batch


def share(batch: Batch) -> float:
    """Multiplications of the second prediction over those of all the rest."""
    square, table = SHAPE.width**2, VOCAB.size * SHAPE.width
    encoder = SHAPE.layers * (4 * square + 2 * SHAPE.width * SHAPE.inner)
    rest = batch.inputs["input_ids"].size * encoder + len(batch.labels) * (square + table)
    return float(batch.counts[CROSS] * (2 * square + table) / rest)


def main() -> None:
    """Alternate the updates and print seconds, their ratio and the share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=VOCAB.size)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    VOCAB.size = options.size
    corpus = pairs(100 * ROWS, 11)
    middle = corpus.lengths.argsort(kind="stable")[50 * ROWS : 51 * ROWS]  # of like length, as buckets are
    corpus = corpus.take(middle)
    objectives_by_direction: dict[str, Any] = {
        "tlm": Tlm(masking={"rate": 0.3}, reset_positions=False),
        "weam": Weam(),
        "word_aligned": WordAligned(),
    }
    made = {name: updates(learner, corpus) for name, learner in objectives_by_direction.items()}
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(WARM + options.rounds):
        for name, (update, _) in made.items():
            seconds[name].append(update())
    base = seconds["tlm"][WARM:]
    print(f"vocabulary {VOCAB.size}, {made['tlm'][1].tokens} subwords; processor seconds an update, over tlm")
    for name, times in seconds.items():
        ratios = [mine / other for mine, other in zip(times[WARM:], base, strict=True)]
        print(f"{name:14} {statistics.median(times[WARM:]):7.3f}   {statistics.median(ratios):5.2f}")
    print(f"share of extra work of weam: {1 + share(made['weam'][1]):.2f}")


if __name__ == "__main__":
    main()
