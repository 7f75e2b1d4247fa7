"""Claims: one core builds 1 million real tokens/s of `alm` batches, with phrases stored and with phrases extracted from
links in every batch; on disk they take at most 1/4 and 1/8 of what 40 written copies of each pair take.

    python benchmarks/alm_batches.py [--pairs N] [--copied N]

Everything from the epoch plan to the finished arrays is timed, from corpora on disk: gathering columns, choosing
phrases, gathering subwords, masking. Beside it stand `tlm` on the same pairs, and `mlm` on the written copies, read as
rows of running text: what reading costs where switching was paid for beforehand.

`--copied` is the number of pairs that copies are written of; disk is told in bytes a pair. At the end: the share of
rows whose subwords are not those that the tokenizer gives for their text.

The text is Multi30k's English and German captions where `INTERLACE_DATA` names the folder of real data, else the
toy corpus's. Words are what the word tokenizer `unicode` finds, links are those of `diagonal`.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from interlace.aligners import ALIGNERS
from interlace.alignment import WordPairs
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs, Sentences
from interlace.data.alignments import WordAlignments
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams
from interlace.data.phrases import PhraseStore
from interlace.data.sampling import BucketPlan, StreamPlan
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings, LineWriter
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    WordForms,
    switch_phrases,
    switched_tokens,
)
from interlace.objectives.mlm import Mlm
from interlace.objectives.tlm import Tlm
from interlace.readers.lines import PlainLines
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.toy import pairs as world_pairs
from interlace.toy import sample
from interlace.training.mixture import BucketedBatches, Mixture, MixtureDraw, MixtureSource, StreamedBatches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.objectives import Objective
    from interlace.training.mixture import BatchPlan

BUDGET, LENGTH, ROUNDS, BATCHES = 16_384, 256, 5, 20
CLAIM, SHARES = 1.0, {"alm, phrases stored": 1 / 4, "alm, phrases from links": 1 / 8}
ALL = {"source_share": 0, "target_share": 0}


def text(pairs: int, other: str) -> TextPairs:
    """The first pairs of Multi30k, or so many of the toy corpus."""
    folder = os.environ.get("INTERLACE_DATA")
    if folder and other == "de":
        files = [Path(folder, "parallel", "multi30k", f"train.{language}.gz") for language in ("en", "de")]
        found = list(PlainLines(word_tokenizer="unicode").read_chunks(files, ["en", "de"]))
        sides = [[line for chunk in found for line in getattr(chunk, side).lines] for side in ("source", "target")]
    else:
        world = world_pairs("en", other, sample(pairs, "train", 5))
        sides = [world.source.lines, world.target.lines]
    word_tokenizer = WORD_TOKENIZERS.build("unicode")
    return TextPairs(
        *(
            Text(language, lines[:pairs], word_tokenizer.of(language).split(lines[:pairs]), "unicode")
            for language, lines in zip(("en", other), sides, strict=True)
        )
    )


def linked(pairs: TextPairs) -> tuple[WordPairs, Ragged]:
    """Its words and links."""
    words = WordPairs.of([pairs])
    aligner = ALIGNERS.build("diagonal")
    return words, aligner.fit(words).align(words).links


def stored(folder: Path, words: WordPairs, links: Ragged, sides: Pairs, vocab: Vocab) -> dict[str, ParallelCorpus]:
    """The corpus on disk, alone, with links, with phrases, and with what the table knows."""
    corpus = ParallelCorpus.write(
        folder / "pairs", [sides], languages=words.languages, vocab=vocab, word_tokenizer=words.word_tokenizer
    )
    aligned = WordAlignments.write(folder / "links", [(words, links, np.ones(len(links.flat), np.float32))])
    table, rules = PhraseTable.count(words, links), TableRules()
    phrases = PhraseStore.write(folder / "phrases", aligned, table, rules)
    phrases.encoded(vocab)
    return {
        "tlm, pairs": corpus,
        "alm, phrases stored": corpus.with_alignments(aligned, phrases),
        "alm, phrases from links": corpus.with_alignments(aligned),
        "alm, the table's argmax": corpus.with_alignments(aligned, phrases, known=True),
    }


def copies(folder: Path, pairs: TextPairs, words: WordPairs, links: Ragged, vocab: Vocab) -> tuple[Corpus, float]:
    """40 switched sentences of each pair as a corpus, and how many lines of text a second were written."""
    drawn = CodeSwitchedText(PhraseTable.count(words, links), TableRules(), CodeSwitching(), CopySettings(repeats=True))
    start = time.perf_counter()
    lines = [line for part in drawn.lines(pairs, words, links) for line in part]
    rate = len(lines) / (time.perf_counter() - start)

    def chunks() -> Iterator[Sentences]:
        for first in range(0, len(lines), 20_000):
            yield vocab.encode(lines[first : first + 20_000], "unicode", "en")

    return Corpus.write(folder / "copies", chunks(), languages=["en"], vocab=vocab, word_tokenizer="unicode"), rate


def size(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rates(sources: dict[str, MixtureSource]) -> dict[str, float]:
    """Median real tokens/s in millions, all timed by turns."""
    mixtures = {name: Mixture([source], seed=0) for name, source in sources.items()}
    found: dict[str, list[float]] = {name: [] for name in sources}
    step = 0
    for turn in range(ROUNDS + 1):
        for name, mixture in mixtures.items():
            start = time.process_time()  # other work on the machine counts for nothing
            tokens = sum(mixture.batch(MixtureDraw(step + at, 0, step + at, ()), 0).tokens for at in range(BATCHES))
            if turn:  # the first one compiles and fills what is remembered
                found[name].append(tokens / (time.process_time() - start) / 1e6)
        step += BATCHES
    return {name: statistics.median(values) for name, values in found.items()}


def source_of(name: str, objective: Objective, plan: BatchPlan, vocab: Vocab) -> MixtureSource:
    """An objective on a corpus."""
    return MixtureSource(name, "en-de", objective, objective.prepare(Resources(vocab, Traits("bert", LENGTH))), plan)


def differing(pairs: TextPairs, links: Ragged, words: WordPairs, vocab: Vocab) -> float:
    """Share of mixed rows whose subwords are not those of their text."""
    sides = Pairs(vocab.encode_text(pairs.source), vocab.encode_text(pairs.target), links)
    table = PhraseTable.count(words, links)
    forms, spans = WordForms(vocab), _spans(words, links)
    scores = Ragged(table.scores[table.locate(words, spans)][:, [2, 0]], spans.offsets)
    rng = generator(Purpose.BATCH, 0)
    candidates = SwitchCandidates.of(replace(sides, phrases=spans, scores=scores), forms.inside)
    switched = switch_phrases(candidates, CodeSwitching.read(ALL), rng)
    found = switched_tokens(sides, switched, forms).sentences.ids
    expected = vocab.encode(LineWriter(pairs).lines(switched)).ids
    return 1 - float(np.mean([np.array_equal(one, other) for one, other in zip(found, expected, strict=True)]))


def _spans(words: WordPairs, links: Ragged) -> Ragged:
    from interlace.alignment.phrases import phrase_pairs

    return phrase_pairs(words.source.lengths, words.target.lengths, links)


def main() -> None:
    """Print rates, disk and differing rows, and whether the claims hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=29_000)
    parser.add_argument("--copied", type=int, default=2_000)
    asked = parser.parse_args()
    pairs = text(asked.pairs, "de")
    words, links = linked(pairs)
    vocab = Vocab.learn({"en": pairs.source.lines, "de": pairs.target.lines}, 16_000)
    sides = Pairs(vocab.encode_text(pairs.source), vocab.encode_text(pairs.target))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpora = stored(folder, words, links, sides, vocab)
        some = replace(pairs, source=_first(pairs.source, asked.copied), target=_first(pairs.target, asked.copied))
        written, lines = copies(folder, some, words.slice(0, asked.copied), links.slice(0, asked.copied), vocab)
        objectives = {
            "tlm, pairs": Tlm(max_length=LENGTH),
            "alm, phrases stored": Alm(max_length=LENGTH),
            "alm, phrases from links": Alm(max_length=LENGTH, phrases="extracted"),
            "alm, the table's argmax": Alm(max_length=LENGTH, code_switching={"target_choice": "table_argmax"}),
        }
        sources = {
            key: source_of(
                key,
                objective,
                BucketedBatches(corpora[key], BucketPlan(objective.pair_costs(*corpora[key].side_lengths), BUDGET)),
                vocab,
            )
            for key, objective in objectives.items()
        }
        streams = Streams(written, LENGTH - 2, vocab.end)
        streamed = StreamedBatches(streams, StreamPlan(len(streams), BUDGET, LENGTH))
        sources["mlm, 40 copies"] = source_of("mlm", Mlm(max_length=LENGTH), streamed, vocab)
        found = rates(sources)
        for key, rate in found.items():
            claim = f"   claim {CLAIM}: {'holds' if rate >= CLAIM else 'MISSED'}" if key in SHARES else ""
            print(f"{key:26} {rate:6.2f} million real tokens/s{claim}")
        parts = {part: size(folder / part) / len(pairs) for part in ("pairs", "links", "phrases")}
        parts["copies"] = size(folder / "copies") / asked.copied
        print("bytes a pair: " + ", ".join(f"{part} {value:.0f}" for part, value in parts.items()))
        taken = {"alm, phrases stored": ("pairs", "links", "phrases"), "alm, phrases from links": ("pairs", "links")}
        for key, which in taken.items():
            share = sum(parts[part] for part in which) / parts["copies"]
            print(
                f"{key:26} 1/{1 / share:.1f} of 40 copies"
                f"   claim 1/{1 / SHARES[key]:.0f}: {_held(share <= SHARES[key])}"
            )
        print(f"text with switched phrases {lines / 1e3:6.1f} thousand lines/s")
    for other in ("de", "zh"):
        tried = text(2_000, other)
        tried_words, tried_links = linked(tried)
        for kind in ("byte-bpe", "wordpiece", "unigram"):
            learnt = Vocab.learn({"en": tried.source.lines, other: tried.target.lines}, 4_000, kind=kind)
            share = differing(tried, tried_links, tried_words, learnt)
            print(f"en-{other}, {kind:10} {share:7.2%} of rows differ from tokenising their text")


def _first(side: Text, count: int) -> Text:
    return replace(side, lines=side.lines[:count], words=side.words.slice(0, min(count, len(side))))


def _held(claim: bool) -> str:
    return "holds" if claim else "MISSED"


if __name__ == "__main__":
    main()
