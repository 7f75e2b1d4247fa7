"""Compare the speed of beam search and greedy search with transformers' `generate`.

Target: 1.5 times as fast on lines of mixed length in file order, with the same model, beam size, batch size and maximum
length.

    python benchmarks/decoding.py [--beams 5 1] [--batch 32] [--rounds 4] [--lines 512] [--threads 1] [--cpu-time]
    python benchmarks/decoding.py --model RUN/model --from en --to de

The model is a BERT encoder-decoder (3 and 3 layers, width 256, vocabulary 10k), which transformers opens as
`EncoderDecoderModel`. By default its weights are random, and both searches end each translation at the length of the
reference. With `--model`, a trained model decides, and both searches use the same stopping rule (`early_stopping` is
False).

`generate` gets padded batches in file order; interlace sorts a window of `--lines` lines by length and removes finished
sentences from the batch. Rounds of so many lines alternate in one process. The text is Multi30k's English test set, or
XNLI's premises and hypotheses with `--xnli`, in `INTERLACE_DATA`; else random words. The output shows how many
translations are identical.

`--count` counts what a step asks of a GPU instead, without one, for six layers: operations that write memory, and waits
for them, as `update_counts.py` does. No sentence is finished in the counted steps.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import torch
from _common import environment
from transformers import EncoderDecoderModel, LogitsProcessor, LogitsProcessorList, logging
from update_counts import Operations, counted_readers

from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data.sampling import batches_by_length
from interlace.data.vocab import Vocab
from interlace.models import search as interlace_search
from interlace.models.backbone import eval_mode
from interlace.models.build import from_shape, load
from interlace.models.search import (
    TokenConstraints,
    beam_search,
    encode_source,
    encoder_inputs,
)
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import SearchSettings, Shape
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlace.models.seq2seq import Seq2Seq

SHAPE = Shape(family="bert", layers=3, width=256, heads=4, max_length=256)
COUNTED = Shape(
    family="bert", layers=6, width=16, heads=2, max_length=256
)  # width changes no count


def parallel_text(name: str) -> tuple[list[str], list[str]]:
    """Return lines and their references."""
    root = Path(os.environ.get("INTERLACE_DATA", "absent"))
    if name == "multi30k" and root.is_dir():
        sides = [
            root / f"parallel/multi30k/test_2016_flickr.{language}.gz"
            for language in ("en", "de")
        ]
        return list(read_lines(sides[0])), list(read_lines(sides[1]))
    if name == "xnli" and root.is_dir():
        rows = [
            line.split("\t")
            for line in read_lines(root / "parallel/xnli-multiway/xnli.11way.dev.tsv.gz")
        ]
        return [row[rows[0].index("en")] for row in rows[1:]], [
            row[rows[0].index("de")] for row in rows[1:]
        ]
    rng = generator(Purpose.SAMPLE, 0)
    words = np.array(
        ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 5)) for _ in range(5_000)]
    )
    lengths = np.clip(rng.gamma(2.5, 6.0, size=2000).astype(int), 2, 60)
    others = np.maximum(1, (lengths * rng.normal(1.05, 0.15, size=len(lengths))).astype(int))
    sides = [
        [" ".join(words[rng.zipf(1.3, size=n) % len(words)]) for n in side]
        for side in (lengths, others)
    ]
    return sides[0], sides[1]


@dataclass
class FixedLengths:
    """Decoding state of interlace that ends each sequence at its length."""

    inner: Any
    lengths: torch.Tensor
    end: int
    position: int = 0

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        scores = force_end(self.inner.step(tokens), self.lengths <= self.position, self.end)
        self.position += 1
        return scores

    def select(self, rows: torch.Tensor, *sources: Any, **options: Any) -> FixedLengths:
        inner = self.inner.select(rows, *sources, **options)
        return FixedLengths(inner, self.lengths[rows], self.end, self.position)


class FixedLengthsProcessor(LogitsProcessor):
    """Does the same in `generate`."""

    def __init__(self, lengths: torch.Tensor, end: int) -> None:
        self.lengths, self.end = lengths, end

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        lengths = self.lengths.repeat_interleave(len(scores) // len(self.lengths))
        return force_end(scores, lengths <= input_ids.shape[1] - 1, self.end)


def force_end(scores: torch.Tensor, ends: torch.Tensor, end: int) -> torch.Tensor:
    """Allow only the end token, with log probability 0, in the selected sequences."""
    scores.masked_fill_(ends[:, None], float("-inf"))
    scores[:, end].masked_fill_(ends, 0.0)
    return scores


@dataclass
class Comparison:
    """Both searches on the same source sequences.

    lengths: lengths of the translations, or None to let the model decide.
    """

    ours: Seq2Seq
    theirs: Any
    vocab: Vocab
    ids: Ragged
    lengths: torch.Tensor | None
    languages: tuple[str, str]
    batch: int
    beam: int

    @property
    def target(self) -> int:
        """The token that names the target language."""
        return self.vocab.target(self.languages[1])[-1]

    @property
    def max_target(self) -> int:
        """Maximum length of a translation."""
        return self.ours.max_target_length - 1

    def interlace(self, rows: np.ndarray) -> list[list[int]]:
        """Translate in batches of similar length, with a maximum length per sequence."""
        search = SearchSettings()
        constraints = TokenConstraints.of(self.vocab, self.ours.vocab_size)
        found: dict[int, list[int]] = {}
        ids = self.ids.take(rows)
        with torch.inference_mode(), eval_mode(self.ours):
            for part in batches_by_length(ids.lengths, 1 << 30, self.batch):
                decoding: Any = encode_source(
                    self.ours,
                    encoder_inputs(self.ours, ids.take(part), self.vocab, self.languages[0]),
                    self.languages[1],
                )
                if self.lengths is not None:
                    decoding = FixedLengths(decoding, self.lengths[rows[part]], self.vocab.end)
                limits = torch.from_numpy(search.limits(ids.lengths[part], self.max_target))
                first = torch.full((len(part),), self.target, device=self.ours.device)
                beams = beam_search(decoding, first, limits, constraints, self.beam)
                found |= dict(zip(part.tolist(), beams.best().to_lists(), strict=True))
        return [found[row] for row in range(len(rows))]

    def transformers(self, rows: np.ndarray) -> list[list[int]]:
        """Translate batches in file order; the maximum length of a batch is that of its longest sequence."""
        found = []
        banned = list(TokenConstraints.of(self.vocab, self.ours.vocab_size).banned_ids)
        for start in range(0, len(rows), self.batch):
            part = rows[start : start + self.batch]
            inputs = encoder_inputs(
                self.ours, self.ids.take(part), self.vocab, self.languages[0]
            )
            limit = int(SearchSettings().limits(self.ids.lengths[part], self.max_target).max())
            processors = (
                []
                if self.lengths is None
                else [FixedLengthsProcessor(self.lengths[part], self.vocab.end)]
            )
            generated = self.theirs.generate(
                **inputs, num_beams=self.beam, do_sample=False, max_new_tokens=limit + 1, length_penalty=1.0,
                early_stopping=False, suppress_tokens=banned, eos_token_id=self.vocab.end,
                pad_token_id=self.vocab.pad, decoder_start_token_id=self.target,
                logits_processor=LogitsProcessorList(processors),
            )  # fmt: skip
            special = (self.vocab.end, self.vocab.pad)
            found += [
                [token for token in row[1:] if token not in special]
                for row in generated.tolist()
            ]
        return found


def random_model(
    lines: list[str], references: list[str], folder: Path
) -> tuple[Seq2Seq, Vocab]:
    """Save a model with the same random weights at every call, which never predicts the end."""
    vocab = Vocab.learn({"en": lines + references}, size=10_000)
    return saved_model(vocab.with_target_languages(["en", "de"]), SHAPE, folder)


def saved_model(vocab: Vocab, shape: Shape, folder: Path) -> tuple[Seq2Seq, Vocab]:
    """Do the same with a vocabulary that has target languages, and a shape of both sides."""
    encoder = from_shape(shape, vocab)
    model = join(encoder, fresh_decoder(encoder.model.config, 0)).eval()
    torch.nn.init.constant_(
        model.decoder.model.get_output_embeddings().bias[vocab.end : vocab.end + 1], -1e4
    )
    model.save_pretrained(folder, vocab)
    return model, vocab


@dataclass(frozen=True)
class Rates:
    """Tokens/s of each round, of interlace and `generate`, and how many of the translations are identical."""

    rounds: list[tuple[float, float]]
    same: int
    compared: int

    @property
    def medians(self) -> tuple[float, float]:
        """The median of each side."""
        ours, theirs = zip(*self.rounds, strict=True)
        return statistics.median(ours), statistics.median(theirs)


def measure(
    comparison: Comparison, lines: int, rounds: int, clock: Callable[[], float]
) -> Rates:
    """Translate so many lines a round by both searches, in alternating order."""
    count = len(comparison.ids)
    searches = [comparison.transformers, comparison.interlace]
    for search in searches:
        search(np.arange(min(count, comparison.batch)))  # warm-up
    rates: list[tuple[float, float]] = []
    same = compared = 0
    for turn in range(rounds):
        rows = np.arange(turn * lines, (turn + 1) * lines) % count
        found, tokens_per_second = {}, {}
        for search in reversed(searches) if turn % 2 else searches:
            start = clock()
            translations = search(rows)
            seconds = clock() - start
            found[search.__name__] = translations
            tokens_per_second[search.__name__] = sum(map(len, translations)) / seconds
        same += sum(
            one == other
            for one, other in zip(found["interlace"], found["transformers"], strict=True)
        )
        compared += len(rows)
        rates.append((tokens_per_second["interlace"], tokens_per_second["transformers"]))
    return Rates(rates, same, compared)


def show(beam: int, rates: Rates, *, verbose: bool) -> None:
    """Print the rates for one beam size."""
    if verbose:
        for turn, (ours, theirs) in enumerate(rates.rounds):
            print(f"    round {turn}: {ours:.0f} {theirs:.0f}")
    ratios = [ours / theirs for ours, theirs in rates.rounds]
    ours, theirs = rates.medians
    print(
        f"  beam {beam}: {ours:8.0f} {theirs:8.0f}   {statistics.median(ratios):5.2f} "
        f"(min {min(ratios):.2f}, max {max(ratios):.2f}); {rates.same} of {rates.compared} translations identical",
        flush=True,
    )


def operations_per_step(comparison: Comparison, name: str) -> tuple[float, float]:
    """Return launches and waits of a step on a GPU, from searches of 24 and 40 steps; name: of the search."""
    totals = []
    for steps in (24, 40):
        comparison.lengths = torch.full((len(comparison.ids),), steps)
        counts = Operations()
        with counted_readers(counts), counts:
            getattr(comparison, name)(np.arange(comparison.batch))
        totals.append((counts.launches.total(), counts.waits.total()))
    (launches, waits), (more_launches, more_waits) = totals
    return (more_launches - launches) / 16, (more_waits - waits) / 16


def count(beams: list[int], batch: int) -> None:
    """Print launches and waits of a step of both searches, and of the model alone."""
    vocab = Vocab.learn({"en": ["a few words to learn from"] * 20}, size=300)
    vocab = vocab.with_target_languages(["en", "de"])
    ids = Ragged.from_lengths(np.resize(vocab.regular_ids, 30 * batch), [30] * batch)
    with tempfile.TemporaryDirectory() as folder:
        model, _ = saved_model(vocab, COUNTED, Path(folder))
        theirs = EncoderDecoderModel.from_pretrained(folder).eval()
    like_a_gpu = patch.object(
        interlace_search, "steps_between_reads", lambda _: interlace_search.READ_EVERY
    )
    for beam in beams:
        comparison = Comparison(model, theirs, vocab, ids, None, ("en", "de"), batch, beam)
        with like_a_gpu:
            for name in ("interlace", "transformers"):
                launches, waits = operations_per_step(comparison, name)
                print(f"beam {beam}, {name}: {launches:.0f} launches, {waits:.2f} waits a step")
    cache = model.start(torch.zeros(batch, 32, COUNTED.width))
    operations = Operations()
    with operations:
        model.step(cache, torch.zeros(batch, dtype=torch.int64))
    print(f"the model alone: {operations.launches.total()} launches")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 1])
    parser.add_argument("--batch", type=int, default=32, help="lines per batch")
    parser.add_argument("--lines", type=int, default=512, help="lines per round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--xnli", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--count", action="store_true", help="count operations of a step")
    parser.add_argument(
        "--model", type=Path, default=None, help="trained model of the BERT or RoBERTa family"
    )
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", dest="target", default="de")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    print(environment(), flush=True)
    if options.count:
        count(options.beams, options.batch)
        return
    clock = time.process_time if options.cpu_time else time.perf_counter
    lines, references = parallel_text("xnli" if options.xnli else "multi30k")
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            model, vocab = random_model(lines, references, Path(folder))
        else:
            model, vocab = load(options.model), Vocab.load(options.model)
        theirs = EncoderDecoderModel.from_pretrained(options.model or folder).eval()
    ids = vocab.encode(lines, language=options.source).ids
    lengths = None
    if options.model is None:
        limits = SearchSettings().limits(ids.lengths, model.max_target_length - 1)
        lengths = torch.from_numpy(
            np.minimum(vocab.encode(references, language=options.target).lengths, limits)
        )
    low, high = np.percentile(ids.lengths, [5, 95])
    print(
        f"{len(ids)} lines, {ids.lengths.mean():.1f} tokens on average (5 % to 95 %: {low:.0f} to {high:.0f}); "
        "tokens/s: interlace, generate, ratio",
        flush=True,
    )
    languages = (options.source, options.target)
    for beam in options.beams:
        comparison = Comparison(
            model, theirs, vocab, ids, lengths, languages, options.batch, beam
        )
        rates = measure(comparison, options.lines, options.rounds, clock)
        show(beam, rates, verbose=options.verbose)


if __name__ == "__main__":
    main()
