"""Denoising auto-encoding: a sentence is written again after its noised self was read (Lample et al. 2018).

    before  the old doctor reads three letters
    reads   <s> old the doctor [M] letters </s>
    writes  <2en>  the   old     doctor  reads  three    letters
    next    the    old   doctor  reads   three  letters  </s>

It teaches the decoder each language without a single translation, and the encoder to bear mistakes, of which
back-translation is full (Conneau & Lample 2019, section 5.2).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from interlace.core.schedules import value_at, values_of
from interlace.data import Sentences
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.objectives._lexicons import Dictionary
from interlace.objectives._masking import Rate
from interlace.objectives._noise import Noise
from interlace.objectives._seq2seq import PreparedSeq2Seq, Seq2SeqObjective, written_rows
from interlace.objectives._word_by_word import WordTable, tables, word_by_word

if TYPE_CHECKING:
    from interlace.core.randomness import Generator
    from interlace.objectives import Batch, Resources


@dataclass(frozen=True)
class PreparedDenoise(PreparedSeq2Seq):
    """Adds the translations of each language's words; none where no dictionary is asked for."""

    translations: dict[str, WordTable]


class Denoise(Seq2SeqObjective):
    """Write a sentence after reading it with words moved, missing and hidden.

    Reads: single sentences of one language a batch; with `translated` a dictionary.
    Relations: `mass` hides one span and writes it alone; `back_translation` reads the model's own translation.
    Terms: `denoise`. XLM lets its weight fall: `weight = "0:1,100000:0.1,300000:0"`, by iterations of four updates.
    """

    reads = Sentences
    term: ClassVar[str] = "denoise"

    noise: Noise = Field(default_factory=Noise, description="What is done to the sentence that is read.")
    translated: Rate = Field(
        "0",
        description="Share of words that are read as a translation, where the dictionary has one, before the noise; a "
        "number or a schedule over steps. Translation word by word is what back-translation can begin with (Lample et "
        "al. 2018).",
    )
    dictionary: Dictionary = Field(default_factory=Dictionary, description="Which words translate which.")

    def model_post_init(self, _context: Any) -> None:
        """A dictionary is of use where words are translated."""
        if not self.needs and self.dictionary != Dictionary():
            message = "dictionary says which words translate which, and none are translated; set translated too"
            raise ValueError(message)

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """A dictionary, where words are to be translated."""
        return frozenset({"lexicon"} if any(values_of(self.translated)) else ())

    def prepare(self, resources: Resources) -> PreparedDenoise:
        """Look dictionaries up, where words are to be translated.

        Raises:
            DataError: words are to be translated, and there is no dictionary, or none of its entries can be used.
        """
        prepared = super().prepare(resources)
        shared = {field.name: getattr(prepared, field.name) for field in fields(PreparedSeq2Seq)}
        if not self.needs:
            return PreparedDenoise(**shared, translations={})
        dictionaries = self.dictionary.prepare(resources, self.term, most=sys.maxsize)
        return PreparedDenoise(**{**shared, "dictionaries": dictionaries}, translations=tables(dictionaries))

    def for_evaluation(self) -> Self:
        """The same with no word translated."""
        return super().for_evaluation().model_copy(update={"translated": "0"})

    def batch(self, examples: Sentences, prepared: PreparedDenoise, step: int, rng: Generator) -> Batch:
        """Read it noised, write it whole."""
        vocab, language = prepared.vocab, examples.language
        writing = written_rows(examples.ids, vocab.target(language), vocab, self.max_length)
        if (table := prepared.translations.get(language)) and (share := value_at(self.translated, step)):
            examples = word_by_word(examples, table, share, rng, self.max_length - SPECIALS)
        noised = self.noise.apply(examples, vocab, step, rng)
        return self.laid_out(
            sentence_layout(noised, vocab, self.max_length), (language,), writing, (language,), prepared
        )
