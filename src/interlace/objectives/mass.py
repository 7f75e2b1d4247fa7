"""Masked sequence-to-sequence pre-training (MASS, Song et al. 2019): write a masked fragment of a sentence.

    before  the old doctor reads three letters
    reads   <s> the [M] [M] [M] three letters </s>
    writes  <2en>  old     doctor
    next    old    doctor  reads

With `code_switched = true` the rest of the sentence is code-switched, which ALM's authors name as future work (Yang et
al. 2020): some of its phrases are in the other language, and the fragment is the original sentence's.

    before  the old doctor reads three letters    der alte Arzt liest drei Briefe
    reads   <s> the [M] [M] [M] drei Briefe </s>

Legend: B sequences; T tokens of the longest decoder input (of all sequences, for code-switched ones).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator
from interlace.data import Pairs, Sentences
from interlace.data.layout import SPECIALS
from interlace.objectives import Batch, Prepared, Resources
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    SwitchedSentences,
    SwitchedTokens,
    WordForms,
    switch_phrases,
    switched_tokens,
)
from interlace.objectives.common.masking import Masking
from interlace.objectives.common.seq2seq import DecoderLayout, Seq2SeqObjective

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

    Span = tuple[NDArray[np.int64], NDArray[np.int64]]  # (B,) start, (B,) stop


@dataclass(frozen=True, kw_only=True)
class PreparedMass(Prepared):
    """Adds the forms of moved words; None without code-switching."""

    forms: WordForms | None


class Mass(Seq2SeqObjective):
    """Write the masked fragment of a sentence.

    Reads: single sentences; with `code_switched` pairs with phrases.
    Relations: `mlm` predicts masked tokens in the encoder; `denoise` writes the whole sentence.
    Terms: `mass`.
    """

    term: ClassVar[str] = "mass"

    share: float = Field(0.5, gt=0, le=1, description="Length of the fragment (Song et al. 2019, section 4.1: 50 %).")
    at_edge: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Share of fragments at the beginning or end of their sentence, half each; others start anywhere "
        "(MASS's code: 0.4; its paper, section 3.1, says random).",
    )
    mask_share: float = Field(
        0.8, ge=0, le=1, description="Share of the fragment that the encoder sees as the mask (MASS, section 4.1: 0.8)."
    )
    random_share: float = Field(0.1, ge=0, le=1, description="Share seen as a random token (MASS, section 4.1: 0.1).")
    decoder: Literal["placed", "fragment", "masked"] = Field(
        "placed",
        description="Decoder input: the fragment at its positions in the sentence (MASS, section 4.1), the fragment at "
        "positions from 0, or masks before the fragment (figure 1). The first two are the same for modernbert, which "
        "has only relative positions.",
    )
    code_switched: bool = Field(False, description="Exchange phrases of what is read for their translations, as `alm`.")
    code_switching: CodeSwitching = Field(
        default_factory=CodeSwitching, description="Which phrases are exchanged, and how many."
    )

    @property
    def reads(self) -> type:  # type: ignore[override]
        """Single sentences, or pairs."""
        return Pairs if self.code_switched else Sentences

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Phrases for code-switching; the phrase table's translations only if they are used."""
        if not self.code_switched:
            return frozenset()
        table = self.code_switching.target_choice == "table_argmax"
        return frozenset({"phrases", "known"} if table else {"phrases"})

    def model_post_init(self, _context: Any) -> None:
        """Check the two shares; reject code-switching settings that are not used."""
        self._masking()
        if not self.code_switched and self.code_switching != CodeSwitching():
            raise ValueError("code_switching is set, but code_switched is false; set code_switched = true too")

    def decoder_lengths(self, read: NDArray[Any]) -> NDArray[Any]:
        """Return (n,) the length of the fragment, and of masks before it."""
        return read if self.decoder == "masked" else np.minimum(read, np.ceil(self.share * read).astype(np.int64) + 1)

    def prepare(self, resources: Resources) -> PreparedMass:
        """Add the word forms for code-switching."""
        forms = WordForms(resources.vocab) if self.code_switched else None
        return PreparedMass(**vars(super().prepare(resources)), forms=forms)

    def batch(self, examples: Sentences | Pairs, prepared: PreparedMass, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Mask a fragment of every sentence; of code-switched ones it is the matrix sentence's.

        Raises:
            DataError: phrases are exchanged, and the pairs have none.
        """
        vocab = prepared.vocab
        if isinstance(examples, Pairs):
            languages: tuple[str, ...] = examples.languages
            tokens, masked, matrix, original, span = self._switched_fragments(examples, prepared, rng)
        else:
            languages, original = (examples.language,), examples.ids
            matrix = np.zeros(len(examples), np.int8)
            span = draw_spans(examples.lengths, self.share, self.at_edge, rng)
            tokens, masked = SwitchedTokens(examples, matrix[original.rows()]), within(original, *span)
        ids = tokens.sentences.ids.flat.copy()
        ids[masked] = self._masking().corrupt(ids[masked].astype(np.int64), vocab, rng)
        targets = np.array([vocab.target(language) for language in languages])[matrix]
        masks, placed = self.decoder == "masked", self.decoder == "placed"
        decoder = replace(fragment_layout(original, span, targets, vocab, masked=masks, placed=placed), sides=matrix)
        read = replace(tokens.sentences, ids=Ragged.from_lengths(ids, tokens.sentences.lengths))
        layout = replace(tokens, sentences=read).layout(vocab, self.max_length)
        return self.seq2seq_batch(layout, languages, decoder, languages, prepared)

    def _masking(self) -> Masking:
        return Masking(mask_share=self.mask_share, random_share=self.random_share)

    def _switched_fragments(
        self, pairs: Pairs, prepared: PreparedMass, rng: Generator
    ) -> tuple[SwitchedTokens, NDArray[np.bool_], NDArray[np.int8], Ragged, Span]:
        """Switch every pair, and draw a fragment of whole words of each matrix sentence.

        A fragment that would split a replaced phrase includes all of it, because its words have no positions of their
        own in the switched sentence. A sentence that would exceed the maximum length is not switched: truncation could
        remove its fragment.

        Returns:
            n switched rows, (T,) which of their tokens belong to the fragment, (n,) the side of each matrix sentence,
            n rows of its tokens, and the span of the fragment in them.
        """
        settings, forms = self.code_switching, prepared.forms or WordForms(prepared.vocab)
        if pairs.phrases is None or (settings.target_choice == "table_argmax" and pairs.known is None):
            raise DataError("mass: code_switched = true, but the pairs have no phrases; train from a recipe")
        switched = switch_phrases(SwitchCandidates.of(pairs, forms.inside, forms.texts), settings, rng)
        span = _whole_phrases(draw_spans(switched.words, self.share, self.at_edge, rng), switched)
        tokens = switched_tokens(pairs, switched, forms)
        masked = _in_fragment(tokens.sentences.words, switched, span)
        places = np.where(switched.matrix == 1, len(pairs), 0) + np.arange(len(pairs))
        plain = Sentences.concatenate([pairs.source, pairs.target]).take(places)
        owner, words = plain.words.rows(), plain.words.flat
        starts, stops = (np.bincount(owner[words < end[owner]], minlength=len(plain)) for end in span)
        fits = tokens.sentences.lengths <= self.max_length - SPECIALS
        if not fits.all():
            which = np.arange(len(fits)) + np.where(fits, 0, len(fits))
            both = Sentences.concatenate([tokens.sentences, plain])
            sides = np.concatenate([tokens.sides, switched.matrix[owner]])
            marks = np.concatenate([masked, within(plain.ids, starts, stops)])
            sides, masked = (Ragged(column, both.ids.offsets).take(which).values for column in (sides, marks))
            tokens = SwitchedTokens(both.take(which), sides)
        return tokens, masked, switched.matrix, plain.ids, (starts, stops)


def draw_spans(lengths: NDArray[Any], share: float, at_edge: float, rng: Generator) -> Span:
    """Draw a fragment of each row: `share` of its length, at least one token of a row that has any.

    at_edge: share of rows whose fragment begins or ends the row, half each; the others start anywhere.
    """
    sizes = np.minimum(np.maximum(np.rint(share * lengths), 1), lengths).astype(np.int64)
    edge, anywhere = rng.random(len(lengths)), rng.random(len(lengths))
    latest = lengths - sizes
    starts = np.floor(anywhere * (latest + 1)).astype(np.int64)
    starts = np.where(edge < at_edge, np.where(edge < at_edge / 2, 0, latest), starts).astype(np.int64)
    return starts, starts + sizes


def within(rows: Ragged, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (total,) whether each value is between the start and the stop of its row."""
    columns = rows.columns()
    return np.asarray((columns >= np.repeat(starts, rows.lengths)) & (columns < np.repeat(stops, rows.lengths)))


def fragment_layout(
    ids: Ragged, span: Span, targets: NDArray[np.int64], vocab: Vocab, *, masked: bool, placed: bool
) -> DecoderLayout:
    """Return the decoder input that predicts the fragment: `[target] x_u .. x_(v-1)`.

    If the fragment ends its sentence, the end is predicted too.

    Args:
        ids: whole rows.
        span: (B,) start and (B,) stop of each fragment.
        targets: (B,) target language token of each row.
        vocab: its mask and padding are used.
        masked: put a mask for every token before the fragment, so that tokens have their own positions (Song et al.
            2019, figure 1); tokens after the fragment affect no prediction and are omitted.
        placed: set the position of the fragment instead of masks (section 4.1).
    """
    starts, stops = span
    stops = stops + ((stops == ids.lengths) & (starts < stops))  # include the end
    before = starts if masked else np.zeros_like(starts)
    ends = before + stops - starts
    lengths = np.maximum(ends, 1)
    read = np.full((len(ids), int(lengths.max(initial=1))), vocab.pad, np.int64)
    columns = np.arange(read.shape[1])
    if masked:
        read[columns < lengths[:, None]] = vocab.mask
    read[:, 0] = targets
    ended = Ragged.from_lengths(np.insert(ids.flat, ids.offsets[1:] - ids.offsets[0], vocab.end), ids.lengths + 1)
    labels = ended.flat[within(ended, starts, stops)].astype(np.int64)
    rows, places = np.nonzero((columns >= before[:, None]) & (columns < ends[:, None]))
    inner = places + 1 < ends[rows]  # the last token is predicted, not read
    read[rows[inner], places[inner] + 1] = labels[inner]
    first = starts.astype(np.int64) if placed else None
    return DecoderLayout(read, lengths, (rows, places), labels, np.zeros(len(ids), np.int8), first)


def _whole_phrases(span: Span, switched: SwitchedSentences) -> Span:
    """Extend spans of words to the replaced phrases that they would split."""
    inserted = switched.inserted
    owner, (start, stop) = switched.places.rows()[inserted], switched.places.flat[inserted].T
    starts, stops = (end.copy() for end in span)
    split = (start < starts[owner]) & (starts[owner] < stop)  # at most one per row: phrases do not overlap
    starts[owner[split]] = start[split]
    split = (start < stops[owner]) & (stops[owner] < stop)
    stops[owner[split]] = stop[split]
    return starts, stops


def _in_fragment(words: Ragged, switched: SwitchedSentences, span: Span) -> NDArray[np.bool_]:
    """Return (T,) whether each token replaces or is a word of the span. words: of the tokens of switched rows."""
    owner = switched.pieces.rows()
    sizes = (switched.pieces.flat[:, 3] - switched.pieces.flat[:, 2]).astype(np.int64)
    before = np.cumsum(sizes) - sizes
    first = before - np.append(before, 0)[switched.pieces.offsets[:-1] - switched.pieces.offsets[0]][owner]
    width = int(max(words.flat.max(initial=0), first.max(initial=0))) + 1
    piece = np.searchsorted(owner * width + first, words.rows() * width + words.flat, side="right") - 1
    moved = np.where(switched.inserted[piece], 0, words.flat - first[piece])
    place = switched.places.flat[piece, 0] + moved
    starts, stops = span
    return np.asarray((place >= starts[words.rows()]) & (place < stops[words.rows()]), np.bool_)
