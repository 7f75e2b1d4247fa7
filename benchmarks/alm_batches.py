"""Measure how fast `alm` batches are built, and how much disk space they need.

Target: 250,000 real tokens/s a core; at most 3/4 of the disk space of 40 written copies of each pair.

    python benchmarks/alm_batches.py [--pairs N] [--copied N] [--tokenizer FOLDER] [--threads N]

Times cover everything from the epoch plan to the finished arrays, with corpora on disk: processor time, and wall time
with `--threads` that build batches, and as many threads of the tokenizer as `RAYON_NUM_THREADS` says. Comparisons:
`tlm` on the same pairs, and `mlm` on the written copies as running text. `--copied` is the number of pairs to write
copies of. `--tokenizer` is one of a published model; default: a BPE vocabulary of 30,000 subwords from the text.

The text is Multi30k's English and German captions in `INTERLACE_DATA`, else the toy corpus, tokenized by `unicode` and
aligned by `diagonal`.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _common import Target, caption_files, report

from interlace.aligners import ALIGNERS
from interlace.alignment import WordPairs
from interlace.alignment.phrase_counts import count_phrases
from interlace.alignment.phrase_rules import TableRules
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.alignments import PhraseStore, StoredText, WordAlignments
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams
from interlace.data.sampling import BucketPlan, StreamPlan
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings
from interlace.objectives.common.code_switching import CodeSwitching
from interlace.objectives.mlm import Mlm
from interlace.objectives.tlm import Tlm
from interlace.readers.lines import PlainLines
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.toy import languages, sampling
from interlace.training.mixture import (
    BucketedBatches,
    Mixture,
    MixtureDraw,
    MixtureSource,
    StreamedBatches,
)

if TYPE_CHECKING:
    from interlace.objectives import Objective
    from interlace.training.mixture import BatchPlan

BUDGET, LENGTH, ROUNDS, BATCHES = 16_384, 256, 5, 20
MIN_RATE = 0.25
MAX_SHARE = 3 / 4


def text(pairs: int) -> TextPairs:
    """Return the first pairs of Multi30k or of the toy corpus."""
    files = caption_files()
    if files:
        chunks = list(PlainLines(word_tokenizer="unicode").read_chunks(files, ["en", "de"]))
        sides = [
            [line for chunk in chunks for line in getattr(chunk, side).lines]
            for side in ("source", "target")
        ]
    else:
        toy_pairs = languages.pairs("en", "de", sampling.sample(pairs, "train", 5))
        sides = [toy_pairs.source.lines, toy_pairs.target.lines]
    word_tokenizer = WORD_TOKENIZERS.build("unicode")
    return TextPairs(
        *(
            Text(
                language,
                lines[:pairs],
                word_tokenizer.of(language).split(lines[:pairs]),
                "unicode",
            )
            for language, lines in zip(("en", "de"), sides, strict=True)
        )
    )


def align(pairs: TextPairs) -> tuple[WordPairs, Ragged]:
    words = WordPairs.of([pairs])
    return words, ALIGNERS.build("diagonal").fit(words).align(words).links


def write_corpora(
    folder: Path, pairs: TextPairs, words: WordPairs, links: Ragged, vocab: Vocab
) -> dict[str, ParallelCorpus]:
    """Write the corpus, and return it alone, with phrases and with the phrase table."""
    sides = Pairs(vocab.encode_text(pairs.source), vocab.encode_text(pairs.target))
    about = {"languages": words.languages, "word_tokenizer": words.word_tokenizer}
    corpus = ParallelCorpus.write(folder / "pairs", [sides], **about)
    lines = StoredText.write(folder / "text", [pairs], **about)
    aligned = WordAlignments.write(
        folder / "links", [(words, links, np.ones(len(links.flat), np.float32))]
    )
    phrases = PhraseStore.write(
        folder / "phrases", aligned, count_phrases(words, links), TableRules()
    )
    return {
        "tlm, pairs": corpus,
        "alm, phrases stored": corpus.annotated(aligned, phrases, text=lines),
        "alm, the table's argmax": corpus.annotated(aligned, phrases, text=lines, known=True),
    }


def write_copies(
    folder: Path, pairs: TextPairs, words: WordPairs, links: Ragged, vocab: Vocab
) -> tuple[Corpus, float]:
    """Write 40 code-switched sentences of each pair as a corpus; also return generated lines per second."""
    table = count_phrases(words, links)
    copies = CodeSwitchedText(table, TableRules(), CodeSwitching(), CopySettings())
    start = time.perf_counter()
    lines = [line for block in copies.blocks(pairs, words, links) for line in block.lines]
    rate = len(lines) / (time.perf_counter() - start)
    chunks = (
        vocab.encode(lines[first : first + 20_000], "unicode", "en")
        for first in range(0, len(lines), 20_000)
    )
    return Corpus.write(
        folder / "copies", chunks, languages=["en"], word_tokenizer="unicode"
    ), rate


def median_rates(
    sources: dict[str, MixtureSource], threads: int
) -> dict[str, tuple[float, float]]:
    """Return median real tokens/s in millions, by processor and by wall time; rounds alternate between sources."""
    mixtures = {name: Mixture([source], seed=0) for name, source in sources.items()}
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in sources}
    step = 0
    for turn in range(ROUNDS + 1):
        for name, mixture in mixtures.items():
            cpu_start = time.process_time()
            start = time.perf_counter()
            draws = [MixtureDraw(step + at, 0, step + at, ()) for at in range(BATCHES)]
            with ThreadPoolExecutor(threads) as pool:
                batches = pool.map(partial(mixture.batch, slot=0), draws)
                tokens = sum(batch.tokens for batch in batches)
            seconds = (time.process_time() - cpu_start, time.perf_counter() - start)
            if turn:  # the first round compiles and fills caches
                rates[name].append((tokens / seconds[0] / 1e6, tokens / seconds[1] / 1e6))
        step += BATCHES
    return {
        name: tuple(map(statistics.median, zip(*values, strict=True)))
        for name, values in rates.items()
    }


def source_of(name: str, objective: Objective, plan: BatchPlan, vocab: Vocab) -> MixtureSource:
    return MixtureSource(
        name,
        "en-de",
        objective,
        objective.prepare(Resources(vocab, Traits("bert", LENGTH))),
        plan,
    )


def measure(
    folder: Path, pairs: TextPairs, copied: int, tokenizer: str, threads: int
) -> list[Target]:
    """Print rates and disk space."""
    words, links = align(pairs)
    if tokenizer:
        vocab = Vocab.load(tokenizer)
    else:
        vocab = Vocab.learn({"en": pairs.source.lines, "de": pairs.target.lines}, 30_000)
    corpora = write_corpora(folder, pairs, words, links, vocab)
    some = pairs.where(np.arange(len(pairs)) < copied)
    copies, lines_per_second = write_copies(
        folder, some, words.slice(0, copied), links.slice(0, copied), vocab
    )
    objectives = {
        "tlm, pairs": Tlm(max_length=LENGTH),
        "alm, phrases stored": Alm(max_length=LENGTH),
        "alm, the table's argmax": Alm(
            max_length=LENGTH, code_switching={"target_choice": "table_argmax"}
        ),
    }
    sources = {}
    for key, objective in objectives.items():
        plan = BucketPlan(objective.pair_costs(*corpora[key].side_lengths), BUDGET)
        sources[key] = source_of(key, objective, BucketedBatches(corpora[key], plan), vocab)
    streams = Streams(copies, LENGTH - 2, vocab.end)
    streamed = StreamedBatches(streams, StreamPlan(len(streams), BUDGET, LENGTH))
    sources["mlm, 40 copies"] = source_of("mlm", Mlm(max_length=LENGTH), streamed, vocab)
    rates = median_rates(sources, threads)
    for key, (rate, wall_rate) in rates.items():
        print(
            f"{key:26} {rate:6.2f} million real tokens/s of processor time, {wall_rate:6.2f} of wall time"
        )
    parts = {
        part: _size(folder / part) / len(pairs)
        for part in ("pairs", "text", "links", "phrases")
    }
    parts["copies"] = _size(folder / "copies") / copied
    print(
        "bytes per pair: " + ", ".join(f"{part} {value:.0f}" for part, value in parts.items())
    )
    print(f"code-switched text {lines_per_second / 1e3:6.1f} thousand lines/s")
    needed = sum(parts[part] for part in ("pairs", "text", "links", "phrases"))
    rate = rates["alm, phrases stored"][0]
    return [
        Target("alm, million real tokens/s", rate, MIN_RATE, at_least=True),
        Target("alm, disk space over 40 copies", needed / parts["copies"], MAX_SHARE),
    ]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=29_000)
    parser.add_argument("--copied", type=int, default=2_000, help="pairs to write 40 copies of")
    parser.add_argument("--tokenizer", default="", help="folder of a published tokenizer")
    parser.add_argument("--threads", type=int, default=1, help="threads that build batches")
    options = parser.parse_args()
    pairs = text(options.pairs)
    with tempfile.TemporaryDirectory() as folder:
        return report(
            measure(Path(folder), pairs, options.copied, options.tokenizer, options.threads)
        )


if __name__ == "__main__":
    sys.exit(main())
