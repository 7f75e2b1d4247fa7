"""Claim: one core builds 5 million real tokens/s of `mlm` and `clm` batches and 3 million of `tlm`.

That is at least 3 times Hugging Face's masking collator on the same streams, and 6 times on padded sentences.

    python benchmarks/batch_building.py

Everything from the epoch plan to the finished arrays is timed: choosing rows, gathering columns, masking.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import torch
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
from interlace.training.mixture import BucketedBatches, Mixture, MixtureDraw, MixtureSource, StreamedBatches

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH, BUDGET, ROUNDS, BATCHES = 256, 16_384, 5, 40


def vocabulary() -> Vocab:
    """Twenty thousand subwords of random letters."""
    rng = generator(Purpose.SAMPLE, 0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=rng.integers(2, 9))) for _ in range(20_000)]
    lines = [" ".join(rng.choice(words, size=15)) for _ in range(8_000)]
    return Vocab.learn({"en": lines}, size=20_000)


def sentences(vocab: Vocab, count: int, language: str) -> Sentences:
    """Lines of 5 to 30 subwords, mean about 15, as captions have."""
    rng = generator(Purpose.SAMPLE, 1)
    lengths = np.clip(rng.gamma(6.0, 2.5, size=count).astype(int), 5, 30)
    ids = rng.choice(vocab.regular_ids, size=lengths.sum()).astype(np.int32)
    columns = Ragged.from_lengths(ids, lengths)
    return Sentences(columns, Ragged(columns.columns().astype(np.int32), columns.offsets), language)


def ours(source: MixtureSource) -> Callable[[], int]:
    """Build batches of the source one after another; returns real tokens."""
    mixture = Mixture([source], seed=0)
    index = iter(range(10**9))

    def build() -> int:
        return sum(mixture.batch(MixtureDraw(step := next(index), 0, step, ()), 0).tokens for _ in range(BATCHES))

    return build


def collator(vocab: Vocab, rows: list[list[int]], per_batch: int) -> Callable[[], int]:
    """Hugging Face's collator on ready lists of ids; returns real tokens."""
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
            chosen = examples[start : start + per_batch]
            collate(chosen)
            tokens += sum(len(example["input_ids"]) for example in chosen)
        return tokens

    return build


def main() -> None:
    """Time all by turns and print the median rate of each and the ratios."""
    torch.set_num_threads(1)
    vocab = vocabulary()
    traits = Traits("bert", 512)
    text, other = sentences(vocab, 200_000, "en"), sentences(vocab, 200_000, "de")
    pairs = Pairs(text, other)
    streams = Streams(text, LENGTH - 2, vocab.end)
    clm, tlm = Clm(max_length=LENGTH), Tlm(max_length=LENGTH)
    masking = {"weighting": "inverse_sqrt_frequency"}
    masked = {
        "mlm, streams": Mlm(max_length=LENGTH),
        "mlm, whole words": Mlm(max_length=LENGTH, masking={"unit": "word"}),
        "mlm, weights, batch": Mlm(max_length=LENGTH, masking=masking),
        "mlm, weights, row": Mlm(max_length=LENGTH, masking={**masking, "weighted_draw": "row"}),
        "mlm, weights, subword": Mlm(max_length=LENGTH, masking={**masking, "weighted_draw": "subword"}),
    }
    resources = Resources(vocab, traits, np.bincount(text.ids.flat, minlength=vocab.size))
    stream_plan = StreamPlan(len(streams), BUDGET, LENGTH)
    bucket_plan = BucketPlan(pairs.lengths, BUDGET, overhead=3, max_length=LENGTH)
    rows = [[vocab.begin, *row.tolist(), vocab.end] for row in streams.take(np.arange(4_000)).ids]
    lines = [[vocab.begin, *row.tolist(), vocab.end] for row in text.ids.slice(0, 40_000)]
    makers = {
        **{
            name: ours(MixtureSource("mlm", "en", mlm, mlm.prepare(resources), StreamedBatches(streams, stream_plan)))
            for name, mlm in masked.items()
        },
        "clm, streams": ours(
            MixtureSource("clm", "en", clm, clm.prepare(resources), StreamedBatches(streams, stream_plan))
        ),
        "tlm, pairs": ours(
            MixtureSource("tlm", "en-de", tlm, tlm.prepare(resources), BucketedBatches(pairs, bucket_plan))
        ),
        "collator, the same streams": collator(vocab, rows, BUDGET // LENGTH),
        "collator, padded sentences": collator(vocab, lines, BUDGET // 17),
    }
    rates: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(ROUNDS):
        for name, build in makers.items():
            start = time.perf_counter()
            tokens = build()
            rates[name].append(tokens / (time.perf_counter() - start) / 1e6)
    median = {name: statistics.median(values) for name, values in rates.items()}
    for name, rate in median.items():
        print(f"{name:28} {rate:7.2f} million real tokens/s")
    print(f"mlm over collator, streams   {median['mlm, streams'] / median['collator, the same streams']:7.1f} times")
    print(f"mlm over collator, padded    {median['mlm, streams'] / median['collator, padded sentences']:7.1f} times")


if __name__ == "__main__":
    main()
