"""Masked sequence-to-sequence pre-training (MASS, Song et al. 2019): write a masked fragment of a sentence.

    before  the old doctor reads three letters
    reads   <s> the [M] [M] [M] three letters </s>
    writes  <2en>  old     doctor
    next    old    doctor  reads

The decoder reads a fragment at its positions in the sentence (section 4.1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.ragged import AnyArray, BoolArray, IntArray, Ragged
from interlace.core.randomness import Generator
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import Batch, Prepared
from interlace.objectives.common.masking import Masking
from interlace.objectives.common.seq2seq import Seq2SeqObjective, decoder_layout, with_end

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab


class Mass(Seq2SeqObjective):
    """Write the masked fragment of a sentence; 80 % of it are masks and 10 % random tokens (section 4.1).

    Reads: single sentences.
    Relations: `mlm` predicts masked tokens in the encoder; `denoise` writes the whole sentence.
    Terms: `mass`.
    """

    term = "mass"

    share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Length of the fragment (Song et al. 2019, section 4.1: 50 %).",
    )
    at_edge: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Share of fragments at the beginning or end of their sentence, half each; others start anywhere "
        "(MASS's code: 0.4; its paper, section 3.1, says random).",
    )

    def decoder_lengths(self, read: AnyArray) -> AnyArray:
        """Return (n,) the length of the fragment."""
        return np.minimum(read, np.ceil(self.share * read).astype(np.int64) + 1)

    def batch(
        self,
        examples: Sentences,
        prepared: Prepared,
        step: int,  # noqa: ARG002
        rng: Generator,
    ) -> Batch:
        """Mask a fragment of every sentence."""
        vocab = prepared.vocab
        original = examples.ids
        language = examples.language
        starts, stops = draw_spans(examples.lengths, self.share, self.at_edge, rng)
        ids = original.flat.copy()
        is_masked = within(original, starts, stops)
        ids[is_masked] = Masking().corrupt(ids[is_masked].astype(np.int64), vocab, rng)
        labels = fragments(original, starts, stops, vocab)
        decoder = decoder_layout(labels, vocab.target(language), vocab, first=starts)
        read = replace(examples, ids=Ragged.from_lengths(ids, examples.lengths))
        layout = sentence_layout(read, vocab, self.max_length)
        return self.seq2seq_batch(layout, language, decoder, language, prepared)


def draw_spans(
    lengths: AnyArray, share: float, at_edge: float, rng: Generator
) -> tuple[IntArray, IntArray]:
    """Draw the start and the stop of a fragment of each row: `share` of its length, at least a token if it has any.

    at_edge: share of rows whose fragment begins or ends the row, half each; the others start anywhere.
    """
    sizes = np.rint(share * lengths).clip(min=1).clip(max=lengths).astype(np.int64)
    latest = lengths - sizes
    edge = rng.random(len(lengths))
    anywhere = rng.random(len(lengths))
    starts = np.floor(anywhere * (latest + 1)).astype(np.int64)
    is_at_end = edge < at_edge
    starts[is_at_end] = latest[is_at_end]
    starts[edge < at_edge / 2] = 0
    return starts, starts + sizes


def within(rows: Ragged, starts: IntArray, stops: IntArray) -> BoolArray:
    """Return (total,) whether each value is between the start and the stop of its row."""
    columns = rows.columns()
    is_after = columns >= np.repeat(starts, rows.lengths)
    return is_after & (columns < np.repeat(stops, rows.lengths))


def fragments(ids: Ragged, starts: IntArray, stops: IntArray, vocab: Vocab) -> Ragged:
    """Return the fragment of each row; one that ends its sentence is followed by the end."""
    reaches_end = (stops == ids.lengths) & (starts < stops)
    stops = stops + reaches_end
    ended = with_end(ids, vocab)
    return Ragged.from_lengths(ended.flat[within(ended, starts, stops)], stops - starts)
