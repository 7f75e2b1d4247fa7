"""Masked sequence to sequence pre-training (MASS, Song et al. 2019): a hidden fragment is written from the rest.

    before  the old doctor reads three letters
    reads   <s> the [M] [M] [M] three letters </s>
    writes  <2en>  old     doctor
    next    old    doctor  reads

With `switched = true` the rest is code-switched, which ALM's authors name as future work (Yang et al. 2020): some of
its phrases stand in the other language, and the fragment is the original sentence's.

    before  the old doctor reads three letters    der alte Arzt liest drei Briefe
    reads   <s> the [M] [M] [M] drei Briefe </s>
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.objectives import Masking
from interlace.objectives._fragments import spans, within, written_fragments
from interlace.objectives._mass_switched import switched_fragments
from interlace.objectives._seq2seq import PreparedSeq2Seq, Seq2SeqObjective
from interlace.objectives._switching import Switching
from interlace.objectives._switching_forms import Forms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.randomness import Generator
    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch, Resources
    from interlace.objectives._fragments import Span
    from interlace.objectives._seq2seq import Writing


@dataclass(frozen=True)
class PreparedMass(PreparedSeq2Seq):
    """Adds the forms of words that are moved; None where nothing is switched."""

    forms: Forms | None


class Mass(Seq2SeqObjective):
    """Write the fragment of a sentence that was hidden.

    Reads: single sentences; switched, pairs with phrases.
    Relations: `mlm` guesses what is hidden from its place alone; `denoise` writes the whole sentence.
    Terms: `mass`.
    """

    term: ClassVar[str] = "mass"

    share: float = Field(0.5, gt=0, le=1, description="Length of the fragment (Song et al. 2019, section 4.1: 50 %).")
    at_edge: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Share of fragments that begin or end their sentence, evenly; the others start anywhere (MASS's "
        "code: 0.4; its paper, section 3.1, says random).",
    )
    mask_share: float = Field(
        0.8, ge=0, le=1, description="Share of the fragment that the encoder sees as the mask (MASS, section 4.1: 0.8)."
    )
    random_share: float = Field(0.1, ge=0, le=1, description="Share seen as a random subword (MASS, section 4.1: 0.1).")
    decoder: Literal["placed", "fragment", "masked"] = Field(
        "placed",
        description="What the decoder reads: the fragment at its own places (MASS, section 4.1), the same as if its "
        "sentence began there, or masks before it too (figure 1). modernbert knows distances alone, to which the first "
        "two are one.",
    )
    switched: bool = Field(False, description="Exchange phrases of what is read for their translations (as `alm`).")
    switching: Switching = Field(default_factory=Switching, description="Which ones and how many, where switched.")

    @property
    def reads(self) -> type:  # type: ignore[override]
        """Single sentences, or pairs."""
        return Pairs if self.switched else Sentences

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """Phrases, where switched; the whole table only where its translations are chosen."""
        if not self.switched:
            return frozenset()
        return frozenset({"phrases", "known"} if self.switching.target_choice == "table_argmax" else {"phrases"})

    def model_post_init(self, _context: Any) -> None:
        """The two shares must leave a share that stays as it is; nothing is said of phrases where none are moved."""
        self._masking()
        if not self.switched and self.switching != Switching():
            message = "switching says which phrases are exchanged, and none are; set switched = true too"
            raise ValueError(message)

    def written(self, read: NDArray[Any]) -> NDArray[Any]:
        """The fragment, and what may stand before it."""
        return read if self.decoder == "masked" else np.minimum(read, np.ceil(self.share * read).astype(np.int64) + 1)

    def prepare(self, resources: Resources) -> PreparedMass:
        """The forms of words, where some are moved."""
        prepared = super().prepare(resources)
        forms = Forms(resources.vocab) if self.switched else None
        return PreparedMass(prepared.vocab, prepared.traits, prepared.language_ids, forms)

    def batch(self, examples: Sentences | Pairs, prepared: PreparedMass, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Hide a fragment of every row.

        Raises:
            DataError: phrases are to be exchanged, and the pairs have none.
        """
        if isinstance(examples, Pairs):
            return self._switched(examples, prepared, prepared.forms or Forms(prepared.vocab), rng)
        vocab, language = prepared.vocab, examples.language
        span = spans(examples.lengths, self.share, self.at_edge, rng)
        read = self._hidden(examples, within(examples.ids, *span), prepared, rng)
        targets = np.full(len(examples), vocab.target(language))
        writing = self._writing(examples.ids, span, targets, vocab)
        return self.laid_out(sentence_layout(read, vocab, self.max_length), (language,), writing, (language,), prepared)

    def _switched(self, pairs: Pairs, prepared: PreparedMass, forms: Forms, rng: Generator) -> Batch:
        """The same, of switched rows whose fragment is that of the sentence they were made from."""
        room = self.max_length - SPECIALS
        found = switched_fragments(pairs, self.switching, self.share, self.at_edge, forms, rng, room)
        rows = replace(found.rows, sentences=self._hidden(found.rows.sentences, found.hidden, prepared, rng))
        languages = (pairs.source.language, pairs.target.language)
        vocab = prepared.vocab
        targets = np.array([vocab.target(language) for language in languages])[found.matrix]
        writing = replace(self._writing(found.original, found.span, targets, vocab), sides=found.matrix)
        return self.laid_out(rows.laid_out(vocab, self.max_length), languages, writing, languages, prepared)

    def _writing(self, ids: Ragged, span: Span, targets: NDArray[np.int64], vocab: Vocab) -> Writing:
        return written_fragments(
            ids, span, targets, vocab, masked=self.decoder == "masked", placed=self.decoder == "placed"
        )

    def _hidden(
        self, sentences: Sentences, hidden: NDArray[np.bool_], prepared: PreparedMass, rng: Generator
    ) -> Sentences:
        """The sentences as the encoder sees them."""
        ids = sentences.ids.flat.copy()
        ids[hidden] = self._masking().shown(ids[hidden].astype(np.int64), prepared.vocab, rng)
        return replace(sentences, ids=Ragged(ids, sentences.ids.offsets - sentences.ids.offsets[0]))

    def _masking(self) -> Masking:
        return Masking(mask_share=self.mask_share, random_share=self.random_share)
