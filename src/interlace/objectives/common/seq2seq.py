"""Objectives that write a sentence after reading one: the decoder's input, the batch and its loss.

    reads   <s> today the old doctor </s>
    writes  <2de>  heute  der   alte  Arzt
    next    heute  der    alte  Arzt  </s>

The decoder's first token names the target language. Decoder sequences are padded on the right and read left to right,
so they need no mask.

Legend: B sequences, L tokens of the longest encoder input, T of the longest decoder input, N predictions, H width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.core.ragged import AnyArray, IntArray, Ragged
from interlace.objectives import (
    Batch,
    Objective,
    Prepared,
    Preview,
    Term,
    place_texts,
    token_texts,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

DECODER_IDS = "decoder_ids"
DECODER_LANGUAGES = "decoder_languages"
DECODER_FIRST = "decoder_first"
NLL = "nll"


@dataclass(frozen=True)
class DecoderLayout:
    """What the decoder reads and predicts.

    ids: (B, T) what names the target language, usually one token, and the previous tokens, padded.
    lengths: (B,) tokens of each sequence.
    at: (N,) sequence and (N,) column of each prediction. labels: (N,) correct tokens.
    first: (B,) position of each sequence's first token; None: 0.
    """

    ids: IntArray
    lengths: IntArray
    at: tuple[IntArray, IntArray]
    labels: IntArray
    first: IntArray | None = None


class Seq2SeqObjective(Objective):
    """Base of objectives that write a sentence. Subclasses lay out sequences and call `seq2seq_batch`."""

    architecture = "seq2seq"
    drops_long = True

    max_length: int = Field(
        256,
        ge=8,
        description="Maximum sequence length in tokens on either side, special tokens included; longer examples are "
        "dropped.",
    )
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Label smoothing over the whole vocabulary, as in torch; fairseq excludes the label itself "
        "(XLM: none).",
    )

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens of both sequences, each as long as the longer side."""
        return self.sentence_costs(np.maximum(source, target))

    def sentence_costs(self, lengths: AnyArray) -> AnyArray:
        """Return (n,) tokens that are read and written."""
        read = super().sentence_costs(lengths)
        return read + self.decoder_lengths(read)

    def decoder_lengths(self, read: AnyArray) -> AnyArray:
        """Return (n,) the maximum decoder length for encoder inputs of these lengths, special tokens included."""
        return read

    def for_evaluation(self) -> Self:
        """Return the objective without label smoothing."""
        return super().for_evaluation().model_copy(update={"label_smoothing": 0.0})

    def seq2seq_batch(
        self,
        read: Layout,
        language: str,
        decoder: DecoderLayout,
        target: str,
        prepared: Prepared,
    ) -> Batch:
        """Return a batch that reads sequences of a language and writes those of `target`."""
        extra = {DECODER_IDS: decoder.ids}
        if decoder.first is not None:
            extra[DECODER_FIRST] = decoder.first
        if prepared.language_ids:
            extra[DECODER_LANGUAGES] = np.full_like(
                decoder.ids, prepared.traits.language_id(target)
            )
        counts = {self.term: len(decoder.labels)}
        if self.label_smoothing:
            counts[NLL] = len(decoder.labels)
        batch = Batch.of(
            read,
            (language,),
            prepared,
            at=decoder.at,
            labels=decoder.labels,
            counts=counts,
            extra=extra,
        )
        written = int(decoder.lengths.sum())
        batch.languages[target] = batch.languages.get(target, 0) + written
        # the same order in both directions
        batch.languages = dict(sorted(batch.languages.items()))
        batch.tokens += written
        return batch

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Return the (smoothed) cross-entropy of the decoder's predictions."""
        from interlace.objectives.common.losses import vocabulary_loss

        states = self.decoder_states(backbone, batch)
        total, nll = vocabulary_loss(backbone, states, batch.labels, self.label_smoothing)
        terms = {self.term: Term(total)}
        if self.label_smoothing:
            return terms | {NLL: Term(nll.sum(), weight=0.0)}
        return terms

    def decoder_states(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (N, H) decoder states of the predictions; raise a SettingsError without a decoder."""
        model = require_decoder(backbone, self.term)
        states = model.encode(batch.inputs)  # (B, L, H)
        decoder_inputs = {"input_ids": batch.extra[DECODER_IDS]}
        if DECODER_LANGUAGES in batch.extra and model.decoder_language_input is not None:
            decoder_inputs[model.decoder_language_input] = batch.extra[DECODER_LANGUAGES]
        first = batch.extra.get(DECODER_FIRST)
        # of shape (B, T, H)
        hidden: Tensor = model.decode(
            states, batch.inputs.get("attention_mask"), decoder_inputs, first
        )
        return hidden[batch.at]

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Return what the decoder reads and predicts, by position."""
        ids = batch.extra[DECODER_IDS]
        first = batch.extra.get(DECODER_FIRST, np.zeros(len(ids), np.int64))
        rows, columns = np.nonzero(ids != vocab.pad)
        texts = token_texts(vocab, ids[rows, columns])
        writes = place_texts(rows, columns + first[rows], texts)
        rows, columns = batch.at
        next_texts = token_texts(vocab, batch.labels)
        following = place_texts(rows, columns + first[rows], next_texts)
        return Preview({"writes": writes, "next": following})


def sentence_decoder(
    ids: Ragged, target: tuple[int, ...], vocab: Vocab, max_length: int
) -> DecoderLayout:
    """Return the layout that writes sentences and their ends, cut so that it reads at most `max_length` tokens.

    target: as in `decoder_layout`.
    """
    max_length -= len(target) - 1
    ended = with_end(ids, vocab)
    is_kept = ended.columns() < max_length
    lengths = np.minimum(ended.lengths, max_length)
    return decoder_layout(Ragged.from_lengths(ended.flat[is_kept], lengths), target, vocab)


def with_end(ids: Ragged, vocab: Vocab) -> Ragged:
    """Return each row with the token that ends a sentence."""
    ends = ids.offsets[1:] - ids.offsets[0]
    return Ragged.from_lengths(np.insert(ids.flat, ends, vocab.end), ids.lengths + 1)


def decoder_layout(
    labels: Ragged, target: tuple[int, ...], vocab: Vocab, first: IntArray | None = None
) -> DecoderLayout:
    """Return `[target] y1 .. y(n-1)` for each row of labels y1 .. yn, which it predicts.

    target: ids that the decoder reads first, as `Vocab.target` returns them; what follows the last one is predicted.
    """
    before = len(target) - 1
    lengths = np.maximum(labels.lengths, 1) + before
    read = np.full((len(labels), int(lengths.max(initial=before + 1))), vocab.pad, np.int64)
    read[:, : before + 1] = target
    rows = labels.rows()
    columns = labels.columns() + before
    is_read = columns + 1 < lengths[rows]  # the last label is predicted, not read
    read[rows[is_read], columns[is_read] + 1] = labels.flat[is_read]
    return DecoderLayout(read, lengths, (rows, columns), labels.flat.astype(np.int64), first)


def require_decoder(backbone: Any, name: str) -> Any:
    """Return the model if it has a decoder; raise a SettingsError if it is an encoder."""
    if not hasattr(backbone, "decode"):
        raise SettingsError(
            f"{name} needs a decoder, and this {backbone.traits.family} model has none"
        )
    return backbone
