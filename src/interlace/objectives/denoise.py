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

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from interlace.core.ragged import Ragged, begins_run
from interlace.core.randomness import Generator
from interlace.core.schedules import Schedule, value_at, within
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, Prepared
from interlace.objectives.common.masking import Rate
from interlace.objectives.common.seq2seq import Seq2SeqObjective, sentence_decoder

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

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
        n = len(sentences)
        units = unit_lengths(sentences, self.unit)
        rows = units.rows()  # (U,)
        places = units.columns()
        scores = places + rng.random(len(rows)) * value_at(self.shuffle, step)
        order = np.lexsort((scores, rows))
        draws = rng.random(len(rows))
        is_kept = draws >= value_at(self.drop, step)
        # One unit of each sentence always remains: the one with the highest draw.
        ascending = np.lexsort((draws, rows))
        is_last = np.diff(rows, append=-1) != 0
        is_kept[ascending[is_last]] = True
        rate = value_at(self.blank, step)
        is_masked = rng.random(len(rows)) < rate

        order = order[is_kept[order]]
        # a row per unit
        moved = Ragged.from_lengths(sentences.ids.flat, units.flat).take(order)
        unit_of_token = moved.rows()
        ids = moved.flat
        if rate:
            ids[is_masked[order][unit_of_token]] = vocab.mask
        rows = rows[order]
        numbers = Ragged.from_lengths(order, np.bincount(rows, minlength=n)).columns()
        words = numbers[unit_of_token].astype(np.int32)
        lengths = np.bincount(rows[unit_of_token], minlength=n)
        return Sentences(
            Ragged.from_lengths(ids, lengths),
            Ragged.from_lengths(words, lengths),
            sentences.language,
        )


class Denoise(Seq2SeqObjective):
    """Write a sentence after reading it with words moved, dropped and masked.

    Reads: sentences of one language per batch.
    Relations: `mass` masks one span and writes only that; `back_translation` reads the model's own translation.
    Terms: `denoise`. XLM decays its weight: `weight = "0:1,100000:0.1,300000:0"`, in iterations of four updates.
    """

    term = "denoise"

    noise: Noise = Field(
        default_factory=Noise, description="Noise of the sentence that is read."
    )

    def batch(
        self, examples: Sentences, prepared: Prepared, step: int, rng: Generator
    ) -> Batch:
        """Read the noised sentences, write the original ones."""
        vocab = prepared.vocab
        language = examples.language
        decoder = sentence_decoder(examples.ids, vocab.target(language), vocab, self.max_length)
        noised = self.noise.apply(examples, vocab, step, rng)
        layout = sentence_layout(noised, vocab, self.max_length)
        return self.seq2seq_batch(layout, language, decoder, language, prepared)


def unit_lengths(sentences: Sentences, unit: str) -> Ragged:
    """Return for each sentence the tokens of its words, or 1 for each token; a separator is a word by itself."""
    owner = sentences.ids.rows()
    words = sentences.words.flat
    starts = np.arange(len(words))
    if unit == "word":
        is_separator = words < 0
        starts = np.flatnonzero(begins_run(owner, words) | is_separator)
    lengths = np.diff(starts, append=len(words))
    return Ragged.from_lengths(lengths, np.bincount(owner[starts], minlength=len(sentences)))
