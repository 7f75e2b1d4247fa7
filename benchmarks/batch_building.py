"""Measure how fast one core builds batches, and compare with Hugging Face's masking collator.

Targets: 5 million real tokens/s for `mlm` and `clm`, and 3 million for `tlm`; at least 3 times the rate of the collator
on the same streams, and 6 times on padded sentences.

    python benchmarks/batch_building.py [--packed] [--cpu-time]

Times cover everything from the epoch plan to the finished arrays: sampling, gathering and masking. With `--packed`,
batches are those of a GPU: packed rows of 32,768 tokens, with a vocabulary of 250,000 words, of each objective and of
all by turns (random text, in which a word is a token; `alm_batches.py` has real text and tokenizers).
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import torch
from _random_training import BASE, row_of, sources_of, vocabulary
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.packing import Streams
from interlace.data.sampling import BucketPlan, StreamPlan
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.clm import Clm
from interlace.objectives.mlm import Mlm
from interlace.objectives.tlm import Tlm
from interlace.training.mixture import (
    BucketedBatches,
    Mixture,
    MixtureDraw,
    MixtureSource,
    StreamedBatches,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlace.objectives.common.packed_rows import PackedRow

LENGTH, BUDGET, ROUNDS, BATCHES = 256, 16_384, 5, 40
ROW = 32_768  # tokens of a packed row
PACKED = ("mlm", "tlm", "weam", "alm", "align_mlm", "dict_mlm")


def random_vocab() -> Vocab:
    """Learn 20,000 subwords of random letters."""
    rng = generator(Purpose.SAMPLE, 0)
    words = [
        "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=rng.integers(2, 9)))
        for _ in range(20_000)
    ]
    lines = [" ".join(rng.choice(words, size=15)) for _ in range(8_000)]
    return Vocab.learn({"en": lines}, size=20_000)


def random_sentences(vocab: Vocab, count: int, language: str) -> Sentences:
    """Draw sentences of 5 to 30 subwords, 15 on average, like captions."""
    rng = generator(Purpose.SAMPLE, 1)
    lengths = np.clip(rng.gamma(6.0, 2.5, size=count).astype(int), 5, 30)
    ids = rng.choice(vocab.regular_ids, size=lengths.sum()).astype(np.int32)
    columns = Ragged.from_lengths(ids, lengths)
    return Sentences(
        columns, Ragged(columns.columns().astype(np.int32), columns.offsets), language
    )


def interlace_batches(
    sources: list[MixtureSource], row: PackedRow | None = None
) -> Callable[[], int]:
    """Return a function that builds the next batches, by turns, and returns their number of real tokens."""
    mixture = Mixture(sources, seed=0)
    index = iter(range(10**9))

    def build() -> int:
        tokens = 0
        for _ in range(BATCHES):
            step = next(index)
            source = step % len(sources)
            batch = mixture.batch(MixtureDraw(step, source, step // len(sources), ()), 0)
            if row is not None:
                batch = row.pack(batch)
            tokens += batch.tokens
        return tokens

    return build


def packed_batches() -> dict[str, Callable[[], int]]:
    """Return what builds packed rows of each objective, and of all by turns."""
    vocab = vocabulary(250_000)
    row = row_of(vocab, BASE, ROW)
    sources = sources_of(PACKED, vocab, BASE, ROW, 40_000, packed=True)
    builders = {source.objective: interlace_batches([source], row) for source in sources}
    return {**builders, "all by turns": interlace_batches(sources, row)}


def collator_batches(vocab: Vocab, rows: list[list[int]], per_batch: int) -> Callable[[], int]:
    """Do the same with Hugging Face's collator on lists of ids."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=vocab.tokenizer,
        mask_token=vocab.tokens([vocab.mask])[0],
        pad_token=vocab.tokens([vocab.pad])[0],
        bos_token=vocab.tokens([vocab.begin])[0],
        eos_token=vocab.tokens([vocab.end])[0],
    )
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    examples = [{"input_ids": row} for row in rows]
    starts = iter(range(0, 10**9, per_batch))

    def build() -> int:
        tokens = 0
        for _ in range(BATCHES):
            start = next(starts) % (len(examples) - per_batch)
            batch = examples[start : start + per_batch]
            collate(batch)
            tokens += sum(len(example["input_ids"]) for example in batch)
        return tokens

    return build


def median_rates(
    builders: dict[str, Callable[[], int]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return median real tokens/s of each builder; rounds alternate between builders."""
    rates: dict[str, list[float]] = {name: [] for name in builders}
    for _ in range(rounds):
        for name, build in builders.items():
            start = clock()
            tokens = build()
            rates[name].append(tokens / (clock() - start))
    return {name: statistics.median(values) for name, values in rates.items()}


def show(rates: dict[str, float]) -> None:
    """Print a line a builder."""
    for name, rate in rates.items():
        print(f"{name:28} {rate / 1e6:7.2f} million real tokens/s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packed", action="store_true", help="measure packed rows")
    parser.add_argument("--cpu-time", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    torch.set_num_threads(1)
    if options.packed:
        show(median_rates(packed_batches(), ROUNDS, clock))
        return
    vocab = random_vocab()
    text, other = random_sentences(vocab, 200_000, "en"), random_sentences(vocab, 200_000, "de")
    pairs = Pairs(text, other)
    streams = Streams(text, LENGTH - 2, vocab.end)
    clm, tlm = Clm(max_length=LENGTH), Tlm(max_length=LENGTH)
    masked = {
        "mlm, streams": Mlm(max_length=LENGTH),
        "mlm, whole words": Mlm(max_length=LENGTH, masking={"unit": "word"}),
        "mlm, weights": Mlm(max_length=LENGTH, masking={"weighting": "inverse_sqrt_frequency"}),
    }
    resources = Resources(
        vocab, Traits("bert", 512), np.bincount(text.ids.flat, minlength=vocab.size)
    )
    streamed = StreamedBatches(streams, StreamPlan(len(streams), BUDGET, LENGTH))
    bucketed = BucketedBatches(
        pairs, BucketPlan(pairs.lengths, BUDGET, overhead=3, max_length=LENGTH)
    )
    blocks = [
        [vocab.begin, *row.tolist(), vocab.end] for row in streams.take(np.arange(4_000)).ids
    ]
    sentences = [[vocab.begin, *row.tolist(), vocab.end] for row in text.ids.slice(0, 40_000)]
    rates = median_rates(
        {
            **{
                name: interlace_batches(
                    [MixtureSource("mlm", "en", mlm, mlm.prepare(resources), streamed)]
                )
                for name, mlm in masked.items()
            },
            "clm, streams": interlace_batches(
                [MixtureSource("clm", "en", clm, clm.prepare(resources), streamed)]
            ),
            "tlm, pairs": interlace_batches(
                [MixtureSource("tlm", "en-de", tlm, tlm.prepare(resources), bucketed)]
            ),
            "collator, the same streams": collator_batches(vocab, blocks, BUDGET // LENGTH),
            "collator, padded sentences": collator_batches(vocab, sentences, BUDGET // 17),
        },
        ROUNDS,
        clock,
    )
    show(rates)
    for name in ("the same streams", "padded sentences"):
        print(
            f"mlm over collator, {name} {rates['mlm, streams'] / rates[f'collator, {name}']:7.1f} times"
        )


if __name__ == "__main__":
    main()
