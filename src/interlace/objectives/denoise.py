"""Denoising auto-encoding: a sentence is reconstructed from a noised version (Lample et al. 2018).

    before  the old doctor reads three letters
    reads   <s> old the doctor [M] letters </s>
    writes  <2en>  the   old     doctor  reads  three    letters
    next    the    old   doctor  reads   three  letters  </s>

It teaches the decoder each language without translations, and makes the encoder robust to the errors of
back-translation (Conneau & Lample 2019, section 5.2).

Legend: n sentences; T tokens, U noise units (words or tokens) of all sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from interlace.core.ragged import IntArray, Ragged
from interlace.core.randomness import Generator
from interlace.core.schedules import Schedule, value_at, within
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.data.vocab import Vocab
from interlace.objectives import Batch, Prepared
from interlace.objectives.common.masking import Rate
from interlace.objectives.common.seq2seq import Seq2SeqObjective, decoder_layout

Distance = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1000.0))]


class Noise(Settings):
    """How a sentence is noised; the steps are applied in this order, as in XLM's code."""

    shuffle: Distance = Field(
        "3",
        description="Units move by fewer places than this: they are sorted by place + U(0, shuffle); 0: no shuffling "
        "(XLM: 3). A number or a schedule over steps, as the others.",
    )
    drop: Rate = Field(
        "0.1", description="Share of units to drop; one unit always remains (XLM: 0.1)."
    )
    blank: Rate = Field(
        "0.1", description="Share of units to replace by masks, one for each token (XLM: 0.1)."
    )
    unit: Literal["word", "subword"] = Field(
        "word",
        description="Unit that is moved, dropped and masked: words (Lample et al. 2018) or subwords (XLM's code).",
    )

    def apply(self, sentences: Sentences, vocab: Vocab, step: int, rng: Generator) -> Sentences:
        """Return the noised sentences, words renumbered; raise a DataError if the vocabulary lacks a needed mask."""
        units = NoiseUnits.of(sentences, self.unit)
        scores = units.places + rng.random(len(units.rows)) * value_at(self.shuffle, step)
        order = np.lexsort((scores, units.rows))
        draws = rng.random(len(units.rows))
        is_kept = draws >= value_at(self.drop, step)
        # One unit of each sentence always remains: the one with the highest draw, the last of its sentence here.
        is_kept[np.lexsort((draws, units.rows))[np.diff(units.rows, append=-1) != 0]] = True
        rate = value_at(self.blank, step)
        masked = rng.random(len(units.rows)) < rate
        order = order[is_kept[order]]
        moved = Ragged.from_lengths(sentences.ids.flat, units.lengths).take(order)
        ids = moved.flat
        if rate:
            ids[np.repeat(masked[order], moved.lengths)] = vocab.mask
        rows = units.rows[order]
        tokens = np.bincount(rows, moved.lengths, minlength=len(sentences)).astype(np.int64)
        numbers = Ragged.from_lengths(order, np.bincount(rows, minlength=len(sentences))).columns()
        words = np.repeat(numbers, moved.lengths).astype(np.int32)
        return Sentences(
            Ragged.from_lengths(ids, tokens), Ragged.from_lengths(words, tokens), sentences.language
        )


class Denoise(Seq2SeqObjective):
    """Write a sentence after reading it with words moved, dropped and masked.

    Reads: sentences of one language per batch.
    Relations: `mass` masks one span and writes only that; `back_translation` reads the model's own translation.
    Terms: `denoise`. XLM decays its weight: `weight = "0:1,100000:0.1,300000:0"`, in iterations of four updates.
    """

    term = "denoise"

    noise: Noise = Field(default_factory=Noise, description="Noise of the sentence that is read.")

    def batch(self, examples: Sentences, prepared: Prepared, step: int, rng: Generator) -> Batch:
        """Read the noised sentences, write the original ones."""
        vocab = prepared.vocab
        language = examples.language
        decoder = decoder_layout(examples.ids, vocab.target(language), vocab, self.max_length)
        noised = self.noise.apply(examples, vocab, step, rng)
        layout = sentence_layout(noised, vocab, self.max_length)
        return self.seq2seq_batch(layout, language, decoder, language, prepared)


@dataclass(frozen=True)
class NoiseUnits:
    """Words or tokens of a batch. starts, lengths: (U,) their tokens. rows, places: (U,) sentence and position."""

    starts: IntArray
    lengths: IntArray
    rows: IntArray
    places: IntArray

    @classmethod
    def of(cls, sentences: Sentences, unit: str) -> NoiseUnits:
        """Return the units; a separator inside a stream is a word by itself."""
        owner = sentences.ids.rows()
        words = sentences.words.flat
        new = np.ones(len(words), np.bool_)
        if unit == "word":
            new[1:] = (owner[1:] != owner[:-1]) | (words[1:] != words[:-1]) | (words[1:] < 0)
        starts = np.flatnonzero(new)
        rows = owner[starts]
        counts = np.bincount(rows, minlength=len(sentences))
        places = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(starts, np.diff(starts, append=len(words)), rows, places)
