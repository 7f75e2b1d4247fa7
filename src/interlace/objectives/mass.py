"""Masked sequence-to-sequence pre-training (MASS, Song et al. 2019): write a masked fragment of a sentence.

    before  the old doctor reads three letters
    reads   <s> the [M] [M] [M] three letters </s>
    writes  <2en>  old     doctor
    next    old    doctor  reads

Legend: B sequences; T tokens of the longest decoder input.
"""

from dataclasses import replace

import numpy as np
from pydantic import Field

from interlace.core.ragged import AnyArray, BoolArray, IntArray, Ragged
from interlace.core.randomness import Generator
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.data.vocab import Vocab
from interlace.objectives import Batch, Prepared
from interlace.objectives.common.masking import Masking
from interlace.objectives.common.seq2seq import DecoderLayout, Seq2SeqObjective

Span = tuple[IntArray, IntArray]  # (B,) start, (B,) stop


class Mass(Seq2SeqObjective):
    """Write the masked fragment of a sentence; 80 % of it are masks and 10 % random tokens (section 4.1).

    Reads: single sentences.
    Relations: `mlm` predicts masked tokens in the encoder; `denoise` writes the whole sentence.
    Terms: `mass`.
    """

    term = "mass"

    share: float = Field(
        0.5, gt=0, le=1, description="Length of the fragment (Song et al. 2019, section 4.1: 50 %)."
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

    def batch(self, examples: Sentences, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Mask a fragment of every sentence."""
        vocab = prepared.vocab
        original = examples.ids
        language = examples.language
        span = draw_spans(examples.lengths, self.share, self.at_edge, rng)
        ids = original.flat.copy()
        masked = within(original, *span)
        ids[masked] = Masking().corrupt(ids[masked].astype(np.int64), vocab, rng)
        decoder = fragment_layout(original, span, vocab.target(language), vocab)
        read = replace(examples, ids=Ragged.from_lengths(ids, examples.lengths))
        layout = sentence_layout(read, vocab, self.max_length)
        return self.seq2seq_batch(layout, language, decoder, language, prepared)


def draw_spans(lengths: AnyArray, share: float, at_edge: float, rng: Generator) -> Span:
    """Draw a fragment of each row: `share` of its length, at least one token of a row that has any.

    at_edge: share of rows whose fragment begins or ends the row, half each; the others start anywhere.
    """
    sizes = np.minimum(np.maximum(np.rint(share * lengths), 1), lengths).astype(np.int64)
    edge = rng.random(len(lengths))
    anywhere = rng.random(len(lengths))
    latest = lengths - sizes
    starts = np.floor(anywhere * (latest + 1)).astype(np.int64)
    starts = np.where(edge < at_edge, np.where(edge < at_edge / 2, 0, latest), starts).astype(
        np.int64
    )
    return starts, starts + sizes


def within(rows: Ragged, starts: IntArray, stops: IntArray) -> BoolArray:
    """Return (total,) whether each value is between the start and the stop of its row."""
    columns = rows.columns()
    return (columns >= np.repeat(starts, rows.lengths)) & (columns < np.repeat(stops, rows.lengths))


def fragment_layout(ids: Ragged, span: Span, target: int, vocab: Vocab) -> DecoderLayout:
    """Return the decoder input `[target] x_u .. x_(v-1)` at the positions of the fragment (section 4.1).

    If the fragment ends its sentence, the end is predicted too.

    span: (B,) start and (B,) stop of each fragment. target: token of the target language.
    """
    starts, stops = span
    reaches_end = (stops == ids.lengths) & (starts < stops)
    stops = stops + reaches_end  # include the end
    sizes = stops - starts
    lengths = np.maximum(sizes, 1)
    read = np.full((len(ids), int(lengths.max(initial=1))), vocab.pad, np.int64)
    read[:, 0] = target
    ends = ids.offsets[1:] - ids.offsets[0]
    ended = Ragged.from_lengths(np.insert(ids.flat, ends, vocab.end), ids.lengths + 1)
    labels = ended.flat[within(ended, starts, stops)].astype(np.int64)
    rows, columns = np.nonzero(np.arange(read.shape[1]) < sizes[:, None])
    is_read = columns + 1 < sizes[rows]  # the last token is predicted, not read
    read[rows[is_read], columns[is_read] + 1] = labels[is_read]
    return DecoderLayout(read, lengths, (rows, columns), labels, starts.astype(np.int64))
