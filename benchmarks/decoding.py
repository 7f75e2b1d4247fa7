"""Claim: translating lines of mixed length, fed in file order, is at least 1.5 times as fast as transformers'
`generate` with the same model, beam, batch size and length cap.

    python benchmarks/decoding.py [--beams 5 1] [--batch 32] [--rounds 4] [--lines 512] [--threads 1] [--cpu-time]
    python benchmarks/decoding.py --model RUN/model --from en --to de

The model is an encoder-decoder of BERT's family (3 and 3 layers, width 256, vocabulary 10k), which plain transformers
opens as `EncoderDecoderModel`. By default its weights are random, and a translation ends on both sides at the length
of the reference, by the same rule put on both searches: what a trained model's ends are, and what the cap is there
for, would hang on its training. With `--model` a trained one ends where it likes, and both sides stop by the same rule
(`early_stopping` is False in one, `likely` in the other; both `full` with `--full`).

`generate` gets batches of so many lines in the order of the file, each padded to its longest; for ours `--lines` lines
are a window that is sorted by length, and rows leave a batch when they have ended. Turns of so many lines alternate in
one process, so that a slow spell of the machine meets both. Text is Multi30k's English test set, with the lengths of
the German one, where `INTERLACE_DATA` names the folder of real data, XNLI's premises and hypotheses with `--xnli` (more
mixed in length); else lines of made-up words. A line says how many translations are the same on both sides.
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

import numpy as np
import torch
from _where import where
from transformers import EncoderDecoderModel, LogitsProcessor, LogitsProcessorList, logging

from interlace.core.randomness import Purpose, generator
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape, load
from interlace.models.search import TokenConstraints, encode_source, encoder_inputs, eval_mode, generate
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import SearchSettings, Shape
from interlace.models.translator import batches
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlace.core.ragged import Ragged
    from interlace.models.seq2seq import Seq2Seq

SHAPE = Shape(family="bert", layers=3, width=256, heads=4, max_length=256)
NEVER = float("-inf")


def text(source: str) -> tuple[list[str], list[str]]:
    """Lines and their references."""
    root = Path(os.environ.get("INTERLACE_DATA", "absent"))
    if source == "multi30k" and root.is_dir():
        sides = [root / f"parallel/multi30k/test_2016_flickr.{language}.gz" for language in ("en", "de")]
        return list(read_lines(sides[0])), list(read_lines(sides[1]))
    if source == "xnli" and root.is_dir():
        rows = [line.split("\t") for line in read_lines(root / "parallel/xnli-multiway/xnli.11way.dev.tsv.gz")]
        return [row[rows[0].index("en")] for row in rows[1:]], [row[rows[0].index("de")] for row in rows[1:]]
    rng = generator(Purpose.SAMPLE, 0)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 5)) for _ in range(5_000)])
    lengths = np.clip(rng.gamma(2.5, 6.0, size=2000).astype(int), 2, 60)
    others = np.maximum(1, (lengths * rng.normal(1.05, 0.15, size=len(lengths))).astype(int))
    sides = [[" ".join(words[rng.zipf(1.3, size=n) % len(words)]) for n in side] for side in (lengths, others)]
    return sides[0], sides[1]


@dataclass
class Ends:
    """Ends each row at its length, in our search."""

    inner: Any
    lengths: torch.Tensor
    end: int
    said: int = 0

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """The scores, but that a row ends where it should."""
        scores = forced(self.inner.step(tokens), self.lengths <= self.said, self.end)
        self.said += 1
        return scores

    def select(self, rows: torch.Tensor) -> Ends:
        """Those of the named rows."""
        return Ends(self.inner.select(rows), self.lengths[rows], self.end, self.said)


class EndsOfGenerate(LogitsProcessor):
    """The same for `generate`."""

    def __init__(self, lengths: torch.Tensor, end: int) -> None:
        self.lengths, self.end = lengths, end

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, but that a row ends where it should."""
        lengths = self.lengths.repeat_interleave(len(scores) // len(self.lengths))
        return forced(scores, lengths <= input_ids.shape[1] - 1, self.end)


def forced(scores: torch.Tensor, ends: torch.Tensor, end: int) -> torch.Tensor:
    """The scores, with the end as the only thing to say, at no cost, where `ends` says so."""
    scores[ends] = NEVER
    scores[ends, end] = 0.0
    return scores


@dataclass
class Sides:
    """Both ways to translate, over the same rows of subwords.

    lengths: at which a row ends, or None where the model says.
    """

    ours: Seq2Seq
    theirs: Any
    vocab: Vocab
    ids: Ragged
    lengths: torch.Tensor | None
    languages: tuple[str, str]
    batch: int
    beam: int
    full: bool

    def mine(self, rows: np.ndarray) -> list[list[int]]:
        """Our search: sorted by length, each row with its own cap."""
        search = SearchSettings(beam=self.beam, stop="full" if self.full else "likely", length_penalty=1.0)
        rules = TokenConstraints.of(self.vocab, self.ours.vocab_size)
        said: dict[int, list[int]] = {}
        ids = self.ids.take(rows)
        with torch.inference_mode(), eval_mode(self.ours):
            for part in batches(ids.lengths, 1 << 30, self.batch):
                decoding: Any = encode_source(
                    self.ours,
                    encoder_inputs(self.ours, ids.take(part), self.vocab, self.languages[0]),
                    self.languages[1],
                )
                if self.lengths is not None:
                    decoding = Ends(decoding, self.lengths[rows[part]], self.vocab.end)
                limits = torch.from_numpy(search.limits(ids.lengths[part], SHAPE.max_length - 1))
                first = torch.full((len(part),), self.vocab.target(self.languages[1]))
                found = generate(search, decoding, first, limits, rules)
                said |= dict(zip(part.tolist(), found.ranked().to_lists(), strict=True))
        return [said[row] for row in range(len(rows))]

    def generated(self, rows: np.ndarray) -> list[list[int]]:
        """`generate`, batch after batch in the order of the file; the cap of a batch is that of its longest row."""
        said = []
        never = list(TokenConstraints.of(self.vocab, self.ours.vocab_size).banned_ids)
        for start in range(0, len(rows), self.batch):
            part = rows[start : start + self.batch]
            inputs = encoder_inputs(self.ours, self.ids.take(part), self.vocab, self.languages[0])
            cap = int(SearchSettings().limits(self.ids.lengths[part], SHAPE.max_length - 1).max())
            ends = [] if self.lengths is None else [EndsOfGenerate(self.lengths[part], self.vocab.end)]
            made = self.theirs.generate(
                **inputs, num_beams=self.beam, do_sample=False, max_new_tokens=cap + 1, length_penalty=1.0,
                early_stopping=self.full, suppress_tokens=never, eos_token_id=self.vocab.end,
                pad_token_id=self.vocab.pad, decoder_start_token_id=self.vocab.target(self.languages[1]),
                logits_processor=LogitsProcessorList(ends),
            )  # fmt: skip
            said += [
                [token for token in row[1:] if token not in (self.vocab.end, self.vocab.pad)] for row in made.tolist()
            ]
        return said


def timed(work: Callable[[np.ndarray], Any], rows: np.ndarray, clock: Callable[[], float]) -> tuple[float, Any]:
    """Seconds that it takes, and what it gives."""
    start = clock()
    found = work(rows)
    return clock() - start, found


def made(lines: list[str], references: list[str], folder: Path) -> tuple[Seq2Seq, Vocab]:
    """A model with random weights, the same at every call, that never ends by itself."""
    vocab = Vocab.learn({"en": lines + references}, size=10_000).with_target_languages(["en", "de"])
    encoder = from_shape(SHAPE, vocab)
    model = join(encoder, fresh_decoder(encoder.model.config, 0)).eval()
    torch.nn.init.constant_(model.decoder.model.get_output_embeddings().bias[vocab.end : vocab.end + 1], -1e4)
    model.save_pretrained(folder, vocab)
    return model, vocab


def measure(sides: Sides, options: Any, clock: Callable[[], float]) -> None:
    """A row of figures for one beam."""
    count = len(sides.ids)
    for work in (sides.mine, sides.generated):
        work(np.arange(min(count, options.batch)))  # warm
    rates: list[tuple[float, float]] = []
    same = compared = 0
    for turn in range(options.rounds):
        rows = np.arange(turn * options.lines, (turn + 1) * options.lines) % count
        order = (sides.mine, sides.generated) if turn % 2 else (sides.generated, sides.mine)
        done = {work.__name__: timed(work, rows, clock) for work in order}
        said = {name: found for name, (_, found) in done.items()}
        same += sum(one == other for one, other in zip(said["mine"], said["generated"], strict=True))
        compared += len(rows)
        subwords = sum(map(len, said["mine"]))
        rates.append((subwords / done["mine"][0], sum(map(len, said["generated"])) / done["generated"][0]))
        if options.verbose:
            print(f"    turn {turn}: {rates[-1][0]:.0f} {rates[-1][1]:.0f}", flush=True)
    ratios = [mine / theirs for mine, theirs in rates]
    mine, theirs = (statistics.median(side) for side in zip(*rates, strict=True))
    print(
        f"  beam {sides.beam}: {mine:8.0f} {theirs:8.0f}   {statistics.median(ratios):5.2f} "
        f"(least {min(ratios):.2f}, most {max(ratios):.2f}); {same} of {compared} translations the same",
        flush=True,
    )


def main() -> None:
    """Measure each beam."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 1])
    parser.add_argument("--batch", type=int, default=32, help="lines of a batch, on both sides")
    parser.add_argument("--lines", type=int, default=512, help="lines of a turn")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--full", action="store_true", help="stop at a full beam")
    parser.add_argument("--xnli", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--save-model", type=Path, default=None, help="a trained model of BERT's or RoBERTa's family")
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", dest="target", default="de")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    print(where(), flush=True)
    clock = time.process_time if options.cpu_time else time.perf_counter
    lines, references = text("xnli" if options.xnli else "multi30k")
    with tempfile.TemporaryDirectory() as folder:
        model, vocab = (
            made(lines, references, Path(folder))
            if options.model is None
            else (load(options.model), Vocab.load(options.model))
        )
        theirs = EncoderDecoderModel.from_pretrained(options.model or folder).eval()
    ids = vocab.encode(lines, language=options.source).ids
    lengths = None
    if options.model is None:
        caps = SearchSettings().limits(ids.lengths, SHAPE.max_length - 1)
        lengths = torch.from_numpy(np.minimum(vocab.encode(references, language=options.target).lengths, caps))
    print(
        f"{len(ids)} lines of {ids.lengths.mean():.1f} subwords, {np.percentile(ids.lengths, 5):.0f} to "
        f"{np.percentile(ids.lengths, 95):.0f} of nine in ten; subwords/s: ours, generate, ratio",
        flush=True,
    )
    for beam in options.beams:
        sides = Sides(
            model, theirs, vocab, ids, lengths, (options.source, options.target), options.batch, beam, options.full
        )
        measure(sides, options, clock)


if __name__ == "__main__":
    main()
