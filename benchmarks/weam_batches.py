"""Measure how fast one core builds `weam` batches, including the conversion of word links to token positions.

Target: 1.5 million real tokens/s.

    python benchmarks/weam_batches.py

Times cover everything from the epoch plan to the finished arrays; rounds alternate with `tlm` on the same pairs. There
are short captions in batches of many rows, and long sentences. Words have 1.4 subwords and about one link, as from
symmetrized aligners. The pairs and their links are in memory.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"

import statistics
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.sampling import BucketPlan
from interlace.data.vocab import Frame
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.tlm import Tlm
from interlace.objectives.weam import Weam
from interlace.objectives.word_aligned import WordAligned
from interlace.training.mixture import BucketedBatches, Mixture, MixtureDraw, MixtureSource

if TYPE_CHECKING:
    from interlace.objectives import Objective

BUDGET, ROUNDS, BATCHES, SIZE = 16_384, 7, 20, 20_000
VOCAB: Any = SimpleNamespace(
    pad=0, begin=1, end=2, mask=3, size=SIZE, separator_ids=(2,), pair_layout="bert", special_ids=np.arange(4),
    regular_ids=np.arange(4, SIZE), frame=lambda _: Frame((1,), (2,)),
)  # fmt: skip


def random_sentences(
    rng: np.random.Generator, words: np.ndarray[Any, Any], language: str
) -> Sentences:
    """Draw sentences with these numbers of words."""
    pieces = rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1], size=words.sum())
    row = np.repeat(np.arange(len(words)), words)
    lengths = np.bincount(row, weights=pieces, minlength=len(words)).astype(np.int64)
    word_of_token = np.repeat(Ragged.from_lengths(row, words).columns(), pieces).astype(
        np.int32
    )
    ids = rng.choice(VOCAB.regular_ids, size=len(word_of_token)).astype(np.int32)
    return Sentences(
        Ragged.from_lengths(ids, lengths), Ragged.from_lengths(word_of_token, lengths), language
    )


def random_pairs(count: int, mean: float) -> Pairs:
    """Draw pairs of similar length with links near the diagonal; a word has no link or two in 10 % of cases each."""
    rng = generator(Purpose.SAMPLE, 0)
    source = np.clip(rng.gamma(6.0, mean / 6, size=count).astype(int), 2, 100)
    target = np.clip(source + rng.integers(-2, 3, size=count), 2, 100)
    words = Ragged.from_lengths(np.zeros(source.sum(), np.int8), source)
    row, i = words.rows(), words.columns()
    copies = rng.choice([0, 1, 2], p=[0.1, 0.8, 0.1], size=len(row))
    row, i = np.repeat(row, copies), np.repeat(i, copies)
    j = np.clip(i + rng.integers(-1, 2, size=len(i)), 0, target[row] - 1)
    keys = np.unique((row * 128 + i) * 128 + j)
    flat = np.stack([keys // 128 % 128, keys % 128], axis=1).astype(np.int32)
    links = Ragged.from_lengths(flat, np.bincount(keys // 128**2, minlength=count))
    return Pairs(
        random_sentences(rng, source, "en"), random_sentences(rng, target, "de"), links
    )


def rate(objective: Objective, corpus: Pairs, first: int) -> float:
    """Return million real tokens/s of some batches."""
    plan = BucketPlan(corpus.lengths, BUDGET, overhead=3, max_length=256)
    prepared = objective.prepare(Resources(VOCAB, Traits("bert", 512)))
    mixture = Mixture(
        [
            MixtureSource(
                "objective", "en-de", objective, prepared, BucketedBatches(corpus, plan)
            )
        ],
        seed=0,
    )
    start = time.perf_counter()
    tokens = sum(
        mixture.batch(MixtureDraw(step, 0, step, ()), 0).tokens
        for step in range(first, first + BATCHES)
    )
    return tokens / (time.perf_counter() - start) / 1e6


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    objectives = {
        "tlm": Tlm(),
        "tlm, rate 0.3": Tlm(masking={"rate": 0.3}),
        "weam": Weam(),
        "weam, first subwords": Weam(expansion="first"),
        "weam, one to one": Weam(normalization="one_to_one"),
        "word_aligned": WordAligned(),
    }
    for kind, corpus in {
        "captions": random_pairs(200_000, 11),
        "long sentences": random_pairs(50_000, 28),
    }.items():
        rates: dict[str, list[float]] = {name: [] for name in objectives}
        for turn in range(ROUNDS + 1):
            for name, objective in objectives.items():
                rates[name].append(rate(objective, corpus, turn * BATCHES))
        for name, (_, *timed) in rates.items():  # the first round compiles
            median = statistics.median(timed)
            print(
                f"{kind:15} {name:22} {median:6.2f} million real tokens/s ({min(timed):.2f} to {max(timed):.2f})"
            )


if __name__ == "__main__":
    main()
